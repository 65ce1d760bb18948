//! The built-in profiles: what each contains in every cell, that the documentation names them all,
//! and that fio agrees about the job files that are accepted.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::process::Command;

use cryptbench_load::{
    BlockWork, Cache, Content, Direction, Estimator, FileAction, FileSizes, FileUse, FileWork,
    Flush, Headline, Pattern, Presentation, Profile, Start, UnlockWork, Work, WorkAmount,
    WorkloadSpec,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn named(name: &str) -> Profile {
    Profile::named(name).unwrap_or_else(|e| panic!("{e}"))
}

fn block(w: &WorkloadSpec) -> &BlockWork {
    let Work::Block(block) = &w.work else { panic!("{} is no request workload", w.id) };
    block
}

fn by_id<'a>(p: &'a Profile, id: &str) -> &'a WorkloadSpec {
    p.workloads.iter().find(|w| w.id == id).unwrap_or_else(|| panic!("{} has no {id}", p.name))
}

/// Checks the whole work of one workload.
#[track_caller]
fn is(p: &Profile, id: &str, headline: Headline, wanted: BlockWork) {
    let w = by_id(p, id);
    assert_eq!((block(w).clone(), w.headline), (wanted, headline), "{id}");
}

#[test]
fn the_built_in_profiles_parse_and_keep_the_shape_of_tables() {
    let names: Vec<_> = Profile::builtin().iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "quick",
            "atto",
            "anvil",
            "hdtune",
            "hdtune-whole",
            "dd-removable",
            "dd-copy",
            "iozone",
            "crystaldiskmark",
            "crystaldiskmark-nvme",
            "server",
            "small-files",
            "fsync",
            "sweep",
            "mount",
        ]
    );
    for name in names {
        let p = named(name);
        assert_eq!(p.name, name);
        assert!(p.remarks.is_empty());
        let ids: HashSet<_> = p.workloads.iter().map(|w| &w.id).collect();
        assert_eq!(ids.len(), p.workloads.len(), "{name}");
        let labels: HashSet<_> = p.workloads.iter().map(|w| &w.label).collect();
        assert_eq!(labels.len(), p.workloads.len(), "{name}: labels tell workloads apart");
        assert!(p.workloads.iter().all(|w| w.label.chars().count() <= 22), "{name}");
    }
    insta::assert_snapshot!(Profile::named("quikc").unwrap_err(), @r#"unknown profile "quikc" (did you mean quick?); known: quick, atto, anvil, hdtune, hdtune-whole, dd-removable, dd-copy, iozone, crystaldiskmark, crystaldiskmark-nvme, server, small-files, fsync, sweep, mount; `--profile ./FILE` reads a file"#);
}

#[test]
fn quick_is_what_it_was() {
    let p = named("quick");
    let ids: Vec<_> = p.workloads.iter().map(|w| w.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "seq-read-1m-q1",
            "seq-write-1m-q1",
            "seq-read-1m-q8",
            "seq-write-1m-q8",
            "rand-read-4k-q1",
            "rand-write-4k-q1",
            "rand-read-4k-q32",
            "rand-write-4k-q32",
        ]
    );
    assert_eq!(
        (p.presentation, p.buffered, p.size, p.trials),
        (Presentation::Table, false, None, None)
    );
    let wanted = BlockWork::new(Direction::Write, Pattern::Random, 4 * KIB, 32);
    is(&p, "rand-write-4k-q32", Headline::Iops, wanted);
}

/// The 21 block sizes of the published tables.
const ATTO: [u64; 21] = [
    512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152,
    4194304, 8388608, 12582912, 16777216, 25165824, 33554432, 50331648, 67108864,
];

