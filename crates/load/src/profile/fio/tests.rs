//! Tests what job files mean, with fio's units and defaults, and what is refused.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::super::{BlockWork, Cache, FileUse, Headline, Work, WorkAmount};
use super::*;
use crate::{Content, Direction, Flush, Pattern, Rate};

#[track_caller]
fn good(text: &str) -> Profile {
    Profile::from_fio(text, "jobs/my test.fio").unwrap_or_else(|e| panic!("{e}"))
}

/// The profile with these options and its only workload, `[j]`.
#[track_caller]
fn one(options: &str) -> (BlockWork, Profile) {
    let p = good(&format!("[j]\nioengine=io_uring\nsize=1m\n{options}\n"));
    let [WorkloadSpec { work: Work::Block(work), .. }] = &p.workloads[..] else { panic!("{p:?}") };
    (work.clone(), p)
}

#[track_caller]
fn bad(text: &str) -> String {
    Profile::from_fio(text, "my.fio").unwrap_err().to_string()
}

const COMMON: &str = "\
; a file as users write them
# with both kinds of comments
[global]
ioengine=libaio
direct=1
size=2g
runtime=30s   ; half a minute
time_based
group_reporting
ramp_time=2

[rand-read]
rw=randread
bs=4k
iodepth=32

[Seq Write]
stonewall
rw = write
bs = 1M
numjobs=4
end_fsync=0
";

#[test]
fn a_common_file_becomes_what_it_says() {
    let p = good(COMMON);
    assert_eq!(p.name, "my-test");
    assert_eq!(p.description, "fio jobs: rand-read, Seq Write.");
    assert_eq!((p.buffered, p.size, p.trials), (false, Some(2 << 30), None));
    assert_eq!((p.trial_s, p.ramp_s, p.pause_s), (Some(30.0), Some(2.0), 0.0));
    let names: Vec<_> = p.workloads.iter().map(|w| (w.id.as_str(), w.label.as_str())).collect();
    assert_eq!(names, [("rand-read", "rand-read"), ("seq-write", "Seq Write")]);
    assert_eq!([Headline::Iops, Headline::Bandwidth], [0, 1].map(|i| p.workloads[i].headline));
    let file = FileUse::Scratch(Some(2 << 30));
    let read =
        BlockWork { file, ..BlockWork::new(Direction::Read, Pattern::Permutation, 4096, 32) };
    let write = BlockWork {
        file,
        threads: 4,
        ..BlockWork::new(Direction::Write, Pattern::Sequential, 1 << 20, 1)
    };
    assert_eq!(p.workloads[0].work, Work::Block(read));
    assert_eq!(p.workloads[1].work, Work::Block(write));
    for word in ["libaio", "numjobs=4", "overwrite=1"] {
        assert!(p.remarks.iter().any(|r| r.contains(word)), "{word}: {:?}", p.remarks);
    }
    assert_eq!(p.remarks.len(), 3);
}

#[test]
fn directions_and_mixes() {
    let mixed = |read_percent| Direction::Mixed { read_percent };
    for (options, direction, random) in [
        ("", Direction::Read, false),
        ("rw=read", Direction::Read, false),
        ("readwrite=write", Direction::Write, false),
        ("rw=randread", Direction::Read, true),
        ("rw=randwrite", Direction::Write, true),
        ("rw=rw", mixed(50), false),
        ("rw=readwrite\nrwmixread=70", mixed(70), false),
        ("rw=randrw\nrwmixwrite=70", mixed(30), true),
        ("rw=randrw\nrwmixread=80\nrwmixwrite=40", mixed(60), true),
        ("rw=randrw\nrwmixwrite=40\nrwmixread=80", mixed(80), true),
        ("rw=randrw\nrwmixread=100", Direction::Read, true),
        ("rw=randrw\nrwmixread=0", Direction::Write, true),
    ] {
        let (work, _) = one(options);
        let pattern = if random { Pattern::Permutation } else { Pattern::Sequential };
        assert_eq!((work.direction, work.pattern), (direction, pattern), "{options}");
    }
}

