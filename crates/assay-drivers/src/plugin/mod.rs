//! Engines outside of this program: shared libraries that fill the table in
//! `include/assay_driver.h`.
//!
//! A library is loaded by workers only: [`describe`] is called in one, and what it returns is
//! enough for the parent to plan with ([`register`]). So a plugin that crashes, crashes a worker.

#![allow(unsafe_code)]

mod abi;
mod connection;
mod library;
mod volume;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{
    Cache, Change, Driver, Durability, KeyKind, OpenSpec, Parameter, Profile, Storage, Store, Work,
};

use abi::{
    CColumn, CError, COpenOptions, CParameter, CSchema, CStore, DONE, ERROR_BYTES, FAILED,
    UNSUPPORTED,
};
use connection::PluginConnection;
pub use library::Description;
use library::Plugin;

/// The interface in C, with which plugins are built.
pub const HEADER: &str = include_str!("../../include/assay_driver.h");

/// The C++ header that plugins in C++ use with it.
pub const CPP_HEADER: &str = include_str!("../../include/assay_driver.hpp");

/// The plugins of this process, by the ids of their engines.
static PLUGINS: Mutex<BTreeMap<String, &'static Registered>> = Mutex::new(BTreeMap::new());

/// A plugin that can be asked for.
struct Registered {
    profile: Profile,
    version: String,
    description: Description,
    path: PathBuf,
}

/// Loads a plugin, and returns its engine's declaration about itself.
pub fn describe(path: &Path) -> std::result::Result<Description, String> {
    Plugin::load(path).map(|plugin| plugin.description)
}

/// Makes a plugin's engine one of those that can be found.
pub fn register(path: &Path, description: Description) -> std::result::Result<(), String> {
    if crate::find(&description.id).is_some() {
        return Err(format!("there is an engine {} already", description.id));
    }
    let id = description.id.clone();
    // They are few, and live as long as the process.
    let registered: &'static Registered = Box::leak(Box::new(Registered {
        profile: profile(&description),
        version: description.version.clone(),
        description,
        path: path.into(),
    }));
    PLUGINS.lock().unwrap_or_else(PoisonError::into_inner).insert(id, registered);
    Ok(())
}

/// Returns the path of an engine's plugin, for its workers.
pub fn path_of(id: &str) -> Option<PathBuf> {
    let plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    plugins.get(id).map(|registered| registered.path.clone())
}

/// Returns the drivers of all plugins.
pub(crate) fn drivers() -> Vec<Box<dyn Driver>> {
    let plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    let driver = |registered: &&'static Registered| -> Box<dyn Driver> {
        Box::new(PluginDriver(registered))
    };
    plugins.values().map(driver).collect()
}