#[test]
fn atto_has_21_sizes_each_written_then_read() {
    let p = named("atto");
    assert_eq!((p.presentation, p.buffered, p.size), (Presentation::Bars, false, Some(256 * MIB)));
    assert_eq!((p.trials, p.estimator), (Some(5), Some(Estimator::Mean)));
    let mut wanted = Vec::new();
    for size in ATTO {
        for direction in [Direction::Write, Direction::Read] {
            wanted.push(Work::Block(BlockWork::new(direction, Pattern::Sequential, size, 4)));
        }
    }
    let works: Vec<_> = p.workloads.iter().map(|w| w.work.clone()).collect();
    assert_eq!(works, wanted);
    assert_eq!(
        (p.workloads[0].id.as_str(), p.workloads[0].label.as_str()),
        ("write-512", "write 512 B")
    );
    assert_eq!(p.workloads[41].label, "read 64 MiB");
    assert!(p.workloads.iter().all(|w| w.headline == Headline::Bandwidth));
}

/// The published data has the same sizes, if it lies beside the repository.
#[test]
fn atto_has_the_sizes_of_the_published_tables() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/published/atto.csv");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: no {}", path.display());
        return;
    };
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let column = header.iter().position(|h| *h == "block_bytes").unwrap();
    let sizes: BTreeSet<u64> =
        lines.map(|l| l.split(',').nth(column).unwrap().parse().unwrap()).collect();
    assert!(sizes.iter().eq(&ATTO));
}

#[test]
fn anvil_has_its_ten_tests() {
    let p = named("anvil");
    assert_eq!((p.presentation, p.buffered, p.size), (Presentation::Grid, false, Some(1 << 30)));
    assert_eq!((p.trials, p.estimator), (Some(10), Some(Estimator::Mean)));
    assert_eq!(p.workloads.len(), 10);
    for (name, direction) in [("read", Direction::Read), ("write", Direction::Write)] {
        let seq = BlockWork::new(direction, Pattern::Sequential, 4 * MIB, 1);
        is(&p, &format!("seq-{name}-4m"), Headline::Bandwidth, seq);
        for depth in [1, 4, 16] {
            let rand = BlockWork::new(direction, Pattern::Random, 4 * KIB, depth);
            is(&p, &format!("rand-{name}-4k-q{depth}"), Headline::Bandwidth, rand);
        }
    }
    for kib in [32, 128] {
        let read = BlockWork::new(Direction::Read, Pattern::Random, kib * KIB, 1);
        is(&p, &format!("rand-read-{kib}k"), Headline::Bandwidth, read);
    }
}

#[test]
fn hdtune_samples_the_surface() {
    let p = named("hdtune");
    assert_eq!((p.presentation, p.buffered, p.size), (Presentation::Curve, false, None));
    assert_eq!((p.trials, p.estimator), (Some(5), Some(Estimator::Mean)));
    assert_eq!(p.workloads.len(), 6);
    let read = |pattern, size| BlockWork::new(Direction::Read, pattern, size, 1);
    let io_target = BlockWork {
        start: Start::First,
        amount: WorkAmount::Bytes(100 * 16 * 64 * KIB),
        samples: 100 * 16,
        ..read(Pattern::Sampled { points: 100, run: 16 }, 64 * KIB)
    };
    is(&p, "surface", Headline::Bandwidth, io_target);
    for (id, size) in [("512", 512), ("4k", 4 * KIB), ("64k", 64 * KIB), ("1m", MIB)] {
        let access = BlockWork { samples: 200, ..read(Pattern::Random, size) };
        is(&p, &format!("access-{id}"), Headline::Latency, access);
    }
    is(&p, "burst", Headline::Bandwidth, read(Pattern::Same, 64 * KIB));
}

#[test]
fn hdtune_over_the_full_length_differs_in_the_surface_alone() {
    let (sampled, whole) = (named("hdtune"), named("hdtune-whole"));
    let surface = BlockWork {
        start: Start::First,
        amount: WorkAmount::Whole,
        samples: 1600,
        ..BlockWork::new(Direction::Read, Pattern::Sequential, 64 * KIB, 1)
    };
    is(&whole, "surface", Headline::Bandwidth, surface.clone());
    assert_eq!(sampled.workloads[1..], whole.workloads[1..]);
    assert_eq!((sampled.trials, sampled.estimator), (whole.trials, whole.estimator));
    // A device whose last block is cut off is read to its last whole block.
    let all = 3 * 64 * KIB;
    let there = whole.over(all + 512);
    let read =
        BlockWork { amount: WorkAmount::Bytes(all), file: FileUse::Scratch(Some(all)), ..surface };
    is(&there, "surface", Headline::Bandwidth, read);
    assert_eq!(there.workloads[1..], sampled.workloads[1..]);
}

