//! SKVDB's tables, with the pictures that belong to them.

use assay_core::run_file::{Phase, Round};
use assay_suites::skvdb;

use super::{cell, published, result, run};

#[test]
fn skvdb_prints_its_tables_with_their_pictures() {
    let mut cells = Vec::new();
    for (threads, rates) in [(2, [71_000, 88_000, 385_000]), (10, [26_000, 30_000, 62_000])] {
        for (entries, rate) in [3, 2, 1].into_iter().zip(rates) {
            let options = skvdb::Options {
                operations: 1_000_000,
                entries: vec![entries],
                ..Default::default()
            };
            let mut cell = cell(skvdb::ID, "skvdb", 1_000_000, &options);
            cell.threads = threads;
            let names = ["write, one record", "read, one record"];
            let own = ["write, own records", "read, own records"];
            let phases = names.into_iter().chain(own).map(|name| Phase {
                name: name.into(),
                // One second for what each thread does in one.
                rounds: vec![Round {
                    operations: rate * u64::from(threads),
                    time_ns: 1_000_000_000,
                    usage: None,
                }],
                ..Phase::default()
            });
            cells.push(result(cell, "SKVDB", phases.collect()));
        }
    }
    let text = published(&run(cells));
    let table = "
No. threads | 3 entries | 2 entries| 1 entry|
---|--------|-------|-------
2  |\t71000 |\t88000 |\t385000
10 |\t26000 |\t30000 |\t62000
";
    let mut expected = "# skvdb\n".to_string();
    for (number, title, picture) in [
        (
            1,
            "One record, multiple threads writing properties to it",
            "![One Record Multiple Threads Writing]\
             (run-skvdb-one_record_multiple_threads_set_prop.png)",
        ),
        (
            2,
            "One record, multiple threads reading properties from it",
            "![One Record Multiple Threads Reading]\
             (run-skvdb-one_record_multiple_threads_get_prop.png)",
        ),
        (
            3,
            "Multiple records, multiple threads writing properties to them (each thread to owned \
             record)",
            "![Multiple Records Multiple Threads Writing]\
             (run-skvdb-multiple_records_multiple_threads_set_prop.png)",
        ),
        (
            4,
            "Multiple records, multiple threads reading properties from them (each thread from \
             owned record)",
            "![Multiple Records Multiple Threads Reading]\
             (run-skvdb-multiple_records_multiple_threads_get_prop.png)",
        ),
    ] {
        expected += &format!("\n**Table {number}**. {title}. Properties/sec. per-thread\n{table}");
        expected += &format!("\n{picture}\n");
    }
    assert_eq!(text.trim_end(), expected.trim_end());
}
