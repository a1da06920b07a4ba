//! Loading a plugin, and reading the declarations of its table.

use std::ffi::{CStr, c_char};
use std::path::Path;
use std::ptr;

use assay_driver::{
    Change, Concurrency, DeleteRule, Durability, InsertRule, KeyKind, Storage, Transactions,
};
use libloading::Library;
use program_support::printable;
use serde::{Deserialize, Serialize};

use super::abi::{ABI_VERSION, CDriver, CVolume, DRIVER_1_BYTES};
use crate::linker;

/// The function that a plugin exports.
const SYMBOL: &[u8] = b"assay_plugin\0";

/// A plugin engine's declaration about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The engine's id.
    pub id: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) about: String,
    pub(super) key_kinds: Vec<KeyKind>,
    pub(super) levels: Vec<(Storage, Vec<Durability>)>,
    pub(super) transactions: Transactions,
    pub(super) insert_rule: InsertRule,
    pub(super) delete_rule: DeleteRule,
    pub(super) concurrency: Concurrency,
    pub(super) periodic_survives_kill: bool,
    pub(super) periodic_interval_ms: u32,
    pub(super) lacks: Vec<Change>,
    pub(super) parameters: Vec<String>,
    pub(super) mounts_volumes: bool,
}

impl Description {
    /// Returns the engine's version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the engine's name in tables.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A loaded plugin.
pub(super) struct Plugin {
    pub(super) table: CDriver,
    /// The engine's own volumes, if it has them.
    pub(super) volume: Option<CVolume>,
    pub(super) description: Description,
    _library: Library,
}

impl Plugin {
    /// Loads a library and checks its table.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        if path.is_dir() {
            return Err("is a directory; name the shared library in it".into());
        }
        // A name without a directory would be looked for where the system has its libraries.
        let path = path.canonicalize().map_err(|e| e.to_string())?;
        // SAFETY: loading runs the library's initialisers, which is what loading an engine means;
        // the library stays loaded as long as its table is kept.
        let library = unsafe { Library::new(&path) }.map_err(|e| {
            format!("not a shared library that can be loaded ({})", linker::words(&e))
        })?;
        // SAFETY: the signature is the one in assay_driver.h.
        let symbol = unsafe { library.get::<unsafe extern "C" fn() -> *const CDriver>(SYMBOL) };
        let symbol = symbol.map_err(|e| {
            let why = linker::words(&e);
            format!("it exports no assay_plugin(), so it is no plugin; see assay_driver.h ({why})")
        })?;
        // SAFETY: as above; what comes back is looked at before it is used.
        let table = unsafe { symbol() };
        if table.is_null() || !table.is_aligned() {
            return Err("its assay_plugin() returns no table".into());
        }
        // SAFETY: what comes back is what `assay_plugin` returns, and the library is loaded.
        let table = unsafe { read(table) }?;
        // SAFETY: the pointer is the table's own.
        let volume = unsafe { read_volume(table.volume) }?;
        let description = describe(&table, volume.as_ref())?;
        Ok(Self { table, volume, description, _library: library })
    }
}

/// Copies a table of any version up to this one; fields that its version lacks are zero.
///
/// # Safety
/// The table is not null, aligned, and as long as it says.
unsafe fn read(table: *const CDriver) -> Result<CDriver, String> {
    // SAFETY: a table starts with its size and its version, in every version.
    let (size_bytes, abi_version) = unsafe { ((*table).size_bytes, (*table).abi_version) };
    let expected = match abi_version {
        1 => DRIVER_1_BYTES,
        ABI_VERSION => size_of::<CDriver>(),
        other => {
            return Err(format!(
                "its interface is of version {other}, this Assay has versions 1 to {ABI_VERSION}; \
                 build it with the assay_driver.h of this Assay"
            ));
        }
    };
    if size_bytes as usize != expected {
        return Err(format!(
            "its table has {size_bytes} bytes, version {abi_version} has {expected}; build it with \
             the assay_driver.h of this Assay"
        ));
    }
    // SAFETY: all of its fields may be zero: numbers, pointers and missing functions.
    let mut whole: CDriver = unsafe { std::mem::zeroed() };
    // SAFETY: both have as many bytes, and do not overlap.
    unsafe {
        ptr::copy_nonoverlapping(table.cast::<u8>(), (&raw mut whole).cast::<u8>(), expected);
    }
    Ok(whole)
}

/// Copies the table of an engine's own volumes, if it has one.
///
/// # Safety
/// The pointer is null, or to a table that is as long as it says.
unsafe fn read_volume(volume: *const CVolume) -> Result<Option<CVolume>, String> {
    if volume.is_null() {
        return Ok(None);
    }
    if !volume.is_aligned() {
        return Err("its table of volumes is not aligned".into());
    }
    // SAFETY: such a table starts with its size.
    let size_bytes = unsafe { (*volume).size_bytes };
    if size_bytes as usize != size_of::<CVolume>() {
        return Err(format!(
            "its table of volumes has {size_bytes} bytes, version {ABI_VERSION} has {}; build it \
             with the assay_driver.h of this Assay",
            size_of::<CVolume>()
        ));
    }
    // SAFETY: it says that it has all the fields.
    Ok(Some(unsafe { *volume }))
}

