//! The readings of the counters of one worker, by the marks that the worker reports.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assay_core::counting::{Ended, Marks};

use super::allocations::allocations;
use super::counts::{
    ALLOCATIONS, BRANCHES, CALL, FIRST_LEVEL, INSTRUCTIONS, LAST_LEVEL, PAGE_FAULTS, READ_BYTES,
    READS, SYNC_CALLS, SYNCS, WRITES, WRITTEN_BYTES,
};
use crate::worker::callgrind::FILES;
use crate::worker::tracer::{self, Calls, Traced};

/// One count of each quantity.
pub(crate) type Reading = BTreeMap<String, u64>;

/// The readings of a worker.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Readings {
    /// The readings of each phase, in order.
    pub phases: Vec<(String, Reading)>,
    pub background: Reading,
}

/// Returns what the processor counted.
pub(crate) fn of_processor(marks: &Marks) -> Readings {
    let reading = |count: u64| Reading::from([(INSTRUCTIONS.to_string(), count)]);
    let phase = |mark: &Ended| Some((mark.phase.clone()?, reading(mark.instructions)));
    let phases = marks.ended.iter().filter_map(phase).collect();
    Readings { phases, background: reading(marks.background_instructions) }
}

/// Reads callgrind's files.
pub(crate) fn of_callgrind(folder: &Path, marks: &Marks) -> Result<Readings, String> {
    let mut readings = Readings::default();
    for (mark, number) in marks.ended.iter().zip(1..) {
        let path = folder.join(format!("{FILES}.{number}-01"));
        let Ok(text) = fs::read_to_string(&path) else {
            return Err("callgrind saw no spans in the program, which has no symbols; build it \
                        without strip"
                .into());
        };
        if let Some(phase) = &mark.phase {
            readings.phases.push((phase.clone(), summary(&text)?));
        }
    }
    // The last files are those of the threads at the end of the program; the first is the main one.
    for thread in 2.. {
        let Ok(text) = fs::read_to_string(folder.join(format!("{FILES}-{thread:02}"))) else {
            break;
        };
        for (name, count) in summary(&text)? {
            *readings.background.entry(name).or_default() += count;
        }
    }
    Ok(readings)
}

/// Reads the sums and the allocations of a file of callgrind's.
fn summary(text: &str) -> Result<Reading, String> {
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
    let (events, counts) = line("events:").zip(line("summary:")).ok_or("callgrind wrote no sum")?;
    let counts: Result<Vec<u64>, _> = counts.split_whitespace().map(str::parse).collect();
    let counts = counts.map_err(|e| format!("callgrind wrote a sum that is no number: {e}"))?;
    // Zeros at the end of a line are left out.
    let counts = counts.into_iter().chain(std::iter::repeat(0));
    let mut reading = Reading::new();
    for (event, count) in events.split_whitespace().zip(counts) {
        let quantity = match event {
            "Ir" => INSTRUCTIONS,
            "Dr" => READS,
            "Dw" => WRITES,
            "I1mr" | "D1mr" | "D1mw" => FIRST_LEVEL,
            "ILmr" | "DLmr" | "DLmw" => LAST_LEVEL,
            "Bcm" | "Bim" => BRANCHES,
            _ => continue,
        };
        *reading.entry(quantity.into()).or_default() += count;
    }
    reading.insert(ALLOCATIONS.into(), allocations(text));
    Ok(reading)
}

/// Reads the tracer's file.
pub(crate) fn calls(folder: &Path, marks: &Marks) -> Result<Readings, String> {
    let text = fs::read_to_string(folder.join(tracer::FILE))
        .map_err(|e| format!("the tracer of system calls wrote nothing: {e}"))?;
    let traced: Traced = serde_json::from_str(&text)
        .map_err(|e| format!("the tracer of system calls wrote something else: {e}"))?;
    if traced.phases.len() < marks.ended.len() {
        return Err("the tracer of system calls missed the end of a phase".into());
    }
    let mut readings = Readings { background: reading(&traced.background), ..Readings::default() };
    for (mark, calls) in marks.ended.iter().zip(&traced.phases) {
        if let Some(phase) = &mark.phase {
            let mut reading = reading(calls);
            reading.insert(PAGE_FAULTS.into(), mark.page_faults);
            readings.phases.push((phase.clone(), reading));
        }
    }
    Ok(readings)
}