fn copy(block: u64, count: u64, content: Content, flush: Flush) -> BlockWork {
    BlockWork {
        start: Start::First,
        amount: WorkAmount::Bytes(block * count),
        file: FileUse::Fresh(block * count),
        content,
        flush,
        ..BlockWork::new(Direction::Write, Pattern::Sequential, block, 1)
    }
}

#[test]
fn dd_copies_zeros_and_random_data() {
    let p = named("dd-removable");
    assert_eq!((p.presentation, p.buffered), (Presentation::Copies, true));
    assert_eq!((p.trials, p.estimator), (Some(10), Some(Estimator::TrimmedMean)));
    assert_eq!(p.workloads.len(), 4);
    for (id, content, flush) in [
        ("zeros", Content::Zeros, Flush::Never),
        ("zeros-fsync", Content::Zeros, Flush::AtEnd),
        ("random", Content::Random, Flush::Never),
        ("random-fsync", Content::Random, Flush::AtEnd),
    ] {
        is(&p, id, Headline::Seconds, copy(MIB, 128, content, flush));
    }

    let p = named("dd-copy");
    assert_eq!((p.presentation, p.buffered), (Presentation::Copies, true));
    assert_eq!((p.trials, p.estimator), (Some(10), Some(Estimator::Mean)));
    assert_eq!(p.workloads.len(), 2);
    is(&p, "random", Headline::Seconds, copy(4 * KIB, 128_000, Content::Random, Flush::Never));
    is(
        &p,
        "random-fsync",
        Headline::Seconds,
        copy(4 * KIB, 128_000, Content::Random, Flush::AtEnd),
    );
    assert_eq!(block(&p.workloads[0]).amount, WorkAmount::Bytes(524_288_000));
}