fn describe(table: &CDriver, volume: Option<&CVolume>) -> Result<Description, String> {
    let id = text(table.id, "id")?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || id.len() > 32 || !id.chars().all(plain) {
        return Err(format!(
            "its id is {id:?}; an id has 1 to 32 lower-case letters, digits and hyphens"
        ));
    }
    let has_update = table.update.is_some();
    let has_remove = table.remove.is_some();
    let may_lack = table.abi_version > 1;
    let wanted = [
        ("create", table.create.is_some()),
        ("close", table.close.is_some()),
        ("connect", table.connect.is_some()),
        ("disconnect", table.disconnect.is_some()),
        ("insert", table.insert.is_some()),
        ("query", table.query.is_some()),
        ("update", has_update || may_lack),
        ("remove", has_remove || may_lack),
    ];
    if let Some((name, _)) = wanted.iter().find(|(_, there)| !there) {
        return Err(format!("its table has no function {name}"));
    }
    let transactions = match table.transactions {
        0 => Transactions::None,
        1 => Transactions::Batches,
        2 => Transactions::Full,
        other => return Err(format!("its transactions are {other}, which is none of 0, 1, 2")),
    };
    let all = table.begin.is_some() && table.commit.is_some() && table.rollback.is_some();
    if transactions != Transactions::None && !all {
        return Err("it declares transactions, and lacks begin, commit or rollback".into());
    }
    let key_kinds = bits(table.key_kinds, &[(1, KeyKind::Hash), (2, KeyKind::Tree)], "key_kinds")?;
    if key_kinds.is_empty() {
        return Err("it declares no kind of keys".into());
    }
    let mut levels = Vec::new();
    for (storage, mask) in [
        (Storage::Memory, table.memory_levels),
        (Storage::Ramdisk, table.ramdisk_levels),
        (Storage::Disk, table.disk_levels),
    ] {
        let known: Vec<_> =
            Durability::ALL.iter().enumerate().map(|(at, &level)| (1 << at, level)).collect();
        let of_storage = bits(mask, &known, "levels")?;
        if !of_storage.is_empty() {
            levels.push((storage, of_storage));
        }
    }
    if levels.is_empty() {
        return Err("it declares no level in any storage mode".into());
    }
    Ok(Description {
        id,
        name: text(table.name, "name")?,
        version: text(table.version, "version")?,
        about: text(table.about, "about")?,
        key_kinds,
        levels,
        transactions,
        insert_rule: match table.insert_replaces {
            0 => InsertRule::Refuses,
            _ => InsertRule::Replaces,
        },
        delete_rule: match table.delete_silent {
            0 => DeleteRule::Reports,
            _ => DeleteRule::Silent,
        },
        concurrency: match table.concurrency {
            0 => Concurrency::OneConnection,
            1 => Concurrency::OneWriter,
            2 => Concurrency::Concurrent,
            other => return Err(format!("its concurrency is {other}, which is none of 0, 1, 2")),
        },
        periodic_survives_kill: table.periodic_survives_kill != 0,
        periodic_interval_ms: table.periodic_interval_ms,
        lacks: [(Change::Update, has_update), (Change::Delete, has_remove)]
            .into_iter()
            .filter(|(_, there)| !there)
            .map(|(change, _)| change)
            .collect(),
        parameters: parameters(table.parameters)?,
        mounts_volumes: volume.is_some_and(|volume| volume.mounts != 0),
    })
}

/// A limit above any engine's number; finds a list without its end.
const MOST_PARAMETERS: usize = 64;

fn parameters(names: *const *const c_char) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    if names.is_null() {
        return Ok(all);
    }
    loop {
        // SAFETY: assay_driver.h wants a list that ends with a null pointer.
        let name = unsafe { *names.add(all.len()) };
        if name.is_null() {
            return Ok(all);
        }
        if all.len() == MOST_PARAMETERS {
            return Err(format!("it names more than {MOST_PARAMETERS} parameters"));
        }
        all.push(text(name, "name of a parameter")?);
    }
}

fn text(pointer: *const c_char, what: &str) -> Result<String, String> {
    if pointer.is_null() {
        return Err(format!("it has no {what}"));
    }
    // SAFETY: assay_driver.h wants a text that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    let text = text.to_str().map_err(|_| format!("its {what} is not UTF-8"))?;
    Ok(printable::line(text).into_owned())
}

fn bits<T: Copy>(mask: u32, known: &[(u32, T)], what: &str) -> Result<Vec<T>, String> {
    let all = known.iter().fold(0, |all, (bit, _)| all | bit);
    match mask & !all {
        0 => Ok(known.iter().filter(|(bit, _)| mask & bit != 0).map(|(_, value)| *value).collect()),
        unknown => Err(format!("its {what} have bits that mean nothing: {unknown:#x}")),
    }
}
