//! Random operations on one to three volumes that are mounted at one path, and on plain maps.

use std::collections::{BTreeMap, BTreeSet};

use lode_volumes::{Durability, Error, Mount, Options, Storage, StorageEntry, Value, Volume};
use proptest::collection::vec;
use proptest::prelude::*;

use super::support::expect_consistent;

/// The paths of a volume, with the properties of each.
type Tree = BTreeMap<String, BTreeMap<String, Value>>;

#[derive(Clone, Debug)]
enum Step {
    Create(String),
    Set(String, &'static str, u8),
    Remove(String, &'static str),
    Link(String, &'static str),
    Unlink(String, &'static str),
    UnlinkAll(String, &'static str),
    Read(String),
    /// In one volume, without the others.
    SetIn(usize, String, &'static str, u8),
    RenameIn(usize, String, &'static str, String, &'static str),
    UnlinkAllIn(usize, String, &'static str),
    BatchIn(usize, String, u8),
    Reopen,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn path() -> impl Strategy<Value = String> {
    vec(name(), 0..4).prop_map(|names| names.iter().map(|name| format!("/{name}")).collect())
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => path().prop_map(Step::Create),
        4 => (path(), name(), any::<u8>()).prop_map(|(p, n, v)| Step::Set(p, n, v)),
        2 => (path(), name()).prop_map(|(p, n)| Step::Remove(p, n)),
        2 => (path(), name()).prop_map(|(p, n)| Step::Link(p, n)),
        1 => (path(), name()).prop_map(|(p, n)| Step::Unlink(p, n)),
        1 => (path(), name()).prop_map(|(p, n)| Step::UnlinkAll(p, n)),
        3 => path().prop_map(Step::Read),
        2 => (0..3usize, path(), name(), any::<u8>())
            .prop_map(|(at, p, n, v)| Step::SetIn(at, p, n, v)),
        1 => (0..3usize, path(), name(), path(), name())
            .prop_map(|(at, p, n, q, m)| Step::RenameIn(at, p, n, q, m)),
        1 => (0..3usize, path(), name()).prop_map(|(at, p, n)| Step::UnlinkAllIn(at, p, n)),
        1 => (0..3usize, path(), any::<u8>()).prop_map(|(at, p, v)| Step::BatchIn(at, p, v)),
        1 => Just(Step::Reopen),
    ]
}

/// Values of many lengths and types.
fn value(seed: u8) -> Value {
    match seed % 5 {
        0 => Value::U8(seed),
        1 => Value::I64(-i64::from(seed)),
        2 => Value::Text("x".repeat(usize::from(seed)).into()),
        3 => Value::Blob(vec![seed; usize::from(seed) * 100].into()),
        _ => Value::F64(f64::from(seed) / 3.0),
    }
}

fn below(path: &str, name: &str) -> String {
    format!("{path}/{name}")
}

fn is_within(path: &str, top: &str) -> bool {
    path == top || path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'))
}

fn create(tree: &mut Tree, path: &str) {
    let mut made = String::new();
    tree.entry(made.clone()).or_default();
    for name in path.split('/').skip(1) {
        made = below(&made, name);
        tree.entry(made.clone()).or_default();
    }
}

fn children(tree: &Tree, path: &str) -> BTreeSet<String> {
    let of = |other: &String| {
        let (parent, name) = other.rsplit_once('/')?;
        (parent == path).then(|| name.to_string())
    };
    tree.keys().filter_map(of).collect()
}

fn remove_all(tree: &mut Tree, top: &str) -> bool {
    let before = tree.len();
    tree.retain(|path, _| !is_within(path, top));
    tree.len() < before
}

/// Volumes under test, and what they should have. The first has the highest priority.
struct Bench {
    folders: Vec<tempfile::TempDir>,
    level: Durability,
    volumes: Vec<Volume>,
    storage: Storage,
    trees: Vec<Tree>,
}

impl Bench {
    fn new(count: usize, level: Durability) -> Self {
        let folders = (0..count).map(|_| tempfile::tempdir().expect("a folder")).collect();
        let root = Tree::from([(String::new(), BTreeMap::new())]);
        let mut bench = Self {
            folders,
            level,
            volumes: Vec::new(),
            storage: Storage::new(),
            trees: vec![root; count],
        };
        bench.open();
        bench
    }

    fn open(&mut self) {
        self.storage = Storage::new();
        for (folder, priority) in self.folders.iter().zip(0..) {
            let database = lode::Options::new().memory_bytes(32 << 20);
            let options = Options::new().database(database).durability(self.level);
            let volume = options.open_entries(3).cache_bytes(1_000).open(folder.path());
            let volume = volume.expect("a volume");
            self.storage
                .mount("/", Mount::new(&volume).priority(-priority))
                .expect("it is mounted");
            self.volumes.push(volume);
        }
    }

    fn close(&mut self) {
        self.storage = Storage::new();
        self.volumes.drain(..).for_each(|volume| volume.close().expect("it closes"));
    }

    fn entry(&self, path: &str) -> Option<StorageEntry> {
        let found = self.storage.entry(path).expect("a path");
        let expected = self.trees.iter().any(|tree| tree.contains_key(path));
        assert_eq!(found.is_some(), expected, "{path:?}");
        found
    }

    fn carry_out(&mut self, step: &Step) {
        match step {
            Step::Create(path) => {
                self.storage.create_entry(path).expect("a path");
                self.trees.iter_mut().for_each(|tree| create(tree, path));
            }
            Step::Set(path, name, seed) => {
                if let Some(entry) = self.entry(path) {
                    entry.set(name, &value(*seed)).expect("it is set");
                    for tree in &mut self.trees {
                        create(tree, path);
                        let properties = tree.get_mut(path).expect("it was created");
                        properties.insert((*name).into(), value(*seed));
                    }
                }
            }
            Step::Remove(path, name) => {
                if let Some(entry) = self.entry(path) {
                    let removed = entry.remove_property(name).expect("a name");
                    let removals = self.trees.iter_mut().map(|tree| {
                        tree.get_mut(path).and_then(|properties| properties.remove(*name))
                    });
                    assert_eq!(removed, removals.fold(false, |any, one| any | one.is_some()));
                }
            }
            Step::Link(path, name) => self.link(path, name),
            Step::Unlink(path, name) => self.unlink(path, name, false),
            Step::UnlinkAll(path, name) => self.unlink(path, name, true),
            Step::Read(path) => self.read(path),
            Step::SetIn(at, path, name, seed) => {
                let at = at % self.volumes.len();
                let found = self.volumes[at].entry(path).expect("a path");
                let expected = self.trees[at].get_mut(path);
                assert_eq!(found.is_some(), expected.is_some());
                if let (Some(entry), Some(properties)) = (found, expected) {
                    entry.set(name, &value(*seed)).expect("it is set");
                    properties.insert((*name).into(), value(*seed));
                }
            }
            Step::RenameIn(at, path, name, to, new_name) => {
                self.rename(at % self.volumes.len(), [path, name], [to, new_name]);
            }
            Step::UnlinkAllIn(at, path, name) => {
                let at = at % self.volumes.len();
                if let Some(entry) = self.volumes[at].entry(path).expect("a path") {
                    let unlinked = entry.unlink_all(name);
                    let expected = remove_all(&mut self.trees[at], &below(path, name));
                    assert_eq!(unlinked.is_ok(), expected, "{unlinked:?}");
                }
            }
            Step::BatchIn(at, path, seed) => {
                let at = at % self.volumes.len();
                let volume = &self.volumes[at];
                let tree = &mut self.trees[at];
                let Some(entry) = volume.entry(path).expect("a path") else { return };
                let batch = volume.update(|batch| {
                    batch.set(&entry, "a", &value(*seed))?;
                    batch.remove_property(&entry, "b")?;
                    batch.set(&volume.root(), "c", &value(seed.wrapping_add(1)))
                });
                batch.expect("a batch");
                let properties = tree.get_mut(path).expect("it is there");
                properties.insert("a".into(), value(*seed));
                properties.remove("b");
                let root = tree.get_mut("").expect("the root");
                root.insert("c".into(), value(seed.wrapping_add(1)));
            }
            Step::Reopen => {
                self.close();
                self.folders.iter().for_each(|folder| expect_consistent(folder.path()));
                self.open();
            }
        }
    }

    fn link(&mut self, path: &str, name: &str) {
        let Some(entry) = self.entry(path) else { return };
        let child = below(path, name);
        let is_taken = self.trees.iter().any(|tree| tree.contains_key(&child));
        match entry.link(name) {
            Ok(()) => assert!(!is_taken),
            Err(error) => assert!(is_taken && matches!(error, Error::NameTaken { .. }), "{error}"),
        }
        if !is_taken {
            self.trees.iter_mut().for_each(|tree| create(tree, &child));
        }
    }

    fn unlink(&mut self, path: &str, name: &str, all: bool) {
        let Some(entry) = self.entry(path) else { return };
        let child = below(path, name);
        let is_there = self.trees.iter().any(|tree| tree.contains_key(&child));
        let has_children = self.trees.iter().any(|tree| !children(tree, &child).is_empty());
        let unlinked = if all { entry.unlink_all(name) } else { entry.unlink(name) };
        match unlinked {
            Ok(()) => {
                assert!(is_there && (all || !has_children));
                for tree in &mut self.trees {
                    remove_all(tree, &child);
                }
            }
            Err(Error::NoEntry { .. }) => assert!(!is_there),
            Err(error) => {
                assert!(has_children && matches!(error, Error::NotEmpty { .. }), "{error}")
            }
        }
    }

    fn rename(&mut self, at: usize, from: [&str; 2], to: [&str; 2]) {
        let [path, name] = from;
        let [to, new_name] = to;
        let volume = &self.volumes[at];
        let tree = &mut self.trees[at];
        let from = volume.entry(path).expect("a path");
        let Some((from, target)) = from.zip(volume.entry(to).expect("a path")) else { return };
        let old = below(path, name);
        let new = below(to, new_name);
        match from.rename(name, &target, new_name) {
            Ok(()) if old == new => {}
            Ok(()) => {
                let moved: Vec<_> = tree.keys().filter(|it| is_within(it, &old)).cloned().collect();
                assert!(!moved.is_empty() && !tree.contains_key(&new));
                for before in moved {
                    let properties = tree.remove(&before).expect("it is there");
                    tree.insert(format!("{new}{}", &before[old.len()..]), properties);
                }
            }
            Err(Error::NoEntry { .. }) => assert!(!tree.contains_key(&old)),
            Err(Error::IntoItself { .. }) => assert!(is_within(to, &old)),
            Err(error) => {
                assert!(matches!(error, Error::NameTaken { .. }) && tree.contains_key(&new));
            }
        }
    }

    /// Checks what the storage has of a path: of each property the first, and the children of all.
    fn read(&self, path: &str) {
        let Some(entry) = self.entry(path) else { return };
        let mut properties = BTreeMap::new();
        let mut links = BTreeSet::new();
        for tree in &self.trees {
            for (name, value) in tree.get(path).into_iter().flatten() {
                properties.entry(name.clone()).or_insert_with(|| value.clone());
            }
            links.extend(children(tree, path));
        }
        for name in NAMES {
            assert_eq!(entry.property(name).expect("a name").as_ref(), properties.get(name));
            assert_eq!(entry.has_property(name).expect("a name"), properties.contains_key(name));
        }
        assert_eq!(entry.properties().expect("properties"), properties);
        let names = entry.property_names().expect("names");
        assert!(names.iter().eq(properties.keys()));
        assert!(entry.links().expect("links").iter().eq(links.iter()));
    }

    /// Each volume, as a walk and as its handles see it.
    fn expect_all(&self) {
        for (volume, tree) in self.volumes.iter().zip(&self.trees) {
            let mut walked = Tree::new();
            for entry in volume.root().walk().expect("a walk") {
                let entry = entry.expect("an entry");
                let properties = entry.properties().map(|it| it.expect("a property")).collect();
                walked.insert(entry.path().trim_end_matches('/').into(), properties);
            }
            assert_eq!(&walked, tree);
            for (path, properties) in tree {
                let entry = volume.entry(path).expect("a path").expect("it is there");
                for name in NAMES {
                    let found = entry.property(name).expect("a name");
                    assert_eq!(found.as_ref(), properties.get(name));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("LODE_THOROUGH").is_some() { 400 } else { 24 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn mounted_volumes_are_what_plain_trees_are(
        count in 1..4usize,
        late in any::<bool>(),
        steps in vec(steps(), 1..120),
    ) {
        let level = if late { Durability::None } else { Durability::Process };
        let mut bench = Bench::new(count, level);
        for step in &steps {
            bench.carry_out(step);
        }
        bench.expect_all();
        bench.close();
        bench.folders.iter().for_each(|folder| expect_consistent(folder.path()));
    }
}
