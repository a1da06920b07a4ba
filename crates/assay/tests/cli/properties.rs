//! YCSB's property files: each property that it documents is honoured, or refused by its name.

use crate::support::Bench;

fn write(bench: &Bench, name: &str, text: &str) {
    std::fs::write(bench.path().join(name), text).expect("write");
}

const FIXED: &str = "recordcount=300\noperationcount=400\n";

/// Files that run, with what the run file has of them.
const RUN: [(&str, &str, &[&str]); 21] = [
    (
        "workloada",
        "readproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian\n",
        &["readproportion=0.5", "workload workloada · zipfian · 10 fields of 100 bytes"],
    ),
    (
        "workloadb",
        "workload=site.ycsb.workloads.CoreWorkload\nreadallfields=true\n",
        &["uniform", "workload workloadb"],
    ),
    (
        "workloadc",
        "readproportion=1\nupdateproportion=0\nscanproportion=0\n",
        &["updateproportion=0"],
    ),
    (
        "workloadd",
        "updateproportion=0\ninsertproportion=0.05\nrequestdistribution=latest\n",
        &["insertproportion=0.05", "latest"],
    ),
    (
        "workloade",
        "readproportion=0\nupdateproportion=0\nscanproportion=0.95\ninsertproportion=0.05\n\
         maxscanlength=20\nscanlengthdistribution=uniform\n",
        &["maxscanlength=20", "scanlengthdistribution=uniform"],
    ),
    (
        "workloadf",
        "readmodifywriteproportion=0.5\nreadproportion=0.5\nupdateproportion=0\n",
        &["readmodifywriteproportion=0.5"],
    ),
    ("fields", "fieldcount = 3\nfieldlength : 40\n", &["3 fields of 40 bytes"]),
    (
        "uniform-lengths",
        "fieldlengthdistribution uniform\nminfieldlength 7\n",
        &["minfieldlength=7"],
    ),
    (
        "zipfian-lengths",
        "fieldlengthdistribution=zipfian\nminfieldlength=10\n",
        &["fieldlengthdistribution=zipfian"],
    ),
    (
        "whole-records",
        "writeallfields=true\nupdateproportion=0.5\nreadproportion=0.5\n",
        &["writeallfields=true"],
    ),
    ("whole-rmw", "writeallfields=true\nreadmodifywriteproportion=1\n", &["writeallfields=true"]),
    (
        "ordered",
        "insertorder=ordered\nzeropadding=8\ninsertstart=0\ninsertcount=300\n",
        &["insertorder=ordered", "zeropadding=8", "insertcount=300"],
    ),
    (
        "hotspot",
        "requestdistribution=hotspot\nhotspotdatafraction=0.1\nhotspotopnfraction=0.9\n",
        &["hotspot", "hotspotdatafraction=0.1"],
    ),
    (
        "exponential",
        "requestdistribution=exponential\nexponential.percentile=90\nexponential.frac=0.5\n",
        &["exponential", "exponential.percentile=90"],
    ),
    ("sequential", "requestdistribution=sequential\n", &["sequential"]),
    (
        "everything",
        "readproportion=2\nupdateproportion=2\ninsertproportion=1\nscanproportion=1\n\
      readmodifywriteproportion=2\nmaxscanlength=9\nminscanlength=2\nrequestdistribution=latest\n\
      threadcount=3\n",
        &["minscanlength=2", "scanproportion=1"],
    ),
    (
        "everything-zipfian",
        "updateproportion=1\ninsertproportion=1\nscanproportion=1\n\
      scanlengthdistribution=zipfian\nmaxscanlength=30\nrequestdistribution=zipfian\n\
      writeallfields=true\nthreadcount=2\n",
        &["scanlengthdistribution=zipfian"],
    ),
    ("target", "target=100000\n", &["latencies at 100000 random arrivals"]),
    ("checked", "dataintegrity=true\nmeasurementtype=histogram\nhistogram.buckets=1000\n", &[]),
    (
        "defaults",
        "table=usertable\nfieldnameprefix=field\nreadallfieldsbyname=false\n\
      timeseries.granularity=1000\nmaxscanrate=0\nscanoptimelimit=0\ndiscardscannedrecord=false\n\
      maxexecutiontime=0\ndotransactions=true\nstatus=true\nmeasurement.interval=op\n\
      measurement.histogram.verbose=false\nmeasurement.trackjvm=false\n\
      reportlatencyforeacherror=false\ncore_workload_insertion_retry_limit=0\n\
      core_workload_insertion_retry_interval=3\n\
      core_workload_insertion_keep_going_on_error=false\n",
        &[],
    ),
    (
        "syntax",
        "# a comment\n! another\n\n  readproportion = \\\n      0.25\n\\u0075pdateproportion:0.75\n\
      request\\\n  distribution zipfian\n",
        &["readproportion=0.25", "updateproportion=0.75"],
    ),
];