#[test]
fn each_option_has_its_meaning() {
    let every = |writes, data_only| Flush::Every { writes, data_only, drained: false };
    let work = |options: &str| one(options).0;
    assert_eq!(work("").block_size, 4096, "fio's default");
    assert_eq!(work("blocksize=8k").block_size, 8192);
    assert_eq!(work("bs=512").block_size, 512);
    assert_eq!(work("kb_base=1000\nbs=4KiB").block_size, 4096);
    assert_eq!(work("").amount, WorkAmount::Bytes(1 << 20));
    assert_eq!(work("numjobs=3").amount, WorkAmount::Bytes(3 << 20));
    assert_eq!(work("io_size=5m").amount, WorkAmount::Bytes(5 << 20));
    assert_eq!(work("io_limit=5m").amount, WorkAmount::Bytes(5 << 20));
    // As in fio 3.33: 2, 2 x 3, 3 and 8 requests of 4 KiB.
    assert_eq!(work("size=10k").amount, WorkAmount::Bytes(8 << 10));
    assert_eq!(work("size=15k\nnumjobs=2").amount, WorkAmount::Bytes(24 << 10));
    assert_eq!(work("io_size=10k").amount, WorkAmount::Bytes(12 << 10));
    assert_eq!(work("size=10k\nio_size=30k").amount, WorkAmount::Bytes(32 << 10));
    assert_eq!(work("time_based=1\nruntime=1").amount, WorkAmount::Time);
    assert_eq!(one("ramp_time=0").1.ramp_s, Some(0.0));
    assert_eq!(one("ramp_time=2\ntime_based=1\nruntime=1").1.ramp_s, Some(2.0));
    assert_eq!(work("rw=write\nfsync=16").flush, every(16, false));
    assert_eq!(work("rw=write\nfdatasync=1").flush, every(1, true));
    assert_eq!(work("rw=write\nend_fsync=1").flush, Flush::AtEnd);
    assert_eq!(work("rw=write\nsync=1").flush, Flush::EachWrite);
    assert_eq!(work("rw=write\nsync=dsync").flush, Flush::EachWrite);
    assert_eq!(work("rw=write\nsync=0\nfsync=0").flush, Flush::Never);
    assert_eq!(work("rate=10m").rate, Some(Rate::Bytes(10.0 * 1_048_576.0)));
    assert_eq!(work("rate_iops=50\nnumjobs=2").rate, Some(Rate::Requests(100.0)));
    assert_eq!(work("rw=randread\nnorandommap").pattern, Pattern::Random);
    assert_eq!(work("rw=randread\nnorandommap=0").pattern, Pattern::Permutation);
    assert_eq!(work("rw=randread\nrandom_distribution=random").pattern, Pattern::Permutation);
    let zipf = work("rw=randread\nrandom_distribution=zipf:1.2").pattern;
    assert_eq!(zipf, Pattern::Zipf { theta: 1.2 });
    assert_eq!(
        work("buffer_compress_percentage=30").content,
        Content::Compressible { percent: 30 }
    );
    assert_eq!(work("buffer_compress_percentage=100").content, Content::Zeros);
    assert_eq!(work("zero_buffers").content, Content::Zeros);
    assert_eq!(work("refill_buffers").content, Content::Random);
    assert_eq!(work("invalidate=0").cache, Cache::Warm);
    assert_eq!(work("invalidate=1").cache, Cache::Cold);
}

#[test]
fn direct_and_buffered_are_opposites_and_the_later_counts() {
    for (options, buffered) in [
        ("", true),
        ("direct=1", false),
        ("direct=0", true),
        ("buffered=0", false),
        ("buffered=1", true),
        ("direct=1\nbuffered=1", true),
        ("buffered=1\ndirect=1", false),
    ] {
        assert_eq!(one(options).1.buffered, buffered, "{options}");
    }
}

