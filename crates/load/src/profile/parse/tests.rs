//! Tests what the parser of profiles accepts and refuses, and its messages.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::super::{
    BlockWork, Cache, FileAction, FileSizes, FileUse, FileWork, Headline, UnlockWork, WorkAmount,
};
use super::*;
use crate::{Content, Direction, Flush, Operation, Pattern, Rate, Start};

const GOOD: &str = r#"name = "mine"
description = "One workload."

[[workload]]
id = "a"
label = "seq. read 1 MiB QD1"
operation = "read"
pattern = "sequential"
block_size = "1MiB"
queue_depth = 1
headline = "bandwidth"
"#;

#[test]
fn a_profile_becomes_what_it_says() {
    let p = Profile::from_toml(GOOD, "x").unwrap();
    assert_eq!(p.name, "mine");
    assert_eq!(
        p.workloads,
        [WorkloadSpec {
            id: "a".into(),
            label: "seq. read 1 MiB QD1".into(),
            work: Work::Block(BlockWork::new(
                Operation::Read.into(),
                Pattern::Sequential,
                1 << 20,
                1,
            )),
            headline: Headline::Bandwidth,
        }]
    );
}

/// Each defect: what to replace, and its replacement.
#[test]
fn defects_name_origin_line_field_and_remedy() {
    let mut said = String::new();
    for (from, to) in [
        ("\"1MiB\"", "\"0\""),
        ("\"1MiB\"", "\"1000B\""),
        ("\"1MiB\"", "\"2GiB\""),
        ("\"1MiB\"", "\"1MB\""),
        ("\"1MiB\"", "1048576"),
        ("queue_depth = 1", "queue_depth = 0"),
        ("queue_depth = 1", "queue_depth = 1025"),
        ("queue_depth = 1", "queue_depth = -3"),
        ("queue_depth", "queue_deep"),
        ("\"read\"", "\"trim\""),
        ("\"sequential\"", "\"stride\""),
        ("\"bandwidth\"", "\"speed\""),
        ("id = \"a\"", "id = \"A b\""),
        ("QD1\"", "QD1, and more\""),
        ("\"One workload.\"", "\"\""),
        ("\"One workload.\"", "\"a\\nb\""),
        ("name = \"mine\"", "name = \"\""),
        ("name = \"mine\"\n", ""),
        ("[[workload]]", "[[workload"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let e = Profile::from_toml(&text, "my.toml").unwrap_err();
        writeln!(said, "{from:?} -> {to:?}\n    {e}").unwrap();
    }
    insta::assert_snapshot!(said);
}

#[test]
fn duplicate_ids_are_refused() {
    let second = &GOOD[GOOD.find("[[").unwrap()..];
    let e = Profile::from_toml(&format!("{GOOD}\n{second}"), "x").unwrap_err().to_string();
    assert_eq!(e, "x, line 14: id 'a' is also used on line 5; give each workload its own");
}

#[test]
fn a_profile_without_workloads_is_refused() {
    let text = "name = \"a\"\ndescription = \"b\"\nworkload = []\n";
    insta::assert_snapshot!(Profile::from_toml(text, "x").unwrap_err(), @"x, line 3: workload is empty; add at least one [[workload]] or [[sweep]]");
}

/// A block workload with these additional keys, on line 12 and following lines.
#[track_caller]
fn block(keys: &str) -> BlockWork {
    let p = Profile::from_toml(&format!("{GOOD}{keys}\n"), "x").unwrap_or_else(|e| panic!("{e}"));
    let [WorkloadSpec { work: Work::Block(work), .. }] = &p.workloads[..] else { panic!("{p:?}") };
    work.clone()
}

#[test]
fn threads_may_be_as_many_as_processors() {
    let cpus = std::thread::available_parallelism().unwrap().get().min(16) as u32;
    assert_eq!(block("threads = \"cpus\"").threads, cpus);
    assert_eq!(block("threads = 3").threads, 3);
    let text = format!("{GOOD}threads = \"all\"\n");
    let e = Profile::from_toml(&text, "x").unwrap_err().to_string();
    assert_eq!(e, "x, line 12: threads is a string; use 1 to 256");
}

fn with(from: &str, to: &str, keys: &str) -> String {
    format!("{}{keys}\n", GOOD.replacen(from, to, 1))
}

#[track_caller]
fn block_in(text: &str) -> BlockWork {
    let p = Profile::from_toml(text, "x").unwrap_or_else(|e| panic!("{e}"));
    let Work::Block(work) = &p.workloads[0].work else { panic!("{p:?}") };
    work.clone()
}

#[test]
fn every_key_of_requests_is_read() {
    let write = |keys: &str| block_in(&with("\"read\"", "\"write\"", keys));
    let pattern = |name: &str, keys: &str| {
        block_in(&with("\"sequential\"", &format!("\"{name}\""), keys)).pattern
    };
    assert_eq!(block("kind = \"block\""), block(""));
    let mixed = block_in(&with("\"read\"", "\"mixed\"", "read_percent = 70"));
    assert_eq!(mixed.direction, Direction::Mixed { read_percent: 70 });
    assert_eq!(pattern("random", ""), Pattern::Random);
    assert_eq!(pattern("zipf", "theta = 1.1"), Pattern::Zipf { theta: 1.1 });
    assert_eq!(pattern("zipf", "theta = 1"), Pattern::Zipf { theta: 1.0 });
    assert_eq!(pattern("permutation", ""), Pattern::Permutation);
    assert_eq!(pattern("backward", ""), Pattern::Backward);
    assert_eq!(pattern("strided", "stride = 17"), Pattern::Strided { stride: 17 });
    assert_eq!(pattern("same", ""), Pattern::Same);
    assert_eq!(pattern("sampled", "points = 9\nrun = 3"), Pattern::Sampled { points: 9, run: 3 });
    assert_eq!(block("start = \"first\"").start, Start::First);
    assert_eq!(block("start = \"seeded\"").start, Start::Seeded);
    assert_eq!(block("threads = 16").threads, 16);
    assert_eq!(block("amount = \"10MiB\"").amount, WorkAmount::Bytes(10 << 20));
    let whole = block("amount = \"whole\"");
    assert_eq!((whole.amount, whole.file), (WorkAmount::Whole, FileUse::Scratch(None)));
    let pass = block("amount = \"file\"\nfile_size = \"3MiB\"");
    assert_eq!(
        (pass.amount, pass.file),
        (WorkAmount::Bytes(3 << 20), FileUse::Scratch(Some(3 << 20)))
    );
    let fresh =
        write("file = \"fresh\"\nfile_size = \"4MiB\"\namount = \"2MiB\"\nflush = \"at-end\"");
    assert_eq!((fresh.file, fresh.flush), (FileUse::Fresh(4 << 20), Flush::AtEnd));
    assert_eq!(write("flush = \"never\"").flush, Flush::Never);
    assert_eq!(write("flush = \"each-write\"").flush, Flush::EachWrite);
    let every = Flush::Every { writes: 8, data_only: false, drained: true };
    assert_eq!(write("flush = \"every\"\nflush_writes = 8").flush, every);
    let every = Flush::Every { writes: 1, data_only: true, drained: true };
    assert_eq!(write("flush = \"every\"\nflush_writes = 1\nflush_data_only = true").flush, every);
    assert_eq!(write("content = \"zeros\"").content, Content::Zeros);
    assert_eq!(write("content = \"random\"").content, Content::Random);
    let half = write("content = \"compressible\"\ncompressible_percent = 50").content;
    assert_eq!(half, Content::Compressible { percent: 50 });
    assert_eq!(block("rate = \"10MiB\"").rate, Some(Rate::Bytes(10.0 * 1_048_576.0)));
    assert_eq!(block("rate_iops = 2.5").rate, Some(Rate::Requests(2.5)));
    assert_eq!(block("samples = 200").samples, 200);
    assert_eq!(block("cache = \"warm\"").cache, Cache::Warm);
    assert_eq!(block("cache = \"cold\"").cache, Cache::Cold);
    assert!(block("stdio = true").stdio);
    assert!(!block("stdio = false").stdio);
}

const HEAD: &str = "name = \"mine\"\ndescription = \"d\"\n";

#[test]
fn files_and_volumes_are_read() {
    let files = |action: &str, sizes: &str| {
        let text = format!(
            "{HEAD}[[workload]]\nid = \"a\"\nlabel = \"a\"\nkind = \"files\"\nheadline = \"files\"\n\
             action = \"{action}\"\ncount = 10\n{sizes}"
        );
        Profile::from_toml(&text, "x").unwrap_or_else(|e| panic!("{e}")).workloads[0].work.clone()
    };
    let fixed = FileSizes::Fixed(1000);
    for action in FileAction::ALL {
        let wanted = Work::Files(FileWork { action: *action, count: 10, sizes: fixed });
        assert_eq!(files(action.as_str(), "file_size = \"1000\""), wanted);
    }
    let sizes = FileSizes::LogNormal { median: 4096, sigma: 1.5 };
    let wanted = Work::Files(FileWork { action: FileAction::Read, count: 10, sizes });
    assert_eq!(files("read", "file_size_median = \"4KiB\"\nfile_size_sigma = 1.5"), wanted);
    for (passphrase, right) in [("right", true), ("wrong", false)] {
        for (prf, prf_known) in [("known", true), ("unknown", false)] {
            let text = format!(
                "{HEAD}[[workload]]\nid = \"a\"\nlabel = \"a\"\nkind = \"unlock\"\n\
                 headline = \"seconds\"\npassphrase = \"{passphrase}\"\nprf = \"{prf}\""
            );
            let p = Profile::from_toml(&text, "x").unwrap();
            assert_eq!(p.workloads[0].work, Work::Unlock(UnlockWork { right, prf_known }));
        }
    }
}

#[test]
fn every_key_of_a_profile_is_read() {
    let keys = "presentation = \"bars\"\nbuffered = true\nsize = \"256MiB\"\ntrial_s = 1.5\ntrials = 5\n\
                ramp_s = 2\npause_s = 3\nround_pause_s = 180\nestimator = \"trimmed-mean\"\n";
    let p = Profile::from_toml(&format!("{keys}{GOOD}"), "x").unwrap();
    assert_eq!((p.presentation, p.buffered), (Presentation::Bars, true));
    assert_eq!((p.size, p.trial_s, p.trials), (Some(256 << 20), Some(1.5), Some(5)));
    assert_eq!((p.ramp_s, p.pause_s, p.round_pause_s), (Some(2.0), 3.0, 180.0));
    assert_eq!(p.estimator, Some(Estimator::TrimmedMean));
    let p = Profile::from_toml(GOOD, "x").unwrap();
    assert_eq!((p.presentation, p.buffered), (Presentation::Table, false));
    assert_eq!((p.size, p.trial_s, p.trials, p.ramp_s), (None, None, None, None));
    assert_eq!((p.pause_s, p.round_pause_s, p.estimator), (0.0, 0.0, None));
    for presentation in Presentation::ALL {
        let text = format!("presentation = \"{}\"\n{GOOD}", presentation.as_str());
        assert_eq!(Profile::from_toml(&text, "x").unwrap().presentation, *presentation);
    }
}

/// Additional keys of the workload from line 12 on; each of them is invalid.
#[test]
fn keys_that_make_no_sense_are_refused() {
    let mut said = String::new();
    for (operation, keys) in [
        ("read", "kind = \"tape\""),
        ("read", "theta = 1"),
        ("read", "read_percent = 50"),
        ("mixed", ""),
        ("mixed", "read_percent = 100"),
        ("read", "threads = 257"),
        ("read", "threads = 1.5"),
        ("read", "amount = \"0\""),
        ("read", "amount = \"all\""),
        ("read", "amount = \"file\""),
        ("read", "amount = \"whole\"\nfile_size = \"4MiB\""),
        ("read", "file = \"old\""),
        ("read", "file = \"fresh\"\nfile_size = \"1MiB\""),
        ("write", "file = \"fresh\""),
        ("write", "file = \"fresh\"\nfile_size = \"2MiB\""),
        ("write", "file = \"fresh\"\nfile_size = \"1536KiB\"\namount = \"file\""),
        ("write", "file = \"fresh\"\nfile_size = \"1MiB\"\namount = \"2MiB\""),
        ("read", "file_size = \"512KiB\""),
        ("read", "flush = \"each-write\""),
        ("write", "flush = \"at-end\""),
        ("write", "flush = \"every\""),
        ("write", "flush = \"every\"\nflush_writes = 0"),
        ("write", "flush_writes = 8"),
        ("write", "content = \"text\""),
        ("write", "content = \"compressible\""),
        ("read", "rate = \"1MiB\"\nrate_iops = 5"),
        ("read", "rate_iops = 0"),
        ("read", "rate_iops = nan"),
        ("read", "samples = 1000000"),
        ("read", "cache = \"hot\""),
        ("read", "stdio = 1"),
        ("read", "stdio = true\nthreads = 2"),
        ("mixed", "read_percent = 1\nstdio = true"),
        ("write", "stdio = true\nflush = \"each-write\""),
        ("read", "count = 5"),
        ("read", "count = 99999999999999999999"),
        ("read", "start = 07:32:00"),
        ("read", "start = [\"first\"]"),
        ("read", "start = { from = 1 }"),
    ] {
        let text = with("\"read\"", &format!("\"{operation}\""), keys);
        let e = Profile::from_toml(&text, "my.toml").unwrap_err();
        writeln!(said, "{operation} {keys:?}\n    {e}").unwrap();
    }
    for (pattern, keys) in [
        ("zipf", ""),
        ("zipf", "theta = 0"),
        ("strided", ""),
        ("strided", "stride = 1"),
        ("sampled", "points = 10"),
        ("sampled", "points = 10\nrun = 0"),
        ("sampled", "points = 10\nrun = 2\nfile_size = \"19MiB\""),
        ("random", "stdio = true"),
    ] {
        let text = with("\"sequential\"", &format!("\"{pattern}\""), keys);
        let e = Profile::from_toml(&text, "my.toml").unwrap_err();
        writeln!(said, "{pattern} {keys:?}\n    {e}").unwrap();
    }
    for keys in [
        "presentation = \"pie\"",
        "estimator = \"median\"",
        "buffered = \"yes\"",
        "size = \"1000\"",
        "size = \"512KiB\"",
        "trial_s = 0",
        "trials = 0",
        "pause_s = -1",
        "pause_s = inf",
        "colour = \"red\"",
        "sweep = 5",
        "sweep = [5]",
    ] {
        let e = Profile::from_toml(&format!("{keys}\n{GOOD}"), "my.toml").unwrap_err();
        writeln!(said, "{keys:?}\n    {e}").unwrap();
    }
    for (headline, kind) in [
        ("files", ""),
        ("iops", "kind = \"files\"\naction = \"stat\"\ncount = 1\nfile_size = \"1\""),
    ] {
        let text =
            format!("{HEAD}[[workload]]\nid = \"a\"\nlabel = \"a\"\nheadline = \"{headline}\"\n");
        let keys = if kind.is_empty() {
            "operation = \"read\"\npattern = \"same\"\nblock_size = \"4KiB\""
        } else {
            kind
        };
        let e = Profile::from_toml(&(text + keys), "x").unwrap_err();
        writeln!(said, "headline {headline}\n    {e}").unwrap();
    }
    insta::assert_snapshot!(said);
}

const SWEEP: &str = r#"name = "mine"
description = "A sweep."

[[sweep]]
id = "{operation}-{case}-{block_size}"
label = "{case} {operation} {block_size}"
headline = "bandwidth"
operation = ["write", "read"]
block_size = { from = "64KiB", to = "1MiB" }
file_size = "512KiB"

[[sweep.case]]
name = "seq"
pattern = "sequential"

[[sweep.case]]
name = "str"
label = "strided"
pattern = "strided"
stride = 3
"#;

#[test]
fn a_sweep_is_every_combination_in_order() {
    let p = Profile::from_toml(SWEEP, "x").unwrap();
    let ids: Vec<_> = p.workloads.iter().map(|w| w.id.as_str()).collect();
    // 64, 128, 256 and 512 KiB; 1 MiB is larger than the file.
    let mut wanted = Vec::new();
    for operation in ["write", "read"] {
        for block in ["64k", "128k", "256k", "512k"] {
            for case in ["seq", "str"] {
                wanted.push(format!("{operation}-{case}-{block}"));
            }
        }
    }
    assert_eq!(ids, wanted);
    assert_eq!(p.workloads[3].label, "strided write 128 KiB");
    let work = BlockWork {
        file: FileUse::Scratch(Some(512 << 10)),
        ..BlockWork::new(Direction::Write, Pattern::Strided { stride: 3 }, 128 << 10, 1)
    };
    assert_eq!(p.workloads[3].work, Work::Block(work));
}

#[test]
fn grids_are_swept_one_after_the_other_and_workloads_keep_their_order() {
    let text = SWEEP
        .replace("block_size = { from = \"64KiB\", to = \"1MiB\" }\nfile_size = \"512KiB\"\n", "")
        .replace("{block_size}\"\nlabel", "{block_size}-{queue_depth}\"\nlabel")
        + "[[sweep.grid]]\nblock_size = [\"8KiB\"]\nqueue_depth = [4, 1]\n\
           [[sweep.grid]]\nblock_size = \"4KiB\"\nqueue_depth = 2\n";
    let last = GOOD[GOOD.find("[[").unwrap()..].to_owned();
    let p = Profile::from_toml(&format!("{text}{last}"), "x").unwrap();
    let ids: Vec<_> = p.workloads.iter().map(|w| w.id.as_str()).collect();
    assert_eq!(ids.len(), 2 * 2 * 2 + 2 * 2 + 1);
    assert_eq!(ids[0], "write-seq-8k-4");
    assert_eq!(ids[7], "read-str-8k-1");
    assert_eq!(ids[8], "write-seq-4k-2");
    assert_eq!(ids[12], "a");
}

/// What to replace in the sweep, and its replacement.
#[test]
fn defects_of_sweeps_name_their_line() {
    let mut said = String::new();
    for (from, to) in [
        ("{operation}-{case}", "{operation}"),
        ("{operation}-{case}", "{op}-{case}"),
        ("{operation}-{case}", "{operation-{case}"),
        ("-{block_size}\"\nlabel", "-{block_size\"\nlabel"),
        ("{operation}-{case}", "{operation} {case}"),
        ("{case} {operation}", "{case} and {operation}"),
        ("id = \"{operation}-{case}-{block_size}\"\n", ""),
        ("\"write\", \"read\"", ""),
        ("\"write\", \"read\"", "\"write\", \"erase\""),
        ("\"write\", \"read\"", "\"write\", 5"),
        ("\"64KiB\", to", "\"96KiB\", to"),
        ("\"64KiB\", to", "\"2MiB\", to"),
        ("\"64KiB\", to", "\"64\", upto = 1, to"),
        ("from = \"64KiB\", ", ""),
        ("\"512KiB\"", "\"32KiB\""),
        ("file_size", "file_sizes"),
        ("name = \"seq\"\n", ""),
        ("stride = 3", "stride = [3, 4]"),
        ("stride = 3", "operation = \"read\""),
        ("stride = 3", ""),
    ] {
        let text = SWEEP.replacen(from, to, 1);
        assert_ne!(text, SWEEP, "{from}");
        let e = Profile::from_toml(&text, "my.toml").unwrap_err();
        writeln!(said, "{from:?} -> {to:?}\n    {e}").unwrap();
    }
    insta::assert_snapshot!(said);
    let grid = format!("{SWEEP}[[sweep.grid]]\noperation = \"read\"\n");
    insta::assert_snapshot!(Profile::from_toml(&grid, "x").unwrap_err(), @"x, line 22: operation is also on line 8; set it either in the sweep or in its grids");
    let many = SWEEP.replace(
        "file_size =",
        &format!("samples = {:?}\nfile_size =", (0..700).collect::<Vec<_>>()),
    );
    insta::assert_snapshot!(Profile::from_toml(&many, "x").unwrap_err(), @"x, line 4: sweep produces too many workloads; a profile has at most 5000: use shorter lists");
}

#[test]
fn the_product_of_lists_is_bounded_before_it_is_made() {
    let list = format!("{:?}", (1..=1000).collect::<Vec<_>>());
    let keys: String = ["queue_depth", "threads", "samples", "stride", "points", "run", "count"]
        .iter()
        .map(|key| format!("{key} = {list}\n"))
        .collect();
    let text = SWEEP.replace("headline", &format!("{keys}headline"));
    insta::assert_snapshot!(Profile::from_toml(&text, "x").unwrap_err(), @"x, line 4: sweep produces too many workloads; a profile has at most 5000: use shorter lists");
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text: String) {
        let _ = Profile::from_toml(&text, "x");
    }

    #[test]
    fn mutilated_profiles_never_panic(
        at in 0..GOOD.len(), cut in 0usize..20, insert in "[\\PC\\n\"\\[\\]=]{0,8}",
    ) {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{insert}{}", &GOOD[..at], &GOOD[end..]);
        let _ = Profile::from_toml(&text, "x");
    }

    #[test]
    fn mutilated_sweeps_never_panic(
        at in 0..SWEEP.len(), cut in 0usize..20, insert in "[\\PC\n\"\\[\\]={}]{0,8}",
    ) {
        let end = (at + cut).min(SWEEP.len());
        let text = format!("{}{insert}{}", &SWEEP[..at], &SWEEP[end..]);
        let _ = Profile::from_toml(&text, "x");
    }

    #[test]
    fn sweeps_of_sizes_by_doubling_hold_both_ends(from in 9u32..20, steps in 0u32..11) {
        let size = |shift: u32| format_size(1 << shift).replace(' ', "");
        let range = format!("{{ from = \"{}\", to = \"{}\" }}", size(from), size(from + steps));
        let text = SWEEP
            .replace("{ from = \"64KiB\", to = \"1MiB\" }", &range)
            .replace("file_size = \"512KiB\"", "file_size = \"1GiB\"");
        let p = Profile::from_toml(&text, "x").unwrap();
        let blocks: Vec<_> = p.workloads.iter().map(|w| w.work.block_size()).collect();
        let wanted: Vec<_> = (from..=from + steps).flat_map(|n| [1u64 << n; 2]).collect();
        prop_assert_eq!(blocks, wanted.repeat(2));
    }
}
