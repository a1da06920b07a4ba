//! A data file with some bytes written over: a repair returns, and the database that it writes is
//! whole.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use lode::Error;
use lode::simulation::{self, Simulated};
use lode_fuzz::{Damage, options, read, small};

fuzz_target!(|damage: Damage| {
    static SMALL: OnceLock<Simulated> = OnceLock::new();
    let disk = SMALL.get_or_init(small).fork();
    damage.apply(&disk);
    let target = Simulated::new(2);
    let mut losses = 0;
    let repaired = simulation::repair(&options(), &disk, &target, 3, &mut |loss| {
        assert!(!loss.to_string().is_empty());
        losses += 1;
    });
    let repaired = match repaired {
        Ok(repaired) => repaired,
        // Of a file whose head is lost, nothing is left.
        Err(Error::Corrupt { .. } | Error::Version { .. } | Error::UnfinishedBackup) => return,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(repaired.losses, losses);
    let db = simulation::open(&options(), &target, 4).expect("it is whole");
    let report = db.check().expect("it is open");
    assert!(report.is_sound(), "{report}");
    let content = read(&db).expect("it is whole");
    let records = content.values().map(|records| records.len() as u64).sum::<u64>();
    assert_eq!(repaired.tables.iter().map(|table| table.records).sum::<u64>(), records);
});