#[test]
fn property_files_run_as_they_say() {
    let bench = Bench::new();
    for (name, text, words) in RUN {
        write(&bench, name, &format!("{FIXED}{text}"));
        bench.succeeds(&format!("run ycsb -P {name} -s m -e btreemap -Q -o {name}.json"));
        let run = bench.run_file(&format!("{name}.json"));
        let cell = &run["cells"][0]["cell"];
        assert_eq!(cell["rows"], 300, "{name}");
        let said = format!("{} {}", cell["variant"], cell["options"]);
        for words in words {
            assert!(said.contains(words), "{name}: {words}: {said}");
        }
    }
}

/// The letters are files too: YCSB's properties of a workload make its operations.
#[test]
fn a_property_file_makes_the_operations_of_its_letter() {
    let bench = Bench::new();
    let hash = |line: &str, file: &str| {
        bench.succeeds(&format!("run ycsb {line} -s m -e btreemap -Q -o {file}.json"));
        let run = bench.run_file(&format!("{file}.json"));
        run["cells"][0]["measurement"]["phases"][1]["tape_hash"].to_string()
    };
    let files = RUN.iter().filter(|(name, ..)| name.starts_with("workload"));
    for (name, text, _) in files {
        write(&bench, name, &format!("requestdistribution=zipfian\n{FIXED}{text}"));
        let letter = name.strip_prefix("workload").expect("a workload");
        let scanned = if letter == "e" { "-p maxscanlength=100" } else { "" };
        let line = format!("-w {letter} --records 300 --operations 400");
        let of_letter = hash(&line, letter);
        assert_eq!(hash(&format!("-P {name} {scanned}"), name), of_letter, "{name}");
    }
}