fn reading(calls: &Calls) -> Reading {
    let named = calls.by_name.iter().map(|(name, count)| (format!("{CALL}{name}"), *count));
    let syncs = calls.by_name.iter().filter(|(name, _)| SYNC_CALLS.contains(&name.as_str()));
    let sums = [
        (READ_BYTES, calls.read_bytes),
        (WRITTEN_BYTES, calls.written_bytes),
        (SYNCS, syncs.map(|(_, count)| count).sum()),
    ];
    named.chain(sums.map(|(name, count)| (name.to_string(), count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(phases: &[Option<&str>]) -> Marks {
        let ended = |phase: &Option<&str>| Ended {
            phase: phase.map(String::from),
            page_faults: 3,
            instructions: 70,
        };
        Marks { ended: phases.iter().map(ended).collect(), background_instructions: 5 }
    }

    #[test]
    fn what_the_processor_counted_is_in_the_marks() {
        let marks = marks(&[None, Some("insert"), None, Some("query")]);
        let readings = of_processor(&marks);
        let phases = readings.phases.iter().map(|(name, reading)| (&**name, reading[INSTRUCTIONS]));
        assert_eq!(phases.collect::<Vec<_>>(), [("insert", 70), ("query", 70)]);
        assert_eq!(readings.background[INSTRUCTIONS], 5);
    }

    #[test]
    fn callgrinds_files_belong_to_the_phases_between_marks() {
        let folder = tempfile::tempdir().expect("a directory");
        let write = |name: &str, sums: &str| {
            let text =
                format!("version: 1\nevents: Ir Dr Dw I1mr D1mr D1mw Bc Bcm\nsummary:{sums}\n");
            fs::write(folder.path().join(name), text).expect("it can be written");
        };
        write("counts.1-01", " 0\n");
        write("counts.2-01", " 100 20 10 1 2 3 7 5\n\nfn=(1) calloc\n0x10 4\n0x14 4 1\n");
        write("counts.3-01", " 9 8\n");
        write("counts-01", " 1000\n");
        write("counts-02", " 30\n");
        write("counts-03", " 12 1\n");
        let three = marks(&[None, Some("insert"), None]);
        let readings = of_callgrind(folder.path(), &three).expect("all is there");
        let [(name, insert)] = readings.phases.as_slice() else { panic!("{readings:?}") };
        assert_eq!((name.as_str(), insert[INSTRUCTIONS], insert[READS]), ("insert", 100, 20));
        assert_eq!((insert[FIRST_LEVEL], insert[BRANCHES], insert[ALLOCATIONS]), (6, 5, 4));
        assert_eq!((readings.background[INSTRUCTIONS], readings.background[READS]), (42, 1));
        let more = marks(&[None, Some("insert"), None, Some("query")]);
        let why = of_callgrind(folder.path(), &more).expect_err("a file is missing");
        assert!(why.contains("no symbols"), "{why}");
    }

    #[test]
    fn system_calls_are_counted_by_name_and_syncs_together() {
        let folder = tempfile::tempdir().expect("a directory");
        let write = |text: &str| {
            fs::write(folder.path().join("calls.json"), text).expect("it can be written");
        };
        write(
            r#"{"phases": [{"by_name": {"read": 9}, "read_bytes": 90, "written_bytes": 0},
                {"by_name": {"fsync": 1, "fdatasync": 2, "write": 4}, "read_bytes": 0,
                 "written_bytes": 12}],
                "background": {"by_name": {"futex": 1}, "read_bytes": 0, "written_bytes": 0}}"#,
        );
        let marks = marks(&[None, Some("insert")]);
        let readings = calls(folder.path(), &marks).expect("all is there");
        let [(name, insert)] = readings.phases.as_slice() else { panic!("{readings:?}") };
        assert_eq!((name.as_str(), insert[SYNCS], insert["call:fsync"]), ("insert", 3, 1));
        assert_eq!((insert[WRITTEN_BYTES], insert[PAGE_FAULTS]), (12, 3));
        assert_eq!(readings.background["call:futex"], 1);
        write("{}");
        assert!(calls(folder.path(), &marks).is_err());
    }
}
