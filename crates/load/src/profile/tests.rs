//! Tests sizes, limits and forecasts of profiles, and the recognition of file formats.

use proptest::prelude::*;

use super::*;
use crate::{Direction, Pattern, Rate};

fn profile(workloads: &str) -> Profile {
    let text = format!("name = \"p\"\ndescription = \"d\"\n{workloads}");
    Profile::from_toml(&text, "p").unwrap_or_else(|e| panic!("{e}"))
}

fn block(id: &str, keys: &str) -> String {
    format!(
        "[[workload]]\nid = \"{id}\"\nlabel = \"{id}\"\nheadline = \"bandwidth\"\npattern = \"sequential\"\n\
         block_size = \"1MiB\"\n{keys}\n"
    )
}

/// Round figures: reads at 1 GB/s, writes at 500 MB/s, and no fixed time per request.
fn assumptions() -> Assumptions {
    Assumptions {
        arms: 3,
        pairs: 4,
        trial_s: 2.0,
        ramp_s: 0.5,
        scratch_bytes: 1 << 30,
        fills: 1,
        rates: Rates { read: 1e9, write: 5e8, request_s: 0.0, files: 1000.0, unlock_s: 3.0 },
    }
}

#[track_caller]
fn near(got: f64, wanted: f64) {
    assert!((got - wanted).abs() <= 1e-6 * wanted.abs().max(1.0), "{got} instead of {wanted}");
}

const MIB: u64 = 1 << 20;
const FILL_S: f64 = (1u64 << 30) as f64 / 5e8;

#[test]
fn trials_by_time_are_forecast_exactly() {
    let p = profile(&format!("pause_s = 1.5\n{}", block("a", "operation = \"read\"")));
    let f = p.forecast(&assumptions());
    // 3 arms, each with 4 pairs and one discarded trial.
    assert_eq!(f.trials, 15);
    near(f.seconds, FILL_S + 15.0 * (2.0 + 0.5 + 1.5));
    assert_eq!(f.bytes_read, 15 * 2_500_000_000);
    assert_eq!(f.bytes_written, 1 << 30, "the fill");
    assert_eq!(f.scratch_bytes, 1 << 30);
    let with_ramp = profile(&format!("ramp_s = 3\n{}", block("a", "operation = \"read\"")));
    near(with_ramp.forecast(&assumptions()).seconds, FILL_S + 15.0 * 5.0);
}

#[test]
fn trials_by_bytes_are_forecast_from_the_rates() {
    let fresh =
        "operation = \"write\"\nfile = \"fresh\"\nfile_size = \"128MiB\"\namount = \"file\"";
    let p = profile(&format!("round_pause_s = 7\n{}", block("a", fresh)));
    let f = p.forecast(&assumptions());
    assert_eq!(f.bytes_written, 12 * 128 * MIB, "no scratch file, so nothing to fill");
    assert_eq!(f.bytes_read, 0);
    assert_eq!(f.scratch_bytes, 128 * MIB);
    near(f.seconds, 12.0 * (128 * MIB) as f64 / 5e8 + 3.0 * 7.0);
    // A partial last block counts as a whole one.
    let p = profile(&block("a", "operation = \"read\"\namount = \"1025KiB\""));
    assert_eq!(p.forecast(&assumptions()).bytes_read, 12 * 2 * MIB);
}

#[test]
fn requests_in_flight_and_bounds_make_the_speed() {
    let mut a = assumptions();
    a.rates.request_s = 1e-3;
    let speed = |keys: &str| {
        let f = profile(&block("a", keys)).forecast(&a);
        (f.bytes_read + f.bytes_written - (1 << 30)) as f64 / (15.0 * 2.5)
    };
    let one = MIB as f64 / (1e-3 + MIB as f64 / 1e9);
    let share =
        |got: f64, wanted: f64| assert!((got / wanted - 1.0).abs() < 1e-6, "{got} {wanted}");
    share(speed("operation = \"read\""), one);
    share(speed("operation = \"read\"\nqueue_depth = 8"), 1e9);
    share(speed("operation = \"read\"\nrate_iops = 10"), 10.0 * MIB as f64);
    share(speed("operation = \"read\"\nrate = \"3MiB\""), 3.0 * MIB as f64);
    // Half reads, half writes: the harmonic mean of 1 GB/s and 0.5 GB/s.
    share(speed("operation = \"mixed\"\nread_percent = 50\nqueue_depth = 99"), 2e9 / 3.0);
}