#[test]
fn a_later_property_wins_and_one_of_the_command_line_over_all() {
    let bench = Bench::new();
    write(&bench, "first", "recordcount=100\noperationcount=100\nmaxscanlength=5\n");
    write(&bench, "second", "recordcount=200\nrecordcount=250\n");
    let line = "run ycsb -P first -P second -p maxscanlength=8 -p maxscanlength=9";
    bench.succeeds(&format!("{line} -s m -e btreemap -Q -o run.json"));
    let cell = bench.run_file("run.json")["cells"][0]["cell"].clone();
    assert_eq!(cell["rows"], 250);
    let variant = "workload first · uniform · 10 fields of 100 bytes · maxscanlength=9";
    assert_eq!(cell["variant"], variant);
    // Properties without a file change the workloads with letters.
    let line = "run ycsb -w c,e -p recordcount=90 -p operationcount=80 -p maxscanlength=4";
    let table = bench.succeeds(&format!("{line} -s m -e btreemap -o two.json")).told();
    for words in ["workload C", "workload E", "maxscanlength=4"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let plan = "[[run]]\nsuite = \"ycsb\"\nengine = \"btreemap\"\nstorage = \"m\"\n\
                property-file = \"first\"\nproperty = \"fieldcount=2\"\n";
    write(&bench, "plan.toml", plan);
    let told = bench.succeeds("plan -c plan.toml -o plan.json").told();
    assert!(told.contains("2 fields of 100 bytes"), "{told}");
}

#[test]
fn what_cannot_be_honoured_is_refused_by_its_name_file_and_line() {
    for (text, said) in [
        ("readallfields=false", "readallfields=false: whole records are read; say true"),
        ("readallfieldsbyname=true", "fields are not named to read"),
        ("workload=site.ycsb.workloads.TimeSeriesWorkload", "only YCSB's CoreWorkload is run"),
        ("table=mine", "table=mine: the table is usertable; leave it out"),
        ("fieldnameprefix=f", "fields are field0, field1, …; leave it out"),
        ("fieldlengthdistribution=histogram", "must be constant, uniform or zipfian"),
        ("fieldlengthhistogram=hist.txt", "value = { histogram = … } in a workload file"),
        ("fieldlengthdistribution=uniform\nminfieldlength=3", "3 must be between 7, which say"),
        ("insertstart=5", "a cell loads all its records; say 0"),
        ("insertcount=5", "must be recordcount, 100000"),
        ("zeropadding=21", "must be a whole number between 0 and 20"),
        ("insertorder=random", "must be hashed or ordered"),
        ("core_workload_insertion_retry_limit=3", "a failed insert ends the cell; say 0"),
        ("core_workload_insertion_keep_going_on_error=true", "a failed insert ends the cell"),
        ("maxexecutiontime=60", "for a phase of seconds use a workload file"),
        ("dotransactions=false", "a cell loads its records and then runs; say true"),
        ("db=site.ycsb.BasicDB", "engines are chosen with --engine"),
        ("exportfile=out.txt", "name the run file with --output"),
        ("exporter=site.ycsb.X", "figures are in the run file"),
        ("measurementtype=raw", "latencies are kept as a histogram and over time"),
        ("measurement.raw.output_file=x", "is no property of YCSB's core workload"),
        ("hdrhistogram.percentiles=95,99", "is no property of YCSB's core workload; leave it out"),
        ("readproportoin=1", "readproportoin=1: is no property of YCSB's core workload"),
        ("columnfamily=family", "engines here have no column families"),
        ("requestdistribution=normal", "must be uniform, zipfian, latest, hotspot, sequential or"),
        ("readproportion=half", "must be a number"),
        ("readproportion=-1", "must be a share, from 0 on"),
        ("readproportion=0\nupdateproportion=0", "no operation has a share"),
        ("minscanlength=9\nmaxscanlength=3", "9 is more than maxscanlength, 3; lower it"),
        ("hotspotdatafraction=1.5", "must be a fraction between 0 and 1"),
        ("exponential.percentile=100", "must be above 0 and below 100"),
        ("writeallfields=yes", "must be true or false"),
        ("recordcount=1k", "must be a whole number between 1 and 1000000000"),
        ("recordcount=0", "must be a whole number between 1 and"),
        ("threadcount=0", "threads are 1 to 256"),
        ("fieldcount=33", "must be a whole number between 1 and 32"),
        ("fieldlength=6", "must be a whole number between 7 and"),
        ("readproportion=\\u00zz", "write NAME=VALUE"),
    ] {
        let bench = Bench::new();
        write(&bench, "wrong", &format!("# of a test\n{text}\n"));
        let line = if text.contains("\\u") { "wrong: " } else { "wrong, line " };
        bench.refuses("run ycsb -P wrong -s m -e btreemap", 2, &[line, said]);
        assert_eq!(bench.list(), ["wrong"], "nothing was made");
    }
    let bench = Bench::new();
    bench.refuses("run ycsb -p recordcount", 2, &["not NAME=VALUE"]);
    bench.refuses("run ycsb -p readallfields=false", 2, &["-p readallfields=false: whole records"]);
    bench.refuses("run ycsb -p recordcount=9 --records 8", 2, &["--records says it too"]);
    bench.refuses("run ycsb -p threadcount=2 -t 3", 2, &["--threads says it too"]);
    bench.refuses("run ycsb -P none", 3, &["none: No such file", "-P"]);
    bench.refuses("run ycsb -P /dev/zero", 3, &["is a device", "-P"]);
    bench.refuses("run ycsb -w a -P none", 2, &["--workload", "--property-file"]);
}
