//! An engine for several threads that lies in one way: it says that it did what it did not do, or
//! answers what is no longer so.

mod store;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_driver::error::Result;
use assay_driver::schema::Schema;
use assay_driver::{
    Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Profile, Storage,
    Store, Transactions,
};

use store::LiarStore;

/// The way in which the engine lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    None,
    DropsAWrite,
    ReturnsAnOldVersion,
    SkipsARow,
    RepeatsARow,
    ScanChangesAColumn,
    FindsAnother,
    FindMissesARecord,
    FindRepeatsARecord,
    FindChangesAColumn,
    IndexMissesARecord,
    ChangesAColumn,
    CountsTwice,
    FindsWhatIsAbsent,
    KeepsWhatWasDeleted,
    LosesARecordLater,
    ForgetsOnClose,
    DropsACommit,
    KeepsWhatWasRolledBack,
    ForgetsWhenKilled,
    TearsWhenKilled,
    LosesARecordWhenKilled,
}

/// A payload, and the one before it.
type Versions = (Vec<u8>, Vec<u8>);
type Content = BTreeMap<Vec<u8>, Versions>;
/// The records of closed stores, by directory.
type Disk = Arc<Mutex<BTreeMap<PathBuf, Content>>>;

/// The engine.
pub struct Liar {
    lie: Lie,
    refuses: bool,
    is_slow: bool,
    /// The number of occasions of which one is taken.
    occasions: u64,
    grows: bool,
    most_payload_bytes: Option<usize>,
    key_kinds: &'static [KeyKind],
    disk: Disk,
    life: Arc<Mutex<Life>>,
    honest: Arc<Honest>,
    /// A sum over the calls that reached it, whatever their order.
    reached: Arc<AtomicU64>,
    profile: Profile,
}

/// The way in which the engine's process ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kill {
    /// The updates that succeed after the process has said that it is to be killed.
    pub updates: u64,
    /// True if the update under way at the end takes effect.
    pub last_counts: bool,
    /// The last writes that were not synchronised, and are lost.
    pub lost: usize,
}

/// The rest of the life of the engine's process.
#[derive(Default)]
struct Life {
    /// Absent if nothing kills it.
    end: Option<Kill>,
    /// The acknowledged updates that the last kill lost.
    lost: u64,
}

/// The operations that have to come before anything is false.
#[derive(Default)]
struct Honest {
    puts: AtomicU64,
    kills: AtomicU64,
}

impl Honest {
    /// Notes one of what has to come.
    fn note(left: &AtomicU64) {
        let less = |left: u64| left.checked_sub(1);
        let _ = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    fn is_over(&self) -> bool {
        [&self.puts, &self.kills].iter().all(|left| left.load(Ordering::SeqCst) == 0)
    }
}

impl Liar {
    /// Returns an engine that lies in this way.
    pub fn with(lie: Lie) -> Self {
        let key_kinds: &[KeyKind] = &[KeyKind::Tree, KeyKind::Hash];
        let profile = Profile {
            id: "liar",
            name: "Liar",
            about: "a map that lies when it is asked to",
            key_kinds,
            levels: &[(
                Storage::Disk,
                &[Durability::None, Durability::Process, Durability::Periodic, Durability::Commit],
            )],
            periodic_survives_kill: true,
            transactions: Transactions::Full,
            insert_rule: InsertRule::Refuses,
            delete_rule: DeleteRule::Reports,
            concurrency: Concurrency::Concurrent,
            parameters: &[],
            keeps_data: true,
        };
        Self {
            lie,
            refuses: false,
            is_slow: false,
            occasions: 97,
            grows: false,
            most_payload_bytes: None,
            key_kinds,
            disk: Arc::default(),
            life: Arc::default(),
            honest: Arc::default(),
            reached: Arc::default(),
            profile,
        }
    }

    /// Returns the engine as one for records of at most this many bytes without their key.
    pub fn for_records_up_to(self, bytes: usize) -> Self {
        Self { most_payload_bytes: Some(bytes), ..self }
    }

    /// Returns the engine as one that refuses every fifth transaction, in turns at an operation and
    /// at its commit.
    pub fn refusing(self) -> Self {
        Self { refuses: true, ..self }
    }

    /// Returns the engine as one that may lose its last writes at level periodic.
    pub fn forgetful(mut self) -> Self {
        self.profile.periodic_survives_kill = false;
        self
    }

    /// Returns the engine as one that is honest for this many writes.
    pub fn honest_for(self, puts: u64) -> Self {
        self.honest.puts.store(puts, Ordering::SeqCst);
        self
    }

    /// Returns the engine as one that is honest until its process was killed.
    pub fn honest_until_killed(self) -> Self {
        self.honest.kills.store(1, Ordering::SeqCst);
        self
    }

    /// Returns the engine as one that takes many occasions.
    pub fn often(self) -> Self {
        Self { occasions: 7, ..self }
    }

    /// Returns the engine as one that takes its time, now and then.
    pub fn slow(self) -> Self {
        Self { is_slow: true, ..self }
    }

    /// Returns a sum over the calls that reached the engine, whatever their order.
    pub fn reached(&self) -> u64 {
        self.reached.load(Ordering::SeqCst)
    }

    /// Has the process be killed during an update.
    pub fn dies(&self, kill: Kill) {
        lock(&self.life).end = Some(kill);
    }

    /// Starts another process. Returns how many acknowledged updates the killed one lost.
    pub fn lives_again(&self) -> u64 {
        Honest::note(&self.honest.kills);
        let mut life = lock(&self.life);
        life.end = None;
        life.lost
    }

    /// Returns the engine as one whose file is a half larger after each phase or window.
    pub fn growing(self) -> Self {
        Self { grows: true, ..self }
    }

    /// Returns the engine as one without upsert, and with another rule for inserts and deletes.
    pub fn with_rules(mut self, insert_rule: InsertRule, delete_rule: DeleteRule) -> Self {
        self.profile.insert_rule = insert_rule;
        self.profile.delete_rule = delete_rule;
        self
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver for Liar {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn refusal(&self, schema: &Schema) -> Option<String> {
        let bytes = schema.payload_size();
        let most = self.most_payload_bytes.filter(|most| bytes > *most)?;
        Some(format!("records of up to {bytes} bytes without their key; it takes {most}"))
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok("1".into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        assert!(self.key_kinds.contains(&spec.key_kind));
        let content = match spec.create {
            true => Content::new(),
            false => lock(&self.disk).get(spec.dir()).cloned().unwrap_or_default(),
        };
        std::fs::create_dir_all(spec.dir()).expect("the directory of a store");
        std::fs::write(spec.dir().join("file"), [1; 4_096]).expect("a file");
        Ok(Box::new(LiarStore::new(self, spec, content)))
    }
}