#[test]
fn synchronous_engines_have_one_request_in_flight() {
    let depth = |engine: &str| {
        let p = good(&format!("[j]\nsize=1m\niodepth=32\n{engine}\n"));
        let Work::Block(b) = &p.workloads[0].work else { panic!() };
        (b.queue_depth, p.remarks)
    };
    assert_eq!(depth("ioengine=io_uring"), (32, vec![]));
    assert_eq!(depth("ioengine=libaio").0, 32);
    let mut said = Vec::new();
    for engine in ["", "ioengine=psync", "ioengine=sync", "ioengine=pvsync2"] {
        let (depth, remarks) = depth(engine);
        assert_eq!(depth, 1, "{engine}");
        said.extend(remarks);
    }
    insta::assert_snapshot!(said.join("\n"), @"
        Without ioengine fio uses psync, which keeps one request in flight per job: iodepth=32 has no effect, neither in fio nor here (it has with ioengine=io_uring).
        ioengine=psync keeps one request in flight per job: iodepth=32 has no effect, neither in fio nor here.
        ioengine=sync keeps one request in flight per job: iodepth=32 has no effect, neither in fio nor here.
        ioengine=pvsync2 keeps one request in flight per job: iodepth=32 has no effect, neither in fio nor here.
        ");
    assert!(good("[j]\nsize=1m").remarks.is_empty());
}

#[test]
fn what_has_no_effect_in_fio_is_said() {
    let mut said = String::new();
    for options in [
        "norandommap=1",
        "random_distribution=zipf:0.9",
        "rw=read\nfsync=1",
        "filename=test.dat",
        "name=other",
        "rw=write\nsync=1",
    ] {
        writeln!(said, "{options:?}: {}", one(options).1.remarks.join(" ")).unwrap();
    }
    insta::assert_snapshot!(said, @r#"
        "norandommap=1": norandommap of [j] has no effect on sequential requests, as in fio.
        "random_distribution=zipf:0.9": random_distribution of [j] has no effect on sequential requests, as in fio.
        "rw=read\nfsync=1": fsync has no effect on reads, as in fio.
        "filename=test.dat": filename=test.dat: cryptbench uses a scratch file in the target of the command line instead.
        "name=other": name=other of [j]: reports show the section's name.
        "rw=write\nsync=1": sync=1 (O_SYNC) is carried out as sync=dsync: each write waits for its data and for the metadata needed to read it again, not for time stamps. Writes go to a scratch file that has been filled before, as with fio's overwrite=1.
        "#);
    assert_eq!(one("rw=read\nfsync=1").0.flush, Flush::Never);
}

#[test]
fn jobs_follow_each_other_or_are_refused() {
    let e = bad("[a]\nsize=1m\n\n[b]\nsize=1m\n");
    let later = bad("[a]\nsize=1m\nstonewall\n[b]\nsize=1m\nstonewall=0\n");
    insta::assert_snapshot!([e, later].join("\n"), @"
        my.fio, line 4: job [b] would run in parallel with the jobs above; add stonewall to it or to [global], so that each job waits for the previous one
        my.fio, line 4: job [b] would run in parallel with the jobs above; add stonewall to it or to [global], so that each job waits for the previous one
        ");
    let p = good("[global]\nsize=1m\nwait_for_previous\n[a]\n[b]\n[a]\n[global]\nbs=8k\n[c]\n");
    let ids: Vec<_> = p.workloads.iter().map(|w| w.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "a-2", "c"]);
    let blocks: Vec<_> = p.workloads.iter().map(|w| w.work.block_size()).collect();
    assert_eq!(blocks, [4096, 4096, 4096, 8192], "a later [global] applies to later jobs");
}

#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    let mut said = String::new();
    for options in [
        "verify=crc32c",
        "iodepth_batch=8",
        "rw=trim",
        "rw=randread:8",
        "bs=4k,8k",
        "bs=1000",
        "bs=4KiB",
        "bs=2g",
        "bs=2m",
        "bs",
        "bs=",
        "size=50%",
        "size=${SIZE}",
        "iodepth=0",
        "iodepth=many",
        "numjobs=1000",
        "runtime=10",
        "time_based",
        "\nruntime=10w\ntime_based",
        "ramp_time=-1",
        "ramp_time=2",
        "io_size=2m\nramp_time=2",
        "direct=yes",
        "ioengine=mmap",
        "rw=write\nsync=2",
        "rw=write\nfsync=1\nfdatasync=1",
        "rw=write\nend_fsync=1\ntime_based\nruntime=1",
        "io_size=1m\ntime_based\nruntime=1",
        "rate=1m,2m",
        "rate=1m\nrate_iops=2",
        "rw=randrw\nrate_iops=2",
        "rw=randread\nrandom_distribution=pareto:0.9",
        "rw=randread\nrandom_distribution=zipf:0",
        "rw=randread\nrandom_distribution=zipf:1.0",
        "rw=randread\nrandom_distribution=zipf:1",
        "buffer_compress_percentage=101",
        "zero_buffers\nbuffer_compress_percentage=10",
        "kb_base=1001",
        "filename=/dev/sdb",
        "directory=/mnt",
        "rw=write\noverwrite=0",
        "include other.fio",
        "[]",
        "[x",
    ] {
        let e = bad(&format!("[j]\nioengine=io_uring\nsize=1m\n{options}\n"));
        writeln!(said, "{options:?}\n    {e}").unwrap();
    }
    for whole in ["bs=4k\n[j]\nsize=1m", "[j]\nrw=read\n", "", "[global]\nsize=1m\n"] {
        writeln!(said, "{whole:?} alone\n    {}", bad(whole)).unwrap();
    }
    insta::assert_snapshot!(said);
    let two = |option: &str, a: &str, b: &str| {
        let rest = "time_based\nsize=1m\nstonewall\n";
        bad(&format!("[global]\nruntime=1\n{rest}[a]\n{option}={a}\n[b]\n{option}={b}\n"))
    };
    let differing = [("runtime", "1", "2"), ("ramp_time", "1", "2"), ("direct", "0", "1")];
    let said = differing.map(|(option, a, b)| two(option, a, b));
    insta::assert_snapshot!(said.join("\n"), @"
        my.fio, line 9: runtime of [b] differs from that of [a]; a run can have only one: put the jobs into separate files
        my.fio, line 9: ramp_time of [b] differs from that of [a]; a run can have only one: put the jobs into separate files
        my.fio, line 9: direct of [b] differs from that of [a]; a run can have only one: put the jobs into separate files
        ");
}

/// Every option of the table is either read or has no meaning here. No option is accepted and
/// ignored without a test that covers it.
#[test]
fn every_option_is_known_to_these_tests() {
    let text = include_str!("tests.rs");
    for name in options::all() {
        assert!(
            text.contains(&format!("{name}="))
                || text.contains(&format!("{name}\\n"))
                || text.contains(&format!("\"{name}\""))
                || text.contains(&format!("\n{name}\n")),
            "{name}"
        );
    }
    let p = good("[j]\nsize=1m\ndescription=What it is.\nrandrepeat=0\nthread\noverwrite=1\n");
    assert_eq!(p.description, "What it is.");
}

#[test]
fn names_become_identifiers() {
    assert_eq!(identifier("Seq Write (1M)", 48, "x"), "seq-write-1m");
    assert_eq!(identifier("日本", 48, "x"), "x");
    assert_eq!(identifier("---a", 48, "x"), "a");
    assert_eq!(identifier(&"a".repeat(99), 48, "x").len(), 48);
    let long = format!("[{}]\nsize=1m\n", "long name ".repeat(20));
    let p = good(&long);
    assert_eq!(p.workloads[0].label.chars().count(), 22);
    assert!(p.workloads[0].id.len() <= 43);
}

/// fio's interpretation of sizes: HOWTO, "Parameter types", `int`.
#[test]
fn sizes_are_fios() {
    for (text, bytes) in [
        ("0", 0),
        ("512", 512),
        ("512b", 512),
        ("4k", 4096),
        ("4K", 4096),
        ("4kb", 4096),
        ("4KiB", 4000),
        ("1m", 1 << 20),
        ("1MB", 1 << 20),
        ("1MiB", 1_000_000),
        ("2g", 2 << 30),
        ("1t", 1 << 40),
        ("1p", 1 << 50),
    ] {
        assert_eq!(value::size(text, 1024), Some(bytes), "{text}");
    }
    assert_eq!(value::size("4k", 1000), Some(4000));
    assert_eq!(value::size("4KiB", 1000), Some(4096));
    for text in ["", "k", "-1", "4x", "1.5m", "50%", "4k-8k", "0x1000", "4 k", "99999999999p"] {
        assert_eq!(value::size(text, 1024), None, "{text}");
    }
    for (text, seconds) in [("5", 5.0), ("5s", 5.0), ("2m", 120.0), ("1h", 3600.0), ("50ms", 0.05)]
    {
        assert_eq!(value::seconds(text), Some(seconds), "{text}");
    }
    assert_eq!(value::seconds("5x"), None);
}

proptest! {
    #[test]
    fn sizes_follow_their_unit(n in 0u64..1 << 20, unit in 0usize..5) {
        let suffix = ["", "k", "m", "g", "t"][unit];
        let bytes = n.checked_mul(1024u64.pow(unit as u32));
        prop_assert_eq!(value::size(&format!("{n}{suffix}"), 1024), bytes);
        prop_assert_eq!(value::size(&format!("{n}{}", suffix.to_uppercase()), 1024), bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text: String) {
        let _ = Profile::from_fio(&text, "x");
    }

    #[test]
    fn mutilated_files_never_panic(
        at in 0..COMMON.len(), cut in 0usize..20, insert in "[\\PC\\n=\\[\\]]{0,8}",
    ) {
        let end = (at + cut).min(COMMON.len());
        let _ = Profile::from_fio(&format!("{}{insert}{}", &COMMON[..at], &COMMON[end..]), "x");
    }

    #[test]
    fn an_unknown_option_is_never_passed_over(word in "[a-z_]{1,20}", value in "[a-z0-9]{0,5}") {
        prop_assume!(options::find(&word).is_none());
        let e = bad(&format!("[j]\nsize=1m\n{word}={value}\n"));
        let wanted = format!("line 3: {word} is not a supported option");
        prop_assert!(e.contains(&wanted), "{}", e);
    }
}
