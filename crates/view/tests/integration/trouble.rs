//! What an answer says about the machine and about runs that were too short: problems of the machine come
//! first, each with a remedy.

use cryptbench_answer::Labelled;
use cryptbench_answer::remarks::remarks;
use cryptbench_answer::surroundings::{meta, occasion};
use cryptbench_record::{
    ArmRole, InUse, Limits, MemoryCost, Operation, PairedTarget, PlaceKind, Power, Record,
    StopReason, Trial, Why, Workload,
};
use cryptbench_view::terminal::Style;
use cryptbench_view::terminal::answer::{Outlook, render};

use crate::fixture::{Fixture, FixtureArm, encrypted, plain, plain_again, system};

const OUTLOOK: Outlook<'_> = Outlook {
    here: None,
    full: "cryptbench report last --full",
    page: Some("~/report.html"),
    run: None,
};

fn lines(record: &Record) -> String {
    render(&Labelled::of(record).report(), Style { width: 80, colour: false }, OUTLOOK)
}

/// Without line breaks.
fn answer(record: &Record) -> String {
    lines(record).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines of the answer to `record` that the answer to `other` does not contain.
fn beside(record: &Record, other: &Record) -> String {
    let other = lines(other);
    let own = lines(record);
    let own = own.lines().filter(|line| !other.lines().any(|known| known == *line));
    own.collect::<Vec<_>>().join("\n")
}

fn gocryptfs() -> FixtureArm {
    system("gocryptfs", "aes-256-gcm", &[0.1], 4.0)
}

fn of(systems: Vec<FixtureArm>) -> Fixture {
    let arms = [vec![plain(), plain_again()], systems].concat();
    Fixture { arms, ..Fixture::default() }
}

#[test]
fn what_kind_of_place_it_is_comes_first() {
    let with = |filesystem: &str, place: Vec<PlaceKind>| {
        let mut record = of(vec![gocryptfs()]).record();
        (record.target.filesystem, record.target.place) = (filesystem.to_owned(), place);
        answer(&record)
    };
    let how = |how: &str| PlaceKind::Compresses { how: how.to_owned() };
    let memory = "tmpfs is memory, not a disk: these figures say nothing about disks.";
    assert!(with("tmpfs", vec![PlaceKind::Memory]).starts_with(memory));
    // Records of earlier versions show this only by their file system.
    assert!(with("tmpfs", Vec::new()).starts_with(memory));
    let btrfs = with("btrfs", vec![how("compress=zstd"), PlaceKind::CopiesOnWrite]);
    assert!(btrfs.starts_with("btrfs compresses (compress=zstd) and copies on write:"), "{btrfs}");
    assert!(
        with("nfs4", vec![PlaceKind::Network])
            .starts_with("nfs4: every figure includes the server")
    );
    let file = PlaceKind::InFile { file: "/x/img".to_owned(), filesystem: "xfs".to_owned() };
    assert!(with("ext4", vec![file]).starts_with("The disk is the file /x/img on xfs:"));
    assert!(!with("ext4", Vec::new()).contains("disk is"));
}

#[test]
fn a_container_s_limit_on_processors_is_in_the_answer_which_fits() {
    let mut record = of(vec![gocryptfs()]).record();
    record.machine.limits =
        Limits { memory_bytes: Some(96 << 20), cpus: Some(0.2), throttled_s: Some(1.4) };
    record.elapsed_s = 20.0;
    record.target.place = vec![
        PlaceKind::InFile {
            file: "/srv/images/disk.img".to_owned(),
            filesystem: "ext4".to_owned(),
        },
        PlaceKind::Compresses { how: "compress-force=zstd:3".to_owned() },
        PlaceKind::CopiesOnWrite,
    ];
    record.target.filesystem = "btrfs".to_owned();
    let style = Style { width: 80, colour: false };
    let text = render(&Labelled::of(&record).report(), style, OUTLOOK);
    assert!(text.lines().count() <= 24, "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "This container may use 0.2 CPUs and 96 MiB of memory; it was throttled for 1.4 s, 7 % of the run: every \
                figure includes that limit.";
    assert!(words.contains(said), "{words}");
}

#[test]
fn memory_that_the_host_took_back_is_told_of_reads_too() {
    let with = |operation: Operation| {
        let mut record = of(vec![gocryptfs()]).record();
        record.machine.virtualisation = Some("virtual machine".to_owned());
        let memory = MemoryCost { free_s_per_mib: 1.3e-3, reused_s_per_mib: 0.3e-3 };
        record.why = Some(Why { memory: Some(memory), ..Why::default() });
        record.plan.workloads.retain(|w| w.operation == operation);
        remarks(&record).join(" ")
    };
    let reads = with(Operation::Read);
    assert!(reads.contains("Large reads of gocryptfs aes-256-gcm include that time."), "{reads}");
    assert!(!with(Operation::Write).contains("free memory back"));
}

#[test]
fn zeros_on_a_compressing_file_system_are_no_cache() {
    let mut fixture = of(vec![gocryptfs()]);
    fixture.workloads =
        vec![Workload { content: Some("zeros".to_owned()), ..fixture.workloads[0].clone() }];
    let mut record = fixture.record();
    for trial in &mut record.trials {
        // Almost nothing reached the disk.
        let moved = trial.measured.device.as_mut().unwrap();
        (moved.read_bytes, moved.written_bytes) = (0, 4096);
    }
    let text = answer(&record);
    assert!(text.contains("cache"), "{text}");
    record.target.filesystem = "btrfs".to_owned();
    record.target.mount_options = "rw,compress-force=zstd:3".to_owned();
    let text = answer(&record);
    assert!(!text.contains("cache") && text.contains("packed"), "{text}");
    let said = "Rows with random data: btrfs compresses (compress-force=zstd:3)";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_machine_that_saves_power_is_told_before_any_system() {
    let with = |power: Power| {
        let mut record = of(vec![gocryptfs()]).record();
        record.machine.power = power;
        beside(&record, &of(vec![gocryptfs()]).record())
    };
    let some = |word: &str| Some(word.to_owned());
    let told = [
        Power { on_battery: Some(true), ..Power::default() },
        Power { governor: some("powersave"), driver: some("acpi-cpufreq"), ..Power::default() },
        Power { preference: some("power"), ..Power::default() },
    ]
    .map(with);
    insta::assert_snapshot!(told.join("\n\n"), @"
        Use    Mains power: this machine ran on its battery, and may have saved power.
               gocryptfs, if its worst case is acceptable: large writes, one at a time,

        Use    A faster clock: the powersave governor keeps the CPUs at their lowest
               frequency. sudo cpupower frequency-set -g performance
               gocryptfs, if its worst case is acceptable: large writes, one at a time,

        Use    A faster clock: the CPUs are set to prefer saving power. sudo cpupower
               set --epp balance_performance
               gocryptfs, if its worst case is acceptable: large writes, one at a time,
        ");
    // With these drivers, that governor is the default and is fast.
    for driver in ["intel_pstate", "amd-pstate-epp"] {
        let usual = Power {
            governor: some("powersave"),
            driver: some(driver),
            preference: some("balance_performance"),
            on_battery: Some(false),
        };
        assert_eq!(with(usual), "");
    }
}

/// A disk that gives every kind of request the same rate.
fn held(workload: &Workload) -> f64 {
    match (workload.block_size, workload.queue_depth) {
        (4096, 1) => 2_000.0,
        (4096, _) => 3_000.0,
        _ => 119.0,
    }
}

#[test]
fn a_disk_that_something_holds_to_a_rate_is_told_and_one_that_varies_is_not() {
    let cloud = Fixture { base: held, noise_sd: 0.002, drift_sd: 0.002, ..of(vec![gocryptfs()]) };
    let text = answer(&cloud.record());
    let said = "A limit of 3,000 requests per second on nvme0n1p2 hides what encryption costs for small requests";
    assert!(text.starts_with(said), "{text}");
    assert!(text.contains("Use A disk without a rate limit, or with a higher one:"));
    let mut fast = cloud.record();
    // Small writes have another rate, so only the limit on bytes remains.
    for trial in fast.trials.iter_mut().filter(|t| t.workload.starts_with("ran-write")) {
        trial.measured.elapsed_s *= 0.8;
    }
    let text = answer(&fast);
    assert!(
        !text.contains("requests per second") && text.contains("of 125 MB per second"),
        "{text}"
    );
    // A rotating disk reads and writes sequentially at the same rate by itself.
    fast.target.device.as_mut().unwrap().rotational = true;
    assert!(!answer(&fast).contains("A limit of"));
    let natural = Fixture { base: held, noise_sd: 0.1, ..of(vec![gocryptfs()]) };
    assert!(!answer(&natural.record()).contains("holds"));
}

#[test]
fn path_or_cipher_is_told_where_the_pass_through_was_measured() {
    let null = |ratio: f64| {
        let mut null = system("bindfs", "null", &[ratio], 2.0);
        null.arm.role = ArmRole::NullLayer;
        null
    };
    let with = |ratio: f64| {
        let mut own = system("gocryptfs", "aes-256-gcm", &[0.4], 4.0);
        own.arm.null_layer = Some("bindfs/null".to_owned());
        answer(&of(vec![null(ratio), own]).record())
    };
    let path = with(0.5);
    let says =
        "The path of gocryptfs costs more than its cipher: without the cipher it runs at 50 %.";
    assert!(path.contains(says), "{path}");
    let cipher = with(0.9);
    assert!(cipher.contains("The cipher of gocryptfs costs more than its path"), "{cipher}");
    // The square root of 0.4: half of the loss is caused by the path.
    assert!(!with(0.4_f64.sqrt()).contains("costs more than"));
    assert!(!answer(&of(vec![gocryptfs()]).record()).contains("costs more than"));
}

/// A dm-crypt device in use, read together with the underlying device.
fn in_use(blocks: u32) -> Record {
    let mut own = encrypted("LUKS2 (dm-crypt)", 512, &[0.8], 0.3);
    own.arm.id = "paired".to_owned();
    own.arm.system = "paired".to_owned();
    let mut fixture = of(vec![own]);
    fixture.blocks = blocks;
    fixture.reason = StopReason::Budget;
    fixture.workloads.retain(|w| w.operation == Operation::Read);
    let mut record = fixture.record();
    let (budget, elapsed) = (120.0, 120.0);
    (record.plan.budget_s, record.elapsed_s) = (budget, elapsed);
    record.target.kind = Some("device".to_owned());
    record.target.paired = Some(PairedTarget {
        name: "LUKS2 (dm-crypt)".to_owned(),
        arm: "paired".to_owned(),
        directory: "/dev/mapper/safe".to_owned(),
        kind: "device".to_owned(),
        source: "/dev/mapper/safe".to_owned(),
        in_use: Some(InUse {
            system: "LUKS2".to_owned(),
            below: "nvme0n1p2".to_owned(),
            sector_size: 512,
            ..InUse::default()
        }),
        ..PairedTarget::default()
    });
    record
}

#[test]
fn a_device_in_use_with_too_few_repeats_names_the_run_that_has_more() {
    let mut none = in_use(0);
    none.partial = true;
    none.trials.retain(|trial: &Trial| trial.block.is_some());
    let told = [in_use(2), in_use(1), none].map(|record| lines(&record));
    insta::assert_snapshot!(told.join("\n"));
    let few = answer(&in_use(4));
    assert!(few.contains('±') && !few.contains("a figure needs"), "{few}");
}

#[test]
fn a_run_that_can_go_on_says_so_with_the_rights_that_it_had() {
    let mut record = in_use(2);
    (record.plan.min_pairs, record.plan.max_pairs, record.partial) = (6, 6, true);
    let in_use = beside(&record, &in_use(2));
    let mut ended = of(vec![gocryptfs()]).record();
    ended.partial = true;
    ended.stops.iter_mut().for_each(|stop| stop.reason = StopReason::Interrupted);
    let ended = beside(&ended, &of(vec![gocryptfs()]).record());
    insta::assert_snapshot!(in_use + "\n\n" + &ended, @"
        Open   The budget ran out before 4 of 4 workloads had all 6 repeats. To
               continue: sudo cryptbench run --resume RUN_DIRECTORY
               Writes were not measured: a device in use is only read. Its sectors have
               LUKS2 (dm-crypt): 2 repeats ran; a figure needs at least 3.

        Open   The run ended early, after 7 min. To continue: cryptbench run --resume
               RUN_DIRECTORY
        ");
}

#[test]
fn a_run_whose_time_ran_out_is_not_called_interrupted() {
    let mut record = of(vec![gocryptfs()]).record();
    record.partial = true;
    for (reason, ending) in
        [(StopReason::Budget, ", time ran out"), (StopReason::Interrupted, ", interrupted")]
    {
        record.stops.iter_mut().for_each(|stop| stop.reason = reason);
        assert!(occasion(&record).ends_with(ending), "{}", occasion(&record));
        assert!(meta(&record).contains(&format!("{ending}, ")), "{}", meta(&record));
    }
}
