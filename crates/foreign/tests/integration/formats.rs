//! Each format as its program writes it: the fixtures come from real runs (see fixtures/README.md).

use std::fs;
use std::path::{Path, PathBuf};

use cryptbench_foreign::estimator::Estimator;
use cryptbench_foreign::{Cell, Format, Measure, Run, Set, is_record, read, read_halves};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn set(name: &str) -> Set {
    read(&[fixture(name)]).unwrap_or_else(|e| panic!("{e}"))
}

fn cell<'a>(set: &'a Set, name: &str) -> &'a Cell {
    set.cells.iter().find(|c| c.key.to_string() == name).unwrap_or_else(|| {
        let names: Vec<String> = set.cells.iter().map(|c| c.key.to_string()).collect();
        panic!("no {name} in {names:#?}")
    })
}

fn only<'a>(set: &'a Set, name: &str) -> &'a Run {
    let [run] = cell(set, name).runs.as_slice() else { panic!("not one run of {name}") };
    run
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("a value");
    assert!((found / expected - 1.0).abs() < 1e-4, "{found}, not {expected}");
}

/// The remarks on a fixture, without its place.
fn remarks(set: &Set) -> String {
    set.remarks.join("\n").replace(&fixture("").display().to_string(), "")
}

/// What is said of a file with this text and name.
fn refused(text: &str, name: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    let error = read(&[path]).expect_err(text).to_string();
    error.replace(&dir.path().display().to_string(), "DIR")
}

/// What is said of a fixture that is no result.
fn refused_fixture(name: &str) -> String {
    let error = read(&[fixture(name)]).unwrap_err().to_string();
    error.replace(&fixture("").display().to_string(), "")
}

#[test]
fn fio_runs_of_a_directory_are_runs_of_one_cell() {
    let set = set("fio/plain");
    assert_eq!((set.formats.as_slice(), set.files.len()), ([Format::Fio].as_slice(), 3));
    let cell = cell(&set, "seq. read 128 KiB QD4");
    assert_eq!((set.cells.len(), cell.runs.len()), (1, 3));
    // The same through another reader of JSON.
    for run in &cell.runs {
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&run.source).unwrap()).unwrap();
        let read = &json["jobs"][0]["read"];
        near(run.bandwidth, read["bw_bytes"].as_f64().unwrap());
        near(run.iops, read["iops"].as_f64().unwrap());
        near(run.latency_us, read["lat_ns"]["mean"].as_f64().unwrap() / 1000.0);
    }
}

#[test]
fn fio_jobs_processes_and_mixes() {
    let set = set("fio/several-jobs.json");
    let names: Vec<String> = set.cells.iter().map(|c| c.key.to_string()).collect();
    assert_eq!(
        names,
        [
            "seq. read 128 KiB",
            "rand. read 4 KiB QD8 T2",
            "rand. mixed read 70 % reads 4 KiB",
            "rand. mixed write 70 % reads 8 KiB",
        ]
    );
    // The two processes of the second job together.
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(fixture("fio/several-jobs.json")).unwrap())
            .unwrap();
    let speeds = (0..).map(|i| &json["jobs"][i]).take_while(|j| j.is_object());
    let both: f64 = speeds
        .filter(|j| j["jobname"] == "randread")
        .map(|j| j["read"]["bw_bytes"].as_f64().unwrap())
        .sum();
    near(only(&set, "rand. read 4 KiB QD8 T2").bandwidth, both);
}

#[test]
fn fio_with_what_it_prints_around_its_json() {
    // `note: both iodepth >= 1 and synchronous I/O engine are selected`: one in flight, whatever was asked.
    assert!(only(&set("fio/noise.json"), "seq. write 64 KiB").bandwidth.is_some());
    assert!(only(&set("fio/normal-json.txt"), "seq. write 64 KiB").bandwidth.is_some());
    assert!(only(&set("fio/jsonplus.json"), "seq. write 64 KiB").latency_us.is_some());
    // Options of [global], and a queue depth that the engine does not heed.
    let jobs = set("fio/jobfile.json");
    assert!(only(&jobs, "seq. read 8 KiB").iops.is_some());
    assert!(only(&jobs, "rand. write 8 KiB").iops.is_some());
    // Many sizes in one job have no block size.
    assert!(only(&set("fio/bsrange.json"), "rand. write").bandwidth.is_some());
    let status = set("fio/status.json");
    assert!(only(&status, "seq. write 4 KiB").bandwidth.is_some());
    insta::assert_snapshot!(remarks(&status), @"fio/status.json: 3 interim reports (--status-interval) were left out, because the last one includes their requests");
}