#[test]
fn small_files_and_volumes_are_forecast() {
    let files = |id: &str, action: &str| {
        format!(
            "[[workload]]\nid = \"{id}\"\nlabel = \"x\"\nkind = \"files\"\nheadline = \"files\"\n\
             action = \"{action}\"\ncount = 2000\nfile_size = \"500B\"\n"
        )
    };
    let create = profile(&files("a", "create")).forecast(&assumptions());
    assert_eq!((create.bytes_written, create.bytes_read), (12 * 1_000_000, 0));
    near(create.seconds, 12.0 * (2.0 + 1e6 / 5e8));
    assert_eq!(create.scratch_bytes, 3 * 1_000_000);
    let read = profile(&files("a", "read")).forecast(&assumptions());
    assert_eq!((read.bytes_written, read.bytes_read), (3 * 1_000_000, 12 * 1_000_000));
    let delete = profile(&files("a", "delete")).forecast(&assumptions());
    assert_eq!(delete.bytes_written, 12 * 1_000_000, "created again for each trial");
    let both = profile(&(files("a", "create") + &files("b", "stat"))).forecast(&assumptions());
    assert_eq!(both.bytes_written, 12 * 1_000_000, "what was created stays");
    assert_eq!(both.scratch_bytes, 3 * 1_000_000, "one set");

    let mount = Profile::named("mount").unwrap().forecast(&assumptions());
    near(mount.seconds, 4.0 * 12.0 * 3.0);
    assert_eq!((mount.bytes_written, mount.bytes_read, mount.scratch_bytes), (0, 0, 0));
}

#[test]
fn iozone_is_forecast_cell_by_cell() {
    let p = Profile::named("iozone").unwrap();
    let f = p.forecast(&Assumptions { arms: 1, pairs: 5, fills: 0, ..assumptions() });
    assert_eq!(f.trials, 1638 * 5);
    // Each file size with its number of records: one pass of each operation, 6 write.
    let doublings = |from: u32, to: u32| from..=to;
    let mut pass = 0u64;
    for file in doublings(16, 29) {
        let records = if file <= 24 { file - 12 + 1 } else { 24 - 16 + 1 };
        pass += u64::from(records) << file;
    }
    assert_eq!((f.bytes_written, f.bytes_read), (5 * 6 * pass, 5 * 7 * pass));
    assert_eq!(f.scratch_bytes, (1 << 30) + (512 << 20));
}

#[test]
fn the_scratch_file_must_hold_the_largest_span() {
    let sizes = |p: &str| Profile::named(p).unwrap().scratch_needed();
    assert_eq!(sizes("iozone"), 512 * MIB);
    assert_eq!(sizes("hdtune"), 100 * MIB);
    assert_eq!(sizes("atto"), 64 * MIB);
    assert_eq!(sizes("quick"), MIB);
    assert_eq!(sizes("small-files"), 40_000 << 10);
    assert_eq!((sizes("dd-removable"), sizes("mount")), (0, 0));
}

