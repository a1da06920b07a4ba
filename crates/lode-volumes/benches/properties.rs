//! Measures setting and reading properties of an open entry, in nanoseconds: `cargo bench -p
//! lodedb-volumes --bench properties`. The other side is a hash table behind a lock, which keeps
//! nothing: what a program has that needs no volume. `LODE_OPERATION` (`set`, `read`, `remove`) and
//! `LODE_WHERE` (`map`, `memory`, `process`) choose one for a profiler, `LODE_ROUNDS` says how
//! often each property is used. Without them, each is done, a little.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::RwLock;
use std::time::Instant;

use lode_volumes::{Durability, Entry, Options, Result, Value, ValueRef, Volume};

/// The properties of SKVDB's benchmark.
fn properties() -> [(&'static str, Value); 7] {
    [
        ("flt_prop", Value::F32(123.0)),
        ("double_prop", Value::F64(956.0)),
        ("uint8t_prop", Value::U8(20)),
        ("uint32t_prop", Value::U32(1 << 30)),
        ("uint64t_prop", Value::U64(1 << 50)),
        ("string_prop", Value::Text("a".repeat(256).into())),
        ("blob_prop", Value::Blob(vec![b'Z'; 1024].into())),
    ]
}

/// The place of properties.
enum Place {
    Map(RwLock<HashMap<Box<str>, Value>>),
    Volume(Entry),
}

impl Place {
    fn set(&self, name: &str, value: ValueRef<'_>) -> Result<()> {
        match self {
            Self::Volume(entry) => entry.set(name, value),
            Self::Map(map) => {
                let mut map = map.write().expect("no thread panics");
                map.insert(name.into(), value.to_value());
                Ok(())
            }
        }
    }

    fn read(&self, name: &str) -> Result<()> {
        let found = match self {
            Self::Volume(entry) => entry.with_property(name, |value| {
                black_box(value);
            })?,
            Self::Map(map) => {
                let map = map.read().expect("no thread panics");
                map.get(name).map(|value| {
                    black_box(value.as_ref());
                })
            }
        };
        assert!(found.is_some(), "{name} was set");
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let was_there = match self {
            Self::Volume(entry) => entry.remove_property(name)?,
            Self::Map(map) => map.write().expect("no thread panics").remove(name).is_some(),
        };
        assert!(was_there, "{name} was set");
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Set,
    Read,
    /// And set again.
    Remove,
}

impl Operation {
    const ALL: [Self; 3] = [Self::Set, Self::Read, Self::Remove];

    fn run(self, place: &Place, name: &str, value: ValueRef<'_>) -> Result<()> {
        match self {
            Self::Set => place.set(name, value),
            Self::Read => place.read(name),
            Self::Remove => {
                place.remove(name)?;
                place.set(name, value)
            }
        }
    }
}

fn measure(operation: Operation, place: &Place, rounds: u64) -> Result<f64> {
    let properties = properties();
    for (name, value) in &properties {
        place.set(name, value.as_ref())?;
    }
    let start = Instant::now();
    for _ in 0..rounds {
        for (name, value) in &properties {
            operation.run(place, name, value.as_ref())?;
        }
    }
    Ok(start.elapsed().as_nanos() as f64 / (rounds * properties.len() as u64).max(1) as f64)
}

fn main() -> Result<()> {
    let chosen = |name: &str, own: &str| std::env::var(name).map_or(true, |text| text == own);
    let rounds = std::env::var("LODE_ROUNDS");
    let rounds = rounds.map_or(300, |text| text.parse().expect("a number"));
    for operation in Operation::ALL {
        let name = format!("{operation:?}").to_lowercase();
        if !chosen("LODE_OPERATION", &name) {
            continue;
        }
        for place_name in
            ["map", "memory", "process"].into_iter().filter(|own| chosen("LODE_WHERE", own))
        {
            let folder = tempfile::tempdir().expect("a folder");
            let place = match place_name {
                "map" => Place::Map(RwLock::default()),
                "memory" => Place::Volume(Volume::in_memory()?.root()),
                _ => {
                    let options = Options::new().durability(Durability::Process);
                    Place::Volume(options.open(folder.path())?.root())
                }
            };
            let each_ns = measure(operation, &place, rounds)?;
            println!("{name}, {place_name}: {each_ns:.1} ns");
        }
    }
    Ok(())
}