/// The operations of `iozone -a` in its order, and their equivalents here.
fn iozone_operations(file: u64) -> [(&'static str, BlockWork); 13] {
    let work = |direction, pattern| BlockWork {
        start: Start::First,
        amount: WorkAmount::Bytes(file),
        file: FileUse::Scratch(Some(file)),
        cache: Cache::Warm,
        ..BlockWork::new(direction, pattern, 4 * KIB, 1)
    };
    let fresh = |work| BlockWork { file: FileUse::Fresh(file), ..work };
    let stdio = |work| BlockWork { stdio: true, ..work };
    let read = |pattern| work(Direction::Read, pattern);
    let write = |pattern| work(Direction::Write, pattern);
    let sequential = Pattern::Sequential;
    [
        ("write", fresh(write(sequential))),
        ("rewrite", write(sequential)),
        ("read", read(sequential)),
        ("reread", read(sequential)),
        ("random-read", read(Pattern::Permutation)),
        ("random-write", write(Pattern::Permutation)),
        ("backward-read", read(Pattern::Backward)),
        ("record-rewrite", write(Pattern::Same)),
        ("stride-read", read(Pattern::Strided { stride: 17 })),
        ("fwrite", stdio(fresh(write(sequential)))),
        ("frewrite", stdio(write(sequential))),
        ("fread", stdio(read(sequential))),
        ("freread", stdio(read(sequential))),
    ]
}

#[test]
fn iozone_has_126_pairs_of_13_operations() {
    let p = named("iozone");
    assert_eq!((p.presentation, p.buffered), (Presentation::Heatmap, true));
    assert_eq!((p.trials, p.estimator), (Some(5), Some(Estimator::CellwisePercent)));
    assert_eq!(p.size, Some(512 * MIB));
    assert_eq!(p.workloads.len(), 1638);

    // Restates iozone's rule: records double up to the file size and 16 MiB, from 4 KiB or, in
    // files above 16 MiB, from 64 KiB.
    let doubling = |from: u64, to: u64| {
        std::iter::successors(Some(from), |n| Some(n * 2)).take_while(move |n| *n <= to)
    };
    let mut wanted = Vec::new();
    for file in doubling(64 * KIB, 512 * MIB) {
        let least = if file > 16 * MIB { 64 * KIB } else { 4 * KIB };
        for record in doubling(least, file.min(16 * MIB)) {
            for (name, work) in iozone_operations(file) {
                wanted.push((name, file, BlockWork { block_size: record, ..work }));
            }
        }
    }
    assert_eq!(wanted.len(), 126 * 13);
    for (w, (name, file, work)) in p.workloads.iter().zip(&wanted) {
        assert_eq!(block(w), work, "{}", w.id);
        assert!(w.id.starts_with(&format!("{name}-")), "{} is no {name} of {file}", w.id);
        assert_eq!(w.headline, Headline::Bandwidth);
    }
    let last = &p.workloads[1637];
    assert_eq!((last.id.as_str(), last.label.as_str()), ("freread-512m-16m", "freread 512M/16M"));
    let mut pairs = BTreeMap::new();
    for w in &p.workloads {
        let FileUse::Scratch(Some(file)) = block(w).file else { continue };
        *pairs.entry((file, block(w).block_size)).or_insert(0) += 1;
    }
    assert_eq!(pairs.len(), 126);
    assert!(pairs.values().all(|n| *n == 11), "and two that write new files");
}

#[test]
fn crystaldiskmark_has_its_tests() {
    type Test = (&'static str, Pattern, u64, u32, u32);
    let seq8: Test = ("seq1m-q8t1", Pattern::Sequential, MIB, 8, 1);
    let rnd1: Test = ("rnd4k-q1t1", Pattern::Random, 4 * KIB, 1, 1);
    let plain: [Test; 4] = [
        seq8,
        ("seq1m-q1t1", Pattern::Sequential, MIB, 1, 1),
        ("rnd4k-q32t1", Pattern::Random, 4 * KIB, 32, 1),
        rnd1,
    ];
    let nvme: [Test; 4] = [
        seq8,
        ("seq128k-q32t1", Pattern::Sequential, 128 * KIB, 32, 1),
        ("rnd4k-q32t16", Pattern::Random, 4 * KIB, 32, 16),
        rnd1,
    ];
    for (name, tests) in [("crystaldiskmark", plain), ("crystaldiskmark-nvme", nvme)] {
        let p = named(name);
        assert_eq!(
            (p.presentation, p.buffered, p.size),
            (Presentation::Grid, false, Some(1 << 30))
        );
        assert_eq!((p.trial_s, p.pause_s, p.trials), (Some(5.0), 5.0, Some(5)));
        assert_eq!(p.estimator, Some(Estimator::Best));
        assert_eq!(p.workloads.len(), 8);
        for (id, pattern, size, depth, threads) in tests {
            for (word, direction) in [("read", Direction::Read), ("write", Direction::Write)] {
                let work = BlockWork { threads, ..BlockWork::new(direction, pattern, size, depth) };
                is(&p, &format!("{id}-{word}"), Headline::Bandwidth, work);
            }
        }
    }
    assert_eq!(named("crystaldiskmark-nvme").workloads[6].label, "RND4K Q32T16 write");
}

#[test]
fn small_files_stand_beside_one_of_their_bytes() {
    let p = named("small-files");
    assert_eq!((p.presentation, p.buffered), (Presentation::Files, true));
    assert_eq!(p.workloads.len(), 12);
    let actions = [
        FileAction::Create,
        FileAction::Stat,
        FileAction::Read,
        FileAction::Rename,
        FileAction::Delete,
    ];
    let kinds = [
        ("4k", FileSizes::Fixed(4096)),
        ("mixed", FileSizes::LogNormal { median: 4096, sigma: 1.5 }),
    ];
    for action in actions {
        for (kind, sizes) in kinds {
            let w = by_id(&p, &format!("{}-{kind}", action.as_str()));
            assert_eq!(w.work, Work::Files(FileWork { action, count: 10_000, sizes }));
            assert_eq!(w.headline, Headline::Files);
        }
    }
    let bytes = 10_000 * 4096;
    let one = |direction| BlockWork {
        start: Start::First,
        amount: WorkAmount::Bytes(bytes),
        file: FileUse::Scratch(Some(bytes)),
        ..BlockWork::new(direction, Pattern::Sequential, 64 * KIB, 1)
    };
    is(&p, "read-one-file", Headline::Bandwidth, one(Direction::Read));
    let write =
        BlockWork { file: FileUse::Fresh(bytes), flush: Flush::AtEnd, ..one(Direction::Write) };
    is(&p, "write-one-file", Headline::Bandwidth, write);
}

#[test]
fn mount_opens_with_all_four_combinations() {
    let p = named("mount");
    assert_eq!(p.presentation, Presentation::Unlock);
    let works: Vec<_> =
        p.workloads.iter().map(|w| (w.id.as_str(), w.work.clone(), w.headline)).collect();
    let unlock = |right, prf_known| Work::Unlock(UnlockWork { right, prf_known });
    assert_eq!(
        works,
        [
            ("right-prf-known", unlock(true, true), Headline::Seconds),
            ("right-prf-unknown", unlock(true, false), Headline::Seconds),
            ("wrong-prf-known", unlock(false, true), Headline::Seconds),
            ("wrong-prf-unknown", unlock(false, false), Headline::Seconds),
        ]
    );
}

fn documentation() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/profiles.md");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The table in the documentation names every built-in profile with its number of workloads, and no
/// other. Each profile has its own section.
#[test]
fn the_documentation_knows_every_profile() {
    let text = documentation();
    let rows: Vec<(String, usize)> = text
        .lines()
        .filter_map(|l| {
            let mut cells = l.strip_prefix("| `")?.split('|');
            let name = cells.next()?.trim().strip_suffix('`')?.to_owned();
            let workloads = cells.next()?.trim().replace(',', "").parse().ok()?;
            Some((name, workloads))
        })
        .collect();
    let wanted: Vec<_> = Profile::builtin()
        .iter()
        .map(|(name, _)| ((*name).to_owned(), named(name).workloads.len()))
        .collect();
    assert_eq!(rows, wanted);
    for (name, _) in wanted {
        assert!(
            text.contains(&format!("\n### `{name}`\n")),
            "docs/profiles.md has no section on {name}"
        );
    }
}

/// Every TOML and fio example in the documentation is accepted.
#[test]
fn the_examples_of_the_documentation_are_profiles() {
    let text = documentation();
    for (fence, least) in [("```toml", 1), ("```ini", 1)] {
        let examples: Vec<_> = text
            .split(fence)
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap_or_default())
            .collect();
        assert!(examples.len() >= least, "{fence}: {}", examples.len());
        for example in examples {
            let parsed = if fence == "```toml" {
                Profile::from_toml(example, "docs/profiles.md")
            } else {
                Profile::from_fio(example, "docs/profiles.md")
            };
            parsed.unwrap_or_else(|e| panic!("{e}\n{example}"));
        }
    }
}

/// Files that we accept, with expectations of their only job according to fio: each option's value
/// in bytes, seconds or words, as `fio --parse-only --output-format=json` interprets it.
const ACCEPTED: &[(&str, &[(&str, &str)])] = &[
    ("rw=randread\nbs=4k\nsize=16m", &[("bs", "4k"), ("rw", "randread")]),
    (
        "rw=randrw\nrwmixread=70\nbs=8k\nsize=16m\niodepth=8\nioengine=libaio",
        &[("rwmixread", "70")],
    ),
    ("rw=write\nbs=1m\nsize=16m\nend_fsync=1\nnumjobs=2", &[("end_fsync", "1")]),
    ("rw=write\nbs=64k\nsize=16m\nsync=dsync\nzero_buffers", &[("sync", "dsync")]),
    ("rw=write\nsize=16m\nfsync=32 ; comment\nrefill_buffers", &[("fsync", "32")]),
    ("rw=write\nsize=16m\nfdatasync=1\nbuffer_compress_percentage=30", &[("fdatasync", "1")]),
    ("rw=randread\nsize=16m\nrandom_distribution=zipf:1.2\nnorandommap", &[]),
    ("rw=read\nbs=128K\nsize=16M\ndirect=1\ninvalidate=1", &[]),
    ("rw=read\nsize=16m\nruntime=1m\ntime_based\nramp_time=500ms", &[("runtime", "1m")]),
    ("rw=read\nsize=16m\nrate=10m", &[("rate", "10m")]),
    ("rw=read\nsize=16m\nrate_iops=100\nthread\ngroup_reporting", &[("rate_iops", "100")]),
    ("rw=read\nsize=16m\nio_size=64m\nrandrepeat=0\noverwrite=1", &[("io_size", "64m")]),
    ("kb_base=1000\nrw=read\nsize=16m\nbs=4KiB", &[("kb_base", "1000")]),
];

/// fio accepts what we accept; from the file shown as a command line, fio names the same options.
#[test]
fn fio_accepts_what_we_accept() {
    let dir = tempfile::tempdir().unwrap();
    let fio =
        |arguments: &[&str]| Command::new("fio").args(arguments).current_dir(dir.path()).output();
    if fio(&["--version"]).is_err() {
        eprintln!("SKIPPED: fio is not installed");
        return;
    }
    for (n, (options, shown)) in ACCEPTED.iter().enumerate() {
        let text = format!("[job]\n{options}\n");
        let path = dir.path().join(format!("{n}.fio"));
        std::fs::write(&path, &text).unwrap();
        Profile::from_file(&path).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let path = path.to_str().unwrap();
        let parsed = fio(&["--parse-only", "--showcmd", path]).unwrap();
        let stderr = String::from_utf8_lossy(&parsed.stderr);
        assert!(parsed.status.success(), "fio refuses: {stderr}\n{text}");
        let line = String::from_utf8_lossy(&parsed.stdout).into_owned();
        for (option, value) in *shown {
            assert!(line.contains(&format!("--{option}={value}")), "{line}\n{text}");
        }
    }
    // The control: fio does refuse an unknown option.
    let path = dir.path().join("bad.fio");
    std::fs::write(&path, "[job]\nno_such_option=1\nsize=1m\n").unwrap();
    assert!(!fio(&["--parse-only", path.to_str().unwrap()]).unwrap().status.success());
}

/// fio's interpretation of sizes: it reads as many bytes as we would.
#[test]
fn fio_moves_the_bytes_that_we_would() {
    let dir = tempfile::tempdir().unwrap();
    for (options, blocks, block) in [
        ("size=64k\nbs=4k", 16, 4096),
        ("size=64kb\nbs=2K", 32, 2048),
        ("size=128KiB\nbs=512\nkb_base=1000", 256, 512),
        ("size=1m\nio_size=64k\nbs=8k\nnumjobs=2\ngroup_reporting", 16, 8192),
    ] {
        let text = format!("[job]\nrw=read\n{options}\n");
        let p = Profile::from_fio(&text, "x.fio").unwrap();
        let work = block_of(&p);
        assert_eq!((work.amount, work.block_size), (WorkAmount::Bytes(blocks * block), block));
        let path = dir.path().join("x.fio");
        std::fs::write(&path, &text).unwrap();
        let run = Command::new("fio")
            .args(["--output-format=json", "x.fio"])
            .current_dir(dir.path())
            .output();
        let Ok(run) = run else {
            eprintln!("SKIPPED: fio is not installed");
            return;
        };
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let read = &json["jobs"][0]["read"];
        assert_eq!(read["io_bytes"], blocks * block, "{options}");
        assert_eq!(read["total_ios"], blocks, "{options}");
    }
}

fn block_of(p: &Profile) -> &BlockWork {
    block(&p.workloads[0])
}