#[test]
fn max_file_drops_larger_cells() {
    let mut p = Profile::named("iozone").unwrap();
    // Files of 64 KiB to 1 MiB: 5 + 6 + 7 + 8 + 9 pairs.
    assert_eq!(p.max_file(MIB).unwrap(), 1638 - 35 * 13);
    assert_eq!(p.workloads.len(), 35 * 13);
    assert_eq!((p.scratch_needed(), p.size), (MIB, Some(MIB)));
    let before = p.clone();
    insta::assert_snapshot!(p.max_file(65_535).unwrap_err(), @"no workload of profile iozone fits into files of 65535 bytes; the smallest needs 65536");
    assert_eq!(p, before, "an error changes nothing");
    assert_eq!(p.max_file(65_536).unwrap(), 30 * 13);
    // No scratch file is smaller.
    assert_eq!(p.size, Some(MIB));

    let mut dd = Profile::named("dd-copy").unwrap();
    assert_eq!(dd.max_file(524_288_000).unwrap(), 0);
    assert!(dd.max_file(524_287_999).is_err());
    let mut small = Profile::named("small-files").unwrap();
    assert_eq!(small.max_file(4096).unwrap(), 7, "log-normal sizes reach 1 MiB");
    assert_eq!(Profile::named("mount").unwrap().max_file(0).unwrap(), 0);
}

proptest! {
    #[test]
    fn max_file_leaves_exactly_what_fits(limit in 0u64..1 << 30, at in 0..BUILTIN.len()) {
        let name = BUILTIN[at].0;
        let all = Profile::named(name).unwrap();
        let mut cut = all.clone();
        match cut.max_file(limit) {
            Ok(dropped) => {
                prop_assert_eq!(dropped + cut.workloads.len(), all.workloads.len());
                prop_assert!(cut.scratch_needed() <= limit);
                prop_assert!(cut.workloads.iter().all(|w| all.workloads.contains(w)));
                let file = |w: &WorkloadSpec| match &w.work {
                    Work::Block(BlockWork { file: FileUse::Fresh(bytes), .. }) => *bytes,
                    _ => 0,
                };
                prop_assert!(cut.workloads.iter().all(|w| file(w) <= limit));
            }
            Err(_) => prop_assert_eq!(cut, all),
        }
    }

    #[test]
    fn a_forecast_is_finite_and_grows(at in 0..BUILTIN.len(), pairs in 1u32..50) {
        let p = Profile::named(BUILTIN[at].0).unwrap();
        let [a, b] = [pairs, pairs + 1].map(|pairs| {
            p.forecast(&Assumptions { pairs, rates: Rates::default(), ..assumptions() })
        });
        prop_assert!(a.seconds.is_finite() && a.seconds < b.seconds);
        prop_assert!(a.bytes_read <= b.bytes_read && a.bytes_written <= b.bytes_written);
        prop_assert!(a.bytes_read + a.bytes_written < b.bytes_read + b.bytes_written || at == BUILTIN.len() - 1);
    }
}

#[test]
fn files_are_told_apart_by_ending_or_text() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        Profile::from_file(&path)
    };
    let fio = "; a job\n[job]\nrw=randread\nsize=1m\nrate_iops=5\n";
    let toml = BUILTIN[0].1;
    for name in ["a.fio", "b.ini", "c", "d.job"] {
        let p = read(name, fio).unwrap();
        let Work::Block(b) = &p.workloads[0].work else { panic!("{p:?}") };
        assert_eq!((b.direction, b.pattern), (Direction::Read, Pattern::Permutation), "{name}");
        assert_eq!(b.rate, Some(Rate::Requests(5.0)));
    }
    assert_eq!(read("c", "[job]\nsize=1m").unwrap().name, "c");
    for name in ["a.toml", "mine", "x.txt"] {
        assert_eq!(read(name, toml).unwrap().name, "quick", "{name}");
    }
    assert_eq!(
        read("w", &toml.replace("name = \"quick\"", "")).unwrap_err().to_string().lines().count(),
        1
    );
    assert!(read("a.fio", toml).is_err());
    assert!(read("a.toml", fio).is_err());
    let large = format!("# {}\n", "x".repeat(1 << 20));
    assert!(matches!(read("l.toml", &large), Err(ProfileError::TooLarge { .. })));
    let none = Profile::from_file(&dir.path().join("none.toml"));
    assert!(matches!(none, Err(ProfileError::Read { .. })));
}