fn profile(description: &Description) -> Profile {
    let text = |text: &str| -> &'static str { Box::leak(text.to_string().into_boxed_str()) };
    let parameters = description.parameters.iter().map(|name| match name.as_str() {
        CACHE_BYTES => Parameter::CACHE_BYTES,
        name => Parameter::text(text(name), "a parameter of the plugin"),
    });
    let parameters: Vec<_> = parameters.collect();
    let levels: Vec<(Storage, &'static [Durability])> = description
        .levels
        .iter()
        .map(|(storage, levels)| (*storage, &*Box::leak(levels.clone().into_boxed_slice())))
        .collect();
    Profile {
        id: text(&description.id),
        name: text(&description.name),
        about: text(&description.about),
        key_kinds: Box::leak(description.key_kinds.clone().into_boxed_slice()),
        levels: Box::leak(levels.into_boxed_slice()),
        periodic_survives_kill: description.periodic_survives_kill,
        transactions: description.transactions,
        insert_rule: description.insert_rule,
        delete_rule: description.delete_rule,
        concurrency: description.concurrency,
        parameters: Box::leak(parameters.into_boxed_slice()),
        keeps_data: true,
    }
}

struct PluginDriver(&'static Registered);

impl Driver for PluginDriver {
    fn profile(&self) -> &Profile {
        &self.0.profile
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(self.0.version.clone())
    }

    fn periodic_interval(&self) -> Option<Duration> {
        let interval_ms = self.0.description.periodic_interval_ms;
        (interval_ms > 0).then(|| Duration::from_millis(interval_ms.into()))
    }

    fn lacks(&self) -> &[Change] {
        &self.0.description.lacks
    }

    fn volume_keys(&self) -> Option<KeyKind> {
        self.0.description.mounts_volumes.then(|| self.0.profile.key_kinds[0])
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let said = |why: String| {
            Error::engine("load the plugin", format!("{}: {why}", self.0.path.display()))
        };
        let plugin = Plugin::load(&self.0.path).map_err(said)?;
        if plugin.description != self.0.description {
            return Err(said("it declares something else than before".into()));
        }
        let schema = SharedSchema::new(&spec.schema)?;
        let dir = CString::new(spec.dir().as_os_str().as_encoded_bytes())
            .map_err(|e| Error::engine("open", e))?;
        let parameters = SharedParameters::new(spec, &self.0.description.parameters)?;
        let level = Durability::ALL.iter().position(|level| *level == spec.durability);
        let options = COpenOptions {
            dir: dir.as_ptr(),
            create: u32::from(spec.create),
            storage: match spec.storage {
                Storage::Memory => 0,
                Storage::Ramdisk => 1,
                Storage::Disk => 2,
            },
            level: 1 << level.unwrap_or(0),
            key_kind: match spec.key_kind {
                KeyKind::Hash => 1,
                KeyKind::Tree => 2,
            },
            threads: spec.threads,
            expected_rows: spec.expected_rows,
            schema: &raw const *schema.c,
            volumes: spec.volumes.unwrap_or(1),
            parameter_count: parameters.c.len() as u32,
            parameters: parameters.c.as_ptr(),
        };
        let mut store: *mut CStore = ptr::null_mut();
        let mut error = no_error();
        let create = plugin.table.create.expect("a loaded table has it");
        // SAFETY: the table's own function with what its header wants; the schema outlives the
        // store.
        let code = unsafe { create(&raw const options, &raw mut store, &raw mut error) };
        done("open", code, &mut error)?;
        if store.is_null() {
            return Err(Error::engine("open", "the plugin returns no store"));
        }
        Ok(Box::new(PluginStore {
            store,
            plugin,
            cache: cache(spec, &self.0.description.parameters),
            _c_schema: schema,
            schema: spec.schema.clone(),
        }))
    }
}

/// The parameter by which a plugin takes the common cache budget.
const CACHE_BYTES: &str = "cache_bytes";

/// Parameters as C sees them, with the texts that they point to.
struct SharedParameters {
    c: Vec<CParameter>,
    _texts: Vec<CString>,
}

impl SharedParameters {
    /// Collects the given parameters that the plugin names.
    fn new(spec: &OpenSpec, taken: &[String]) -> Result<Self> {
        let text = |text: &str| CString::new(text).map_err(|e| Error::engine("open", e));
        let mut c = Vec::new();
        let mut texts = Vec::new();
        let budget = spec.cache_bytes.map(|bytes| (CACHE_BYTES.into(), bytes.to_string()));
        let mut given: BTreeMap<String, String> = budget.into_iter().collect();
        given.extend(spec.parameters.clone());
        for (name, value) in given.iter().filter(|(name, _)| taken.contains(name)) {
            let name = text(name)?;
            let value = text(value)?;
            c.push(CParameter { name: name.as_ptr(), value: value.as_ptr() });
            texts.extend([name, value]);
        }
        Ok(Self { c, _texts: texts })
    }
}

/// Returns the size of a plugin's cache, if it takes a budget.
fn cache(spec: &OpenSpec, taken: &[String]) -> Cache {
    match spec.cache_bytes {
        _ if !taken.iter().any(|name| name == CACHE_BYTES) => Cache::NoSetting,
        Some(size_bytes) => Cache::Size { size_bytes, setting: CACHE_BYTES },
        None => Cache::Default,
    }
}

/// The schema as C sees it, with the data that it points to.
struct SharedSchema {
    c: Box<CSchema>,
    _columns: Vec<CColumn>,
    _names: Vec<CString>,
}

impl SharedSchema {
    fn new(schema: &Schema) -> Result<Self> {
        let text = |text: &str| CString::new(text).map_err(|e| Error::engine("open", e));
        let names = schema.columns().iter().map(|column| text(column.name));
        let mut names = names.collect::<Result<Vec<_>>>()?;
        let columns: Vec<_> = schema
            .columns()
            .iter()
            .zip(&names)
            .map(|(column, name)| CColumn {
                name: name.as_ptr(),
                kind: match column.kind {
                    ColumnType::U8 => 0,
                    ColumnType::U16 => 1,
                    ColumnType::U32 => 2,
                    ColumnType::U64 => 3,
                    ColumnType::I32 => 4,
                    ColumnType::I64 => 5,
                    ColumnType::F64 => 6,
                    ColumnType::Text(_) => 7,
                    ColumnType::Bytes(_) => 8,
                    ColumnType::VarBytes(_) => 9,
                },
                size_bytes: column.kind.size_bytes() as u32,
                offset: column.offset as u32,
                in_key: u32::from(column.in_key),
            })
            .collect();
        names.push(text(schema.name())?);
        let c = Box::new(CSchema {
            name: names[names.len() - 1].as_ptr(),
            columns: columns.as_ptr(),
            column_count: columns.len() as u32,
            key_column_count: schema.key_columns().len() as u32,
            key_size: schema.key_size() as u32,
            payload_size: schema.payload_size() as u32,
            record_size: schema.record_size() as u32,
        });
        Ok(Self { c, _columns: columns, _names: names })
    }
}

struct PluginStore {
    store: *mut CStore,
    plugin: Plugin,
    cache: Cache,
    _c_schema: SharedSchema,
    schema: Schema,
}

// SAFETY: assay_driver.h wants connect to be callable from several threads, each of which then
// works with a separate handle; the rest of the store is not changed.
unsafe impl Sync for PluginStore {}

impl Store for PluginStore {
    fn settings(&self) -> Vec<String> {
        let Some(settings) = self.plugin.table.settings else {
            return Vec::new();
        };
        // SAFETY: an open store; the text ends with a zero byte and is valid until close.
        let text = unsafe { settings(self.store) };
        if text.is_null() {
            return Vec::new();
        }
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        text.lines().map(str::to_string).collect()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut PluginConnection::new(&self.plugin, self.store, &self.schema)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        let mut error = no_error();
        let close = self.plugin.table.close.expect("a loaded table has it");
        // SAFETY: an open store without handles: those ended with their `connect`.
        let code = unsafe { close(self.store, &raw mut error) };
        done("close", code, &mut error)
    }
}

fn no_error() -> CError {
    CError { text: [0; ERROR_BYTES] }
}

/// Makes the error of a plugin's failure. Takes its message, so that the next failure has its own.
fn failure(doing: &str, code: c_int, error: &mut CError) -> Error {
    let end = error.text.iter().position(|&byte| byte == 0).unwrap_or(ERROR_BYTES);
    let text = String::from_utf8_lossy(&error.text[..end]).into_owned();
    error.text[0] = 0;
    match (code, text.lines().next().unwrap_or_default()) {
        (UNSUPPORTED, "") => Error::unsupported(doing),
        (UNSUPPORTED, what) => Error::unsupported(what),
        (FAILED, "") => Error::engine(doing, "the plugin does not say why"),
        (FAILED, why) => Error::engine(doing, why),
        (other, _) => {
            Error::engine(doing, format!("the plugin returns {other}, which means nothing"))
        }
    }
}

/// Turns the code of a function that returns only success or failure into a result.
fn done(doing: &str, code: c_int, error: &mut CError) -> Result<()> {
    match code {
        DONE => Ok(()),
        other => Err(failure(doing, other, error)),
    }
}