#[test]
fn fio_that_failed_or_is_broken_is_refused() {
    insta::assert_snapshot!(refused_fixture("fio/failed.json"), @r#"fio/failed.json, line 2: job "w" ended with error 2: "fio's JSON""#);
    let good = fs::read_to_string(fixture("fio/jobfile.json")).unwrap();
    let cut: String = good.lines().take(40).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(refused(&cut, "cut.json"), @r#"DIR/cut.json, line 40: the JSON that begins in line 1 is broken: EOF while parsing a value at line 40 column 23: "\"min\" : 1419,""#);
    insta::assert_snapshot!(refused("{\n \"fio version\": \"fio-3\",\n \"client_stats\": []}", "c.json"), @r#"DIR/c.json, line 1: has no `jobs`; in fio's client and server mode, use the results of each client: "fio's JSON""#);
}

#[test]
fn iozone_series_of_a_directory() {
    let set = set("iozone/plain");
    // 64 to 256 KB: 5 + 6 + 7 pairs of sizes, 13 operations, three series.
    assert_eq!(set.cells.len(), 18 * 13);
    assert!(set.cells.iter().all(|c| c.runs.len() == 3));
    assert_eq!(set.remarks, Vec::<String>::new());
    let report = fs::read_to_string(fixture("iozone/plain/series-1.txt")).unwrap();
    let row = report.lines().find(|l| l.trim_start().starts_with("128      16")).unwrap();
    let numbers: Vec<f64> = row.split_whitespace().map(|w| w.parse().unwrap()).collect();
    for (i, name) in [
        "seq. write",
        "seq. rewrite",
        "seq. read",
        "seq. reread",
        "random read",
        "random write",
        "backward read",
        "record rewrite",
        "stride read",
        "seq. fwrite",
        "seq. frewrite",
        "seq. fread",
        "seq. freread",
    ]
    .iter()
    .enumerate()
    {
        let first = &cell(&set, &format!("{name} 128 KiB/16 KiB")).runs[0];
        near(first.bandwidth, numbers[i + 2] * 1024.0);
    }
}

#[test]
fn iozone_in_its_other_forms() {
    // The tables for a spreadsheet repeat the rows and are checked against them.
    assert_eq!(set("iozone/with-R.txt").cells.len(), 11 * 13);
    // Blank columns: what stands where tells.
    let few = set("iozone/few-tests.txt");
    assert_eq!(few.cells.len(), 6);
    near(only(&few, "random write 1 MiB/4 KiB").bandwidth, 4_904_018.0 * 1024.0);
    let direct = set("iozone/direct.txt");
    assert_eq!(direct.cells.len(), 4);
    near(only(&direct, "random read 1 MiB/4 KiB").bandwidth, 135_522.0 * 1024.0);
    near(only(&set("iozone/ops.txt"), "seq. write 1 MiB/4 KiB").iops, 439_912.0);
    let usecs = set("iozone/usecs.txt");
    near(only(&usecs, "seq. write 1 MiB/4 KiB").latency_us, 2.0);
    insta::assert_snapshot!(remarks(&usecs), @"iozone/usecs.txt: 3 cells that contain 0 were left out: iozone did not run them, or they were too fast for it to measure");
    assert_eq!(set("iozone/noretest.txt").cells.len(), 2);
    let threads = set("iozone/threads.txt");
    assert_eq!(threads.cells.len(), 4);
    near(only(&threads, "seq. rewrite 1 MiB/4 KiB T2").bandwidth, 4_848_500.75 * 1024.0);
}

#[test]
fn iozone_spreadsheet_alone_and_one_that_differs() {
    let whole = fs::read_to_string(fixture("iozone/with-R.txt")).unwrap();
    let (_, sheet) = whole.split_once("Excel output is below:").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sheet.txt");
    fs::write(&path, format!("\tIozone: Performance Test of File I/O\n{sheet}")).unwrap();
    let alone = read(&[path]).unwrap();
    let table = set("iozone/with-R.txt");
    assert_eq!(alone.cells.len(), table.cells.len());
    for c in &alone.cells {
        near(c.runs[0].bandwidth, cell(&table, &c.key.to_string()).runs[0].bandwidth.unwrap());
    }
    let other = whole.replacen("\"64\"   1562436", "\"64\"   1562437", 1);
    assert_ne!(other, whole);
    insta::assert_snapshot!(refused(&other, "x.txt"), @r#"DIR/x.txt, line 49: the table for a spreadsheet and the report above differ: "seq. write 64 KiB/4 KiB""#);
    let large = format!("\"{}\"", u64::MAX);
    let other =
        format!("\tIozone: Performance Test of File I/O\n{}", sheet.replacen("\"64\"", &large, 1));
    insta::assert_snapshot!(refused(&other, "x.txt"), @r#"DIR/x.txt, line 5: a size that is too large: "\"4\"  \"8\"  \"16\"  \"32\"  \"18446744073709551615\"  \"128\"  \"256\"  \"512\"  \"1024\"  \"2048""#);
}

#[test]
fn iozone_that_is_not_understood_is_refused_with_its_line() {
    let good = fs::read_to_string(fixture("iozone/few-tests.txt")).unwrap();
    insta::assert_snapshot!(refused(&good.replace("  2028027", "  fast   "), "x"), @r#"DIR/x, line 28: expected a number, not "fast": "1024       4  fast     4694950  6974549  8750850  9485232  4904018""#);
    insta::assert_snapshot!(refused(&good.replace("kBytes/sec", "furlongs"), "x"), @r#"DIR/x, line 21: expected kBytes/sec, operations per second, or microseconds per operation: "output is in furlongs""#);
    insta::assert_snapshot!(refused(&good.replace("reclen    write", "reclen   pwrite"), "x"), @r#"DIR/x, line 27: expected the columns write rewrite read reread read write read rewrite read fwrite frewrite fread freread: "kB  reclen   pwrite  rewrite    read    reread    read     write     read   rewr""#);
    insta::assert_snapshot!(refused(&good.replace("  4694950  6974549", "     4694950   6974549"), "x"), @r#"DIR/x, line 28: 6974549 is not under exactly one column of the header: "1024       4  2028027     4694950   6974549  8750850  9485232  4904018""#);
    let cut: String = good.lines().take(27).map(|l| format!("{l}\n")).collect();
    insta::assert_snapshot!(refused(&cut, "x"), @"DIR/x: an iozone report without a row of results");
}

#[test]
fn dd_logs() {
    let plain = set("dd/plain.log");
    let [copy] = plain.cells.as_slice() else { panic!("one cell") };
    assert_eq!((copy.key.to_string().as_str(), copy.runs.len()), ("seq. copy 8 MiB/64 KiB", 10));
    near(copy.runs[0].bandwidth, 8_388_608.0 / 0.006_311_6);
    near(copy.runs[1].bandwidth, 8_388_608.0 / 0.006_148_07);
    assert_eq!(copy.runs[1].line, Some(6));
    for (name, seconds) in [
        ("de_DE", 0.008_932_39),
        ("fr_FR", 0.010_665_9),
        ("zh_CN", 0.013_674),
        ("es_ES", 0.013_111_1),
    ] {
        let found = set(&format!("dd/{name}.log"));
        near(only(&found, "seq. copy 5 MiB/1 MiB").bandwidth, 5_242_880.0 / seconds);
    }
    near(
        only(&set("dd/progress.log"), "seq. copy 600 MiB/1 MiB").bandwidth,
        629_145_600.0 / 2.27693,
    );
    near(only(&set("dd/tty.log"), "seq. copy 50 MiB/1 MiB").bandwidth, 52_428_800.0 / 0.018_385_7);
    near(
        only(&set("dd/with-time.log"), "seq. copy 50 MiB/1 MiB").bandwidth,
        52_428_800.0 / 0.028_829,
    );
    near(only(&set("dd/onebyte.log"), "seq. copy 1 B/1 B").bandwidth, 1.0 / 0.000_128_686);
    let said = ["dd/nothing.log", "dd/error.log"].map(refused_fixture);
    insta::assert_snapshot!(said.join("\n"), @r#"
        dd/nothing.log, line 3: copied nothing: "0 bytes copied, 3.142e-05 s, 0.0 kB/s"
        dd/error.log, line 1: dd failed; its copy is not a result: "dd: failed to open '/nonexist': No such file or directory"
        "#);
}

#[test]
fn diskmark_in_its_three_forms() {
    let old = set("diskmark/cdm3.txt");
    assert_eq!((old.cells.len(), old.formats[0]), (8, Format::DiskMark));
    near(only(&old, "seq. read 1 MiB").bandwidth, 507.375e6);
    near(only(&old, "rand. write 4 KiB QD32").bandwidth, 98.125e6);
    near(only(&old, "rand. read 512 KiB").iops, 61.875e6 / 524_288.0);
    let six = set("diskmark/cdm6.txt");
    assert!(only(&six, "seq. read 128 KiB QD32").bandwidth.is_some());
    assert!(only(&six, "rand. read 4 KiB QD8 T8").bandwidth.is_some());
    for name in ["cdm7", "kdm1", "kdm3"] {
        let set = set(&format!("diskmark/{name}.txt"));
        assert!(only(&set, "seq. read 1 MiB QD8").latency_us.is_some(), "{name}");
    }
    let eight = set("diskmark/cdm8.txt");
    assert_eq!(eight.cells.len(), 11);
    assert!(only(&eight, "seq. mixed 70 % reads 128 KiB QD32").bandwidth.is_some());
    assert!(only(&eight, "rand. write 4 KiB QD32 T16").latency_us.is_some());
    // A test that was not run.
    insta::assert_snapshot!(remarks(&set("diskmark/kdm3.txt")), @"diskmark/kdm3.txt: line 14: 0 MB/s, a test that was not run, left out");
}

#[test]
fn diskmark_as_utf16_and_what_is_not_understood() {
    let text = fs::read_to_string(fixture("diskmark/cdm8.txt")).unwrap().replace('\n', "\r\n");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("CrystalDiskMark.txt");
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    fs::write(&path, bytes).unwrap();
    assert_eq!(read(&[path]).unwrap().cells.len(), 11);
    insta::assert_snapshot!(refused(&text.replace("[Read]", "[Erase]"), "x"), @r#"DIR/x, line 8: expected [Read], [Write] or [Mix]: "[Erase]""#);
    insta::assert_snapshot!(refused(&text.replace("[Read]", ""), "x"), @r#"DIR/x, line 9: is not in a section, so it is unknown whether it is a read or a write: "SEQ    1MiB (Q=  8, T= 1):   510.375 MB/s [    486.7 IOPS] < 16436.17 us>""#);
    insta::assert_snapshot!(refused(&text.replace("RND    4KiB (Q=  1", "RND  4QiB (Q=  1"), "x"), @r#"DIR/x, line 12: expected Sequential, SEQ, Random or RND first: "RND  4QiB (Q=  1, T= 1):    72.125 MB/s [  17608.6 IOPS] <   454.32 us>""#);
    insta::assert_snapshot!(refused(&text.replace("Profile: Default", "Gossip"), "x"), @r#"DIR/x, line 25: expected a result (`... : 543.188 MB/s [518.0 IOPS] < 15407.04 us>`), a section, or the text around them: "Gossip""#);
}

#[test]
fn nothing_else_is_taken_and_nothing_is_passed_over_in_silence() {
    insta::assert_snapshot!(refused("", "empty"), @"DIR/empty: is empty");
    insta::assert_snapshot!(refused("Dear diary\n", "diary"), @r#"DIR/diary, line 1: is not in a known format: fio's JSON (--output-format=json), an iozone report, a dd log, text of CrystalDiskMark, KDiskMark, HD Tune, Blackmagic or AJA, or a table (docs/compare.md): "Dear diary""#);
    insta::assert_snapshot!(refused("{\"schema\": \"cryptbench.record/1\"}", "record.json"), @"DIR/record.json: a \
        cryptbench record: specify it, or the directory of its run, as A or B");
    insta::assert_snapshot!(refused("a\0b", "x"), @"DIR/x: is binary; text or JSON was expected");
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.log", ".b.log"] {
        fs::copy(fixture("dd/plain.log"), dir.path().join(name)).unwrap();
    }
    let set = read(&[dir.path().to_owned()]).unwrap();
    assert_eq!(set.cells[0].runs.len(), 10);
    fs::write(dir.path().join("notes.txt"), "by hand").unwrap();
    let mixed = read(&[dir.path().to_owned()]).unwrap_err();
    let missing = cryptbench_text::chain(&read(&[dir.path().join("missing")]).unwrap_err());
    let empty = tempfile::tempdir().unwrap();
    let nothing = read(&[empty.path().to_owned()]).unwrap_err();
    let said = format!("{}\n{mixed}\n{missing}\n{nothing}", set.remarks.join("\n"))
        .replace(&dir.path().display().to_string(), "DIR")
        .replace(&empty.path().display().to_string(), "EMPTY");
    insta::assert_snapshot!(said, @r#"
        DIR/.b.log: a hidden file, left out
        DIR/notes.txt, line 1: is not in a known format: fio's JSON (--output-format=json), an iozone report, a dd log, text of CrystalDiskMark, KDiskMark, HD Tune, Blackmagic or AJA, or a table (docs/compare.md): "by hand"
        cannot read DIR/missing: No such file or directory (os error 2)
        EMPTY: holds no results
        "#);
    assert!(!is_record(&fixture("fio/jobfile.json")) && !is_record(dir.path()));
}

/// Any cut of any good file ends in a set or an error, never in a panic.
#[test]
fn no_damage_makes_a_reader_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    for name in [
        "fio/jobfile.json",
        "iozone/with-R.txt",
        "iozone/threads.txt",
        "dd/tty.log",
        "dd/zh_CN.log",
        "diskmark/cdm8.txt",
    ] {
        let good = fs::read(fixture(name)).unwrap();
        for i in (0..good.len()).step_by(good.len() / 60 + 1) {
            fs::write(&path, &good[..i]).unwrap();
            let _ = read(std::slice::from_ref(&path));
            let mut bad = good.clone();
            bad[i] = [b'"', b'9', b' ', b':', 0xff, b'-'][i % 6];
            fs::write(&path, bad).unwrap();
            let _ = read(std::slice::from_ref(&path));
        }
    }
}

#[test]
fn study_bs_log_is_two_series_of_each_storage() {
    const ZEROS: &str = "seq. copy 128 MiB/1 MiB (zeros)";
    const RANDOM: &str = "seq. copy 128 MiB/1 MiB (random)";
    // The study's means of eight, in seconds: zeros and random data.
    let is = |set: &Set, seconds: [f64; 2]| {
        assert_eq!((set.formats.as_slice(), set.cells.len()), ([Format::Dd].as_slice(), 2));
        for (name, seconds) in [ZEROS, RANDOM].into_iter().zip(seconds) {
            let speeds: Vec<f64> =
                cell(set, name).runs.iter().filter_map(|r| r.bandwidth).collect();
            assert_eq!(speeds.len(), 10, "{name}");
            let figure = Estimator::TrimmedMean.of(&speeds, Measure::Bandwidth, Format::Dd);
            near(figure, 134_217_728.0 / seconds);
        }
    };
    let (plain, encrypted) = ([8.922, 9.494], [77.847, 70.904]);
    is(&set("dd/study-b/plain.log"), plain);
    is(&set("dd/study-b/encrypted.log"), encrypted);
    let both = fixture("dd/study-b/both.log");
    let (a, b) = read_halves(&both).unwrap();
    is(&a, plain);
    is(&b, encrypted);
    assert!(a.label.ends_with("both.log (first pass, taken as plain)"), "{}", a.label);
    // Beside another file its passes are runs of one place.
    let merged = set("dd/study-b/both.log");
    assert_eq!(cell(&merged, ZEROS).runs.len(), 20);
    insta::assert_snapshot!(remarks(&merged), @"dd/study-b/both.log: two passes of study B's script, taken as runs on one location; if one is of plain and the other of encrypted storage, compare the file by itself");
}

#[test]
fn banners_of_equal_signs_head_series_too() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("banners.log");
    let read = |text: &str| {
        fs::write(&log, text).unwrap();
        read(std::slice::from_ref(&log)).unwrap()
    };
    let copy = "1+0 records in\n1+0 records out\n1048576 bytes transferred in 1.0 secs (1048576 bytes/sec)\n";
    let begin = "===== bench start =====\n";
    let set = read(&format!("{begin}{copy}{copy}{begin}{copy}===== bench end =====\n"));
    let series: Vec<_> =
        set.cells.iter().map(|c| (c.key.name.clone().unwrap(), c.runs.len())).collect();
    assert_eq!(series, [("zeros".to_owned(), 2), ("random".to_owned(), 1)]);
    assert_eq!(set.remarks.len(), 1);
    let named = format!("===== bench start: urandom =====\n{copy}===== if=/dev/zero =====\n{copy}");
    let names: Vec<_> = read(&named).cells.iter().map(|c| c.key.name.clone().unwrap()).collect();
    assert_eq!(names, ["random", "zeros"]);
}

#[test]
fn what_study_bs_log_names_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("named.log");
    let report = " .. round 1 .. \n1+0 records in\n1+0 records out\n1048576 bytes transferred in 1.0 secs (1048576 bytes/sec)\n";
    let text = format!(" *** urandom *** \n{report} *** if=/dev/zero *** \n{report}");
    fs::write(&log, &text).unwrap();
    let named = read(std::slice::from_ref(&log)).unwrap();
    let names: Vec<_> = named.cells.iter().map(|c| c.key.name.clone().unwrap()).collect();
    assert_eq!((names, named.remarks.len()), (vec!["random".to_owned(), "zeros".to_owned()], 0));
    let error = read_halves(&log).unwrap_err().to_string();
    assert!(error.contains("does not contain both plain and encrypted storage"), "{error}");
    // Nothing names the data.
    fs::write(&log, format!("{report}{report}")).unwrap();
    let set = read(std::slice::from_ref(&log)).unwrap();
    let names: Vec<_> = set.cells.iter().map(|c| c.key.name.clone().unwrap()).collect();
    assert_eq!((names, set.remarks.len()), (vec!["zeros".to_owned(), "random".to_owned()], 1));
    // The storage is named: it is not mixed.
    fs::write(&log, format!(" *** encrypted *** \n{text} *** unencrypted *** \n{text}")).unwrap();
    let (plain, encrypted) = read_halves(&log).unwrap();
    assert_eq!([plain.cells.len(), encrypted.cells.len()], [2, 2]);
    assert!(plain.cells[0].runs[0].line > encrypted.cells[0].runs[0].line);
    let error = read(&[log]).unwrap_err().to_string();
    assert!(error.contains("compare this file by itself"), "{error}");
}

#[test]
fn hd_tunes_text_has_the_keys_of_its_profile() {
    let set = set("hdtune/benchmark.txt");
    assert_eq!(set.formats, [Format::HdTune]);
    let key = |pattern: &str, name: Option<&str>| {
        let found =
            set.cells.iter().find(|c| c.key.pattern == pattern && c.key.name.as_deref() == name);
        found.unwrap().runs[0].clone()
    };
    near(key("sampled", None).bandwidth, 308.1e6);
    near(key("sampled", Some("minimum")).bandwidth, 120.5e6);
    near(key("same", None).bandwidth, 196.7e6);
    near(key("random", None).latency_us, 400.0);
    insta::assert_snapshot!(remarks(&set), @"hdtune/benchmark.txt: line 8: CPU usage 27.2 %, which is not compared");
    let odd =
        "HD Tune: X Benchmark\nTransfer Rate Average : 3.1 MB/sec\nTransfer Rate Average : fast\n";
    insta::assert_snapshot!(refused(odd, "odd.txt"), @r#"DIR/odd.txt, line 3: expected a number and MB/sec: "Transfer Rate Average : fast""#);
    // HD Tune Pro's, where the decimal point is a comma.
    let pro = self::set("hdtune/pro-write.txt");
    near(only(&pro, "sampled write 64 KiB").bandwidth, 79.9e6);
    near(only(&pro, "rand. write 512 B").latency_us, 13_100.0);
    insta::assert_snapshot!(remarks(&pro), @"
        hdtune/pro-write.txt: line 3: only a part of the disk: 250 gB
        hdtune/pro-write.txt: line 11: CPU usage 2.1 %, which is not compared
        ");
}

#[test]
fn attos_table_with_units_beside_values_or_in_columns() {
    let window = set("atto/window.csv");
    assert_eq!((window.formats[0], window.cells.len()), (Format::Atto, 6));
    near(only(&window, "seq. write 512 B").bandwidth, 188.32 * 1024.0);
    near(only(&window, "seq. read 512 B").bandwidth, 7.31 * 1_048_576.0);
    let both = set("atto/both.txt");
    near(only(&both, "seq. read 4 KiB").bandwidth, 53.88 * 1_048_576.0);
    near(only(&both, "seq. read 4 KiB").iops, 13_790.0);
    insta::assert_snapshot!(refused("I/O Size,Write,Read\nbig,1 MB/s,2 MB/s\n", "a.csv"), @r#"DIR/a.csv, line 2: expected a size such as 512 B or 64 KB first: "big,1 MB/s,2 MB/s""#);
    insta::assert_snapshot!(refused("I/O Size,Write,Read,Mood\n4 KB,1,2,3\n", "a.csv"), @r#"DIR/a.csv, line 1: "mood" is not a column of ATTO's output: write or read, with MB/s or IO/s in brackets: "I/O Size,Write,Read,Mood""#);
}

#[test]
fn anvils_table_has_halves() {
    let set = set("anvil/window.csv");
    assert_eq!((set.formats[0], set.cells.len()), (Format::Anvil, 5));
    near(only(&set, "seq. read 4 MiB").bandwidth, 492.8 * 1_048_576.0);
    near(only(&set, "rand. read 4 KiB QD16").iops, 80_000.0);
    near(only(&set, "rand. write 4 KiB").latency_us, 50.0);
    insta::assert_snapshot!(refused("Test,IOPS\n4K,1\n", "a.csv"), @r#"DIR/a.csv, line 2: is neither a read nor a write: a row `Read` or `Write` must precede it: "4K,1""#);
    insta::assert_snapshot!(refused("Read\nTest,IOPS\n5Q,1\n", "a.csv"), @r#"DIR/a.csv, line 3: expected one of Anvil's tests: Seq 4MB, 4K, 4K QD4, 4K QD16, 32K or 128K: "5Q,1""#);
}

#[test]
fn two_figures_of_video_programs() {
    let blackmagic = set("dials/blackmagic.txt");
    near(only(&blackmagic, "seq. write").bandwidth, 512.3e6);
    near(only(&set("dials/aja.txt"), "seq. read").bandwidth, 530.5e6);
    insta::assert_snapshot!(refused("AJA System Test\nDisk Wrote: 5 MB/sec\n", "a.txt"), @r#"DIR/a.txt, line 2: expected `WRITE 512.3 MB/s` or `READ 498 MB/s`; a comment begins with #: "Disk Wrote: 5 MB/sec""#);
}

#[test]
fn a_table_of_our_own_columns() {
    let set = set("table/ours.csv");
    assert_eq!((set.formats[0], set.cells.len()), (Format::Table, 2));
    assert_eq!(cell(&set, "rand. read 4 KiB QD32").runs.len(), 2);
    near(only(&set, "seq. write 1 MiB").latency_us, 1900.0);
    insta::assert_snapshot!(refused("operation,speed\nread,5\n", "t.csv"), @r#"DIR/t.csv, line 1: there is no column "speed"; the columns are operation, pattern, block_size, file_size, queue_depth, threads, read_percent, name, mb_s, mib_s, iops, latency_us, latency_ms: "operation,speed""#);
    insta::assert_snapshot!(refused("operation,mb_s\nread,fast\n", "t.csv"), @r#"DIR/t.csv, line 2: mb_s: "fast" is not valid in this column: "read,fast""#);
    insta::assert_snapshot!(refused("operation,mb_s\nread,\n", "t.csv"), @r#"DIR/t.csv, line 2: has no figure: "read""#);
    insta::assert_snapshot!(refused("some words of nobody\n", "t.txt"), @r#"DIR/t.txt, line 1: is not in a known format: fio's JSON (--output-format=json), an iozone report, a dd log, text of CrystalDiskMark, KDiskMark, HD Tune, Blackmagic or AJA, or a table (docs/compare.md): "some words of nobody""#);
}

/// Where the folders of faults that people reported are beside the repository, each says what is
/// right. Their files are fixtures here, too.
#[test]
fn fio_states_nothing_by_silence() {
    // fio 2.2.10 prints no options: 1,638,400 KiB / 25,600 requests = 64 KiB; 163,840 KiB/s.
    let two = set("fio/untold/fio22-A.json");
    let run = only(&two, "read 64 KiB");
    near(run.bandwidth, 163_840.0 * 1024.0);
    let key = &two.cells[0].key;
    assert_eq!((key.pattern.as_str(), key.queue_depth, key.threads), ("", None, None));
    insta::assert_snapshot!(remarks(&two), @r#"fio/untold/fio22-A.json: job "randread-64k-qd32": the JSON does not contain rw, so it is unknown whether the access was sequential or random; other missing options are also unknown"#);
    // Four processes of one job, which fio 3.3 prints without numjobs, are one run:
    // (40,714 + 40,878 + 41,041 + 41,205) KiB/s = 167.77 MB/s, and 156.0 MB/s on the other side.
    let [a, b] = ["A", "B"].map(|s| set(&format!("fio/untold/fio33-{s}.json")));
    near(only(&a, "rand. read 4 KiB T4").bandwidth, 163_838.0 * 1024.0);
    assert!((only(&b, "rand. read 4 KiB T4").bandwidth.unwrap() / 156.0e6 - 1.0).abs() < 1e-3);
    let compared = cryptbench_foreign::compare::compare(&a, &b, Default::default());
    assert!(compared.cells[0].interval.is_none());
}

#[test]
fn fio_sizes_come_from_its_counts() {
    // kb_base=1000: 876,328,000 / 219,082 = 4,000.
    assert!(only(&set("fio/kb1000.json"), "seq. read 4000 B").iops.is_some());
    assert!(only(&set("fio/kb1024.json"), "seq. read 4 KiB").iops.is_some());
    // A group is one object, with the options of its last job (a write of 1 MiB): 952,291,328 /
    // 232,493 = 4,096 for the other's reads, whose pattern is not known.
    let group = set("fio/group.json");
    near(only(&group, "read 4 KiB").iops, 231_797.607_178);
    near(only(&group, "write 1 MiB").bandwidth, 1_490_633_014.0);
    insta::assert_snapshot!(remarks(&group), @r#"fio/group.json: job "rd": the sum of several jobs (group_reporting), for which fio prints the options of the last; pattern, queue depth and processes are not known. Run them without group_reporting, or each after stonewall"#);
    // A group of a job file names no job in its options; two jobs of 1 s took 2 s.
    let file = set("fio/group-of-file.json");
    assert_eq!(file.cells[0].key.to_string(), "read 4 KiB");
    let text = fs::read_to_string(fixture("fio/kb1024.json")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    // fio takes each of these as 4,096 bytes.
    for stated in ["4Ki", "0x1000", "4096"] {
        fs::write(&path, text.replace("\"4k\"", &format!("\"{stated}\""))).unwrap();
        let set = read(std::slice::from_ref(&path)).unwrap();
        assert_eq!(set.cells[0].key.block_size, Some(4096), "{stated}");
    }
}

#[test]
fn fio_mixes_and_unified_reports() {
    // unified_rw_reporting=1: 77,484,032 bytes in 18,917 requests and 1.001 s = 77.4 MB/s.
    let unified = set("fio/unified.json");
    let run = only(&unified, "rand. mixed 4 KiB");
    near(run.bandwidth, 77_406_625.0);
    near(run.iops, 18_898.101_898);
    let text = fs::read_to_string(fixture("fio/several-jobs.json")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    for (stated, percent) in [("0.0", Some(0)), ("33.4", Some(33)), ("half", None)] {
        fs::write(
            &path,
            text.replace("\"rwmixread\" : \"70\"", &format!("\"rwmixread\" : \"{stated}\"")),
        )
        .unwrap();
        let set = read(std::slice::from_ref(&path)).unwrap();
        let mixed = set.cells.iter().find(|c| c.key.operation == "mixed read").unwrap();
        assert_eq!(mixed.key.read_percent, percent, "{stated}");
    }
    // Not stated: 70 of 111 requests were reads.
    fs::write(&path, text.replace("\"rwmixread\" : \"70\",", "")).unwrap();
    let set = read(&[path]).unwrap();
    let mixed = set.cells.iter().find(|c| c.key.operation == "mixed read").unwrap();
    assert_eq!(mixed.key.read_percent, Some(63));
}

#[test]
fn dd_of_other_programs_and_older_versions() {
    // 1,073,741,824 bytes / 2.5 s = 429,496,730 B/s, in blocks of 1 MiB.
    for name in ["zh-old", "zh-gbk", "ru-old", "ja-old", "truncated", "toybox", "busybox", "macos"]
    {
        let set = set(&format!("dd/{name}.log"));
        near(only(&set, "seq. copy 1 GiB/1 MiB").bandwidth, 429_496_729.6);
    }
    // Seconds of one digit: the printed 2.4 GB/s, not 1,073,741,824 / 0.4 = 2.68 GB/s.
    near(only(&set("dd/uu-old.log"), "seq. copy 1 GiB/1 MiB").bandwidth, 2.4e9);
}

#[test]
fn diskmark_of_two_reports_is_refused() {
    let mut said = vec![refused_fixture("diskmark/cdm-paste.txt")];
    near(only(&set("diskmark/cdm-enc.txt"), "seq. read 1 MiB QD8").bandwidth, 400e6);
    for name in ["cdm3", "cdm6", "cdm7", "cdm8", "kdm1", "kdm3"] {
        let one = fs::read_to_string(fixture(&format!("diskmark/{name}.txt"))).unwrap();
        said.push(refused(&format!("{one}\n{one}"), name));
        // Titles cut off, as people quote results.
        let bare: Vec<&str> =
            one.lines().filter(|l| l.contains("MB/s") || l.starts_with('[')).collect();
        let bare = bare.join("\n");
        said.push(refused(&format!("{bare}\n{bare}"), name));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
        diskmark/cdm-paste.txt, line 18: a second report begins here, but a file may contain only one: save each report in a separate file: "[Read]"
        DIR/cdm3, line 21: a second report begins here, but a file may contain only one: save each report in a separate file: "CrystalDiskMark 3.0.1 x64 (C) 2007-2010 hiyohiyo"
        DIR/cdm3, line 11: a second report begins here, but a file may contain only one: save each report in a separate file: "Sequential Read :   507.375 MB/s"
        DIR/cdm6, line 22: a second report begins here, but a file may contain only one: save each report in a separate file: "CrystalDiskMark 6.0.2 x64 (C) 2007-2018 hiyohiyo"
        DIR/cdm6, line 11: a second report begins here, but a file may contain only one: save each report in a separate file: "Sequential Read (Q= 32,T= 1) :   508.375 MB/s"
        DIR/cdm7, line 26: a second report begins here, but a file may contain only one: save each report in a separate file: "CrystalDiskMark 7.0.0 x64 (C) 2007-2019 hiyohiyo"
        DIR/cdm7, line 13: a second report begins here, but a file may contain only one: save each report in a separate file: "[Read]"
        DIR/cdm8, line 34: a second report begins here, but a file may contain only one: save each report in a separate file: "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo"
        DIR/cdm8, line 17: a second report begins here, but a file may contain only one: save each report in a separate file: "[Read]"
        DIR/kdm1, line 13: a second report begins here, but a file may contain only one: save each report in a separate file: "KDiskMark (1.6.0): https://github.com/JonMagon/KDiskMark"
        DIR/kdm1, line 8: a second report begins here, but a file may contain only one: save each report in a separate file: "[Read]"
        DIR/kdm3, line 16: a second report begins here, but a file may contain only one: save each report in a separate file: "KDiskMark (3.0.0): https://github.com/JonMagon/KDiskMark"
        DIR/kdm3, line 10: a second report begins here, but a file may contain only one: save each report in a separate file: "[Read]"
        "#);
}
