//! Situations from public reports in which a run once failed or printed something wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::disk::{Loop, Mount};
use crate::sandbox::waiting::wait_for_trials;
use crate::sandbox::{Sandbox, skipped, text};

/// `--profile atto` contains requests of 512 bytes, which such a disk does not support.
#[test]
fn cells_below_the_sectors_of_a_disk_are_left_out_and_named() {
    let s = Sandbox::new();
    let image = s.out().join("image");
    fs::File::create(&image).unwrap().set_len(300 << 20).unwrap();
    let image = image.display().to_string();
    let Some(device) = Loop::over(&image, &["--sector-size=4096"]) else { return };
    if !device.has_ext4() {
        return;
    }
    let target = s.target();
    let Some(_mount) = Mount::new(&[&device.device], &target) else { return };
    let out = s.out().join("run").display().to_string();
    let done = s.run(&[
        "run",
        "--profile",
        "atto",
        "--builtin-only",
        "--data-unit=4096",
        "--size=64MiB",
        "--trials=1",
        "--trial=10ms",
        "--output",
        &out,
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let record = cryptbench_record::read(Path::new(&out)).unwrap();
    assert!(record.plan.workloads.iter().all(|w| w.block_size >= 4096));
    assert!(record.plan.workloads.iter().any(|w| w.block_size == 4096));
    let said = record.notes.iter().find(|note| note.contains("512 B to 2 KiB"));
    assert!(said.is_some(), "{:?}", record.notes);
}

/// Control groups with limits for this test; `None` if no group can be created.
struct Limited(Vec<PathBuf>);

impl Limited {
    fn new() -> Option<Self> {
        let name = format!("cryptbench-test-{}", std::process::id());
        let group = |place: &str, limits: &[(&str, &str)]| -> Option<PathBuf> {
            let group = Path::new("/sys/fs/cgroup").join(place).join(&name);
            fs::create_dir(&group).ok()?;
            let set = |(file, value): &(&str, &str)| fs::write(group.join(file), value).is_ok();
            if !limits.iter().all(set) {
                let _ = fs::remove_dir(&group);
                return None;
            }
            Some(group)
        };
        if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
            return group("", &[("memory.max", "96M"), ("cpu.max", "20000 100000")])
                .map(|group| Self(vec![group]));
        }
        let mut made = Self(Vec::new());
        made.0.push(group("memory", &[("memory.limit_in_bytes", "96M")])?);
        let cpu = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000")];
        made.0.push(group("cpu", &cpu)?);
        Some(made)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        self.0.iter().for_each(|group| drop(fs::remove_dir(group)));
    }
}

#[test]
fn the_limits_of_a_container_are_told() {
    let s = Sandbox::new();
    let Some(limited) = Limited::new() else {
        return skipped("control groups cannot be made here");
    };
    let groups: Vec<String> = limited.0.iter().map(|g| g.display().to_string()).collect();
    let enter =
        "for g; do echo $$ >\"$g/cgroup.procs\" || exit 9; done; exec \"$CRYPTBENCH\" doctor";
    let usual = s.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", enter, "sh"]).args(&groups).current_dir(s.target());
    let own = usual.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(own).env("CRYPTBENCH", env!("CARGO_BIN_EXE_cryptbench"));
    let done = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("0.2 CPUs and 96 MiB"), "{said} {}", text(&done.stderr));
}

#[test]
fn memory_is_no_disk_and_that_comes_first() {
    let s = Sandbox::new();
    let target = s.target();
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=300m", "none"], &target) else {
        return;
    };
    let done = s.run(&s.tiny(&["--builtin-only"]));
    let said = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(said.starts_with("tmpfs is memory, not a disk"), "{said}");
}

#[test]
fn a_trial_in_which_the_program_was_stopped_is_repeated() {
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let mut arguments =
        vec!["run", "--builtin-only", "--data-unit=4096", "--size=16MiB", "--quiet"];
    arguments.extend(["--profile", s.profile(), "--trials=3", "--trial=400ms", "--output", &out]);
    let mut run =
        s.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let process = Pid::from_child(&run);
    // One of the stops may come between two trials, where it has no effect.
    for trials in [1, 4, 7] {
        wait_for_trials(&mut run, &s.out(), trials);
        std::thread::sleep(Duration::from_millis(100));
        kill_process(process, Signal::STOP).unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        kill_process(process, Signal::CONT).unwrap();
    }
    assert!(run.wait().unwrap().success());
    let record = cryptbench_record::read(&s.out()).unwrap();
    let said = |note: &&String| note.starts_with("This process was stopped for 1.");
    assert!(record.notes.iter().any(|note| said(&note)), "{:?}", record.notes);
    let longest = record.trials.iter().map(|t| t.measured.elapsed_s).fold(0.0, f64::max);
    assert!(longest < 1.4, "{longest}: a trial has the time in which it was stopped");
}
