//! The engines of the published suites, built from the user's copies of them. A copy is named by an
//! environment variable; without it a test says that it was skipped.

use std::env;

use crate::support::Bench;

/// The folder that a variable names, or a line about what is skipped.
fn copy_of(engine: &str, variable: &str) -> Option<String> {
    let found = env::var(variable).ok().filter(|folder| !folder.is_empty());
    if found.is_none() {
        println!("skipped: {engine} is not here; {variable}=<its folder> runs this test");
    }
    found
}

/// A bench with the plugin built into its folder.
fn built(id: &str, folder: &str) -> Bench {
    let bench = Bench::new();
    let told = bench.succeeds(&format!("plugin build {id} --with {folder}")).stdout;
    assert!(told.contains(&format!("lib{id}.so: ")), "{told}");
    bench
}

#[test]
fn nudb_keeps_what_it_claims() {
    let Some(folder) = copy_of("NuDB", "ASSAY_TEST_NUDB") else { return };
    let bench = built("nudb", &folder);
    let verified = bench.succeeds("verify -s d,r -e nudb --dir stores").stdout;
    let lines: Vec<_> = verified.lines().filter(|line| line.starts_with(" nudb")).collect();
    assert_eq!(lines.len(), 2, "{verified}");
    for line in lines {
        assert!(line.contains("passed; not offered: "), "{line}");
        assert!(line.contains("update") && line.contains("delete"), "{line}");
    }
    let run = "run nudb --dbs nudb,lmdb --inserts 5k --fetches 5k --dir stores -o run.json";
    bench.succeeds(run);
    let cell = bench.run_file("run.json")["cells"][1].clone();
    assert_eq!(cell["cell"]["durability"], "periodic");
    assert_eq!(cell["measurement"]["phases"][1]["checked"], 5_000, "{cell}");
    bench.succeeds("run nudb --dbs nudb --batch_size 1k --num_batches 3 --dir stores");
    bench.succeeds("run crossbench -s d -e nudb -i 2k -q 2k -u 2k -d 2k --dir stores");
    bench.succeeds("run crossbench -s d -e nudb -i 2k -q 2k -u 0 -d 0 --threads 2 --dir stores");
    bench.succeeds("run ycsb -s d -e nudb -w c,d -t 1,2 --records 2k --operations 2k --dir stores");
    let bad = "run nudb --dbs nudb --inserts 500 --fetches 1 --dir stores --block_size 70000";
    bench.refuses(bad, 1, &["block_size 70000: give a number of bytes"]);
    let crash = "crash -e nudb --crash process --rounds 4 --commits 400 --dir stores";
    let told = bench.succeeds(crash).stdout;
    assert!(told.contains("kept"), "{told}");
    bench.has_no_stores();
}

#[test]
fn skvdb_keeps_what_it_claims() {
    let Some(folder) = copy_of("SKVDB", "ASSAY_TEST_SKVDB") else { return };
    let bench = built("skvdb", &folder);
    let verified = bench.succeeds("verify -s d,r -e skvdb --dir stores").stdout;
    let lines: Vec<_> = verified.lines().filter(|line| line.starts_with(" skvdb")).collect();
    assert_eq!(lines.len(), 2, "{verified}");
    assert!(lines.iter().all(|line| line.contains("passed")), "{verified}");
    let run = "run skvdb -e skvdb -t 1,3 --operations 2k --children 50 --dir stores -o run.json";
    bench.succeeds(run);
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells").iter();
    let of_skvdb: Vec<_> = cells.filter(|cell| cell["cell"]["engine"] == "skvdb").collect();
    assert_eq!(of_skvdb.len(), 6, "two numbers of threads, three of entries");
    for cell in of_skvdb {
        let entries = cell["cell"]["options"]["entries"][0].as_u64().expect("a number");
        let plural = if entries == 1 { "" } else { "s" };
        let mounted = format!("{entries} volume{plural} mounted at /");
        assert_eq!(cell["measurement"]["settings"][0], mounted.as_str(), "natively: {cell}");
        assert_eq!(cell["measurement"]["phases"].as_array().map(Vec::len), Some(7), "{cell}");
    }
    bench.succeeds("run crossbench -s d -e skvdb -i 2k -q 2k -u 2k -d 1k --dir stores");
    bench.succeeds("run crossbench -s d -e skvdb -r 1k -q 1k -u 1k -d 1k --dir stores");
    bench.succeeds("run ycsb -s d -e skvdb -w a,f -t 2 --records 2k --operations 2k --dir stores");
    let told = bench.succeeds("crash -e skvdb --crash process --rounds 2 --dir stores").stdout;
    assert!(told.contains("promises nothing"), "{told}");
    bench.has_no_stores();
}
