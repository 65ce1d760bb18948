//! Directories whose names are not UTF-8 or contain a line break. Every path on the command line may lead to one.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::every_command::paths;
use crate::sandbox::waiting::{trials_in, wait_for_trials, wait_until};
use crate::sandbox::{Sandbox, skipped, text};

/// `café` in Latin-1, and a name with two lines, the second of which clears a terminal.
const NAMES: [&[u8]; 2] = [b"caf\xe9", "a\nb\u{1b}[2J\u{9b}x".as_bytes()];

/// An ordinary name; all other names must behave in the same way.
const PLAIN: &[u8] = b"plain";

/// Options of a short run.
const TINY: &str =
    "--builtin-only --size 16MiB --trial 10ms --max-pairs 6 --budget 60s --profile ../tiny.toml";

/// The arguments with which `command` uses the directory `{}`, or something in it, as `argument`. Every new path
/// argument needs a line.
fn arguments(command: &str, argument: &str) -> String {
    let dry = "--dry-run --builtin-only";
    let volume = |rest: &str| match command {
        "volume dump" => format!("{rest} dumped"),
        "volume mount" => format!("{rest} mnt --raw"),
        "volume header-backup" => format!("{rest} saved"),
        "volume key add" | "volume key change" => {
            format!("{rest} --new-passphrase-file secret --unlock-time 1ms")
        }
        "volume key remove" => format!("{rest} --force"),
        "volume export" => format!("{rest} --nbd socket"),
        "volume header-restore" => format!("{rest} backup --force"),
        _ => rest.to_owned(),
    };
    let opened = "v --passphrase-file secret";
    let new = "new --size 3MiB --format luks1 --unlock-time 1ms";
    match (command, argument) {
        ("run", "target") => format!("{{}} {TINY}"),
        ("run", "--pair") => format!("{dry} --pair {{}}/one name={{}}/two").replace("--builtin-only ", ""),
        ("run", "--existing") => "--dry-run --existing {}".to_owned(),
        ("run", "--emulate") => format!("{dry} --emulate {{}}/model.toml"),
        ("run", "--emulate-backing") => format!("{TINY} --emulate nvme --emulate-backing {{}}"),
        ("run", "--destroy") => format!("{TINY} --destroy {{}}/victim {{}}/victim"),
        ("run", "--profile") => format!("{dry} --profile {{}}/tiny.toml"),
        ("run", "--like") => "--dry-run --size 16MiB --like {}/record.json".to_owned(),
        ("run", "--output") => format!("{TINY} --output {{}}/out"),
        ("run", "--fleet") => format!("{TINY} --fleet {{}}/nodes"),
        ("run", "--resume") => "--resume {}".to_owned(),
        ("report", "record") => "{}/record.json".to_owned(),
        ("report", "--output") => "record.json --output {}/page.html".to_owned(),
        ("report", "--charts") => "record.json --output page.html --charts {}/charts".to_owned(),
        ("report", "--share") => "record.json --share {}/shared.json".to_owned(),
        ("report", "--bundle") => "record.json --bundle {}/bundle.zip".to_owned(),
        ("doctor", "directory") | ("manual", "directory") => "{}".to_owned(),
        ("kdf", "--bootloader") => "--bootloader {}/v".to_owned(),
        ("predict", "--device") => "--cipher-rate 1000 --device {}/record.json".to_owned(),
        ("predict", "--ciphers-from") => "--ciphers-from {}/ciphers.json".to_owned(),
        ("predict", "--record") => "--cipher-rate 1000 --record {}/record.json".to_owned(),
        ("predict", "against") => "--cipher-rate 1000 --validate {}/record.json".to_owned(),
        ("studies", "--output") => "B --from record.json --output {}/tables.txt".to_owned(),
        ("studies", "--charts") => "B --from record.json --charts {}/charts".to_owned(),
        ("studies", "--from") => "B --from {}/record.json".to_owned(),
        ("studies", "--beside") => "A --beside {}/record.json".to_owned(),
        ("compare", "a") => "{}/record.json record.json".to_owned(),
        ("compare", "b") => "record.json {}/record.json".to_owned(),
        ("compare", "--joint") => "--joint {}/record.json record.json".to_owned(),
        ("compare", "--also-a") => "record.json record.json --also-a {}/record.json".to_owned(),
        ("compare", "--also-b") => "record.json record.json --also-b {}/record.json".to_owned(),
        ("history add", "records") => "{}/record.json".to_owned(),
        ("history add", "--database") => "record.json --database {}/new.sqlite".to_owned(),
        ("history check", "record") => "{}/record.json --database h.sqlite".to_owned(),
        ("history show" | "history remove", _) => "1 --database {}/h.sqlite".to_owned(),
        ("history list" | "history check" | "history regressions", _) => {
            "--database {}/h.sqlite".to_owned()
        }
        ("fleet plan", "plan") => "{}/plan.toml --for ssh".to_owned(),
        ("fleet report", "directory") => "{}/fleet".to_owned(),
        ("fleet report", "--plan") => "fleet --plan {}/plan.toml".to_owned(),
        ("fleet collect", "directory") => "{}/fleet --output dataset".to_owned(),
        ("fleet collect", "--output") => "fleet --output {}/dataset".to_owned(),
        ("serve", "--fleet") => "--fleet {}/fleet".to_owned(),
        ("volume create", "volume") => format!("{{}}/{new} --passphrase-file secret"),
        ("volume create", "--passphrase-file") => format!("{new} --passphrase-file {{}}/secret"),
        ("volume create", "--keyfile") => {
            "new --size 2MiB --pim 1 --passphrase-file secret --keyfile {}/key".to_owned()
        }
        ("volume create", "--recovery-password-file") => {
            "new --size 64MiB --format bitlocker --passphrase-file secret --recovery-password-file {}/recovery"
                .to_owned()
        }
        ("volume create", "--outer-passphrase-file") => {
            "tc --hidden --size 256KiB --destroy tc --pim 1 --passphrase-file key --outer-passphrase-file {}/secret --outer-pim 1".to_owned()
        }
        ("volume create", "--outer-keyfile") => {
            "tc --hidden --size 256KiB --destroy tc --pim 1 --passphrase-file key --outer-passphrase-file secret --outer-pim 1 --outer-keyfile {}/key".to_owned()
        }
        ("volume create", "--destroy") => {
            "{}/victim --destroy {}/victim --format luks1 --unlock-time 1ms --passphrase-file secret"
                .to_owned()
        }
        ("volume umount", "what") => "{}".to_owned(),
        ("volume mount", "mountpoint") => format!("{opened} {{}}/mnt --raw"),
        ("volume dump", "output") => format!("{opened} {{}}/dumped"),
        ("volume header-backup", "output") => format!("{opened} {{}}/saved"),
        ("volume header-restore", "backup") => format!("{opened} {{}}/backup --force"),
        ("volume export", "--nbd") => format!("{opened} --nbd {{}}/socket"),
        (_, "volume") => volume("{}/v --passphrase-file {}/secret"),
        (_, "--passphrase-file") => volume("v --passphrase-file {}/secret"),
        (_, "--keyfile") => volume("v --keyfile {}/secret"),
        (_, "--header") => volume("v --passphrase-file secret --header {}/v"),
        (_, "--recovery-password-file") => volume("v --recovery-password-file {}/secret"),
        (_, "--startup-key") => volume("v --startup-key {}/secret"),
        (_, "--wrapped-passphrase") => {
            let to = if command == "volume info" { "--open" } else { "dumped" };
            format!("aes-128/lower {to} --passphrase-file login --wrapped-passphrase {{}}/wrapped1")
        }
        (_, "--new-passphrase-file") => {
            format!("{opened} --new-passphrase-file {{}}/secret --unlock-time 1ms")
        }
        (_, "--new-keyfile") => format!("{opened} --new-keyfile {{}}/key --unlock-time 1ms"),
        (_, "--hidden-passphrase-file") => {
            volume(&format!("{opened} --hidden-passphrase-file {{}}/secret"))
        }
        (_, "--hidden-keyfile") => volume(&format!("{opened} --hidden-keyfile {{}}/key")),
        _ => panic!("{command} {argument} is new: say here how it takes a path"),
    }
}

struct Place {
    sandbox: Sandbox,
    name: &'static [u8],
}

impl Place {
    /// A sandbox with a directory of that name. All files that the commands use are in it or next to it.
    fn new(name: &'static [u8], furniture: &Path) -> Self {
        let place = Self { sandbox: Sandbox::new(), name };
        for at in [place.sandbox.target(), place.odd()] {
            let made =
                Command::new("cp").args(["-r", "--"]).arg(furniture.join(".")).arg(&at).status();
            assert!(made.unwrap().success());
        }
        place
    }

    fn odd(&self) -> PathBuf {
        self.sandbox.target().join(OsStr::from_bytes(self.name))
    }

    /// Splits the line into words and replaces `{}` with the directory.
    fn words(&self, line: &str) -> Vec<OsString> {
        let odd = self.odd();
        let word = |word: &str| {
            let mut parts = word.split("{}");
            let mut out = OsString::from(parts.next().unwrap_or_default());
            for part in parts {
                out.push(&odd);
                out.push(part);
            }
            out
        };
        line.split(' ').map(word).collect()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.sandbox.command(&[]);
        command.args(self.words(line));
        command
    }

    /// Exit code and all output. Servers are stopped after their first output.
    fn run(&self, line: &str) -> (Option<i32>, String) {
        if !line.starts_with("serve") && !line.starts_with("volume export") {
            let done = self.command(line).output().unwrap();
            return (done.status.code(), text(&[done.stderr, done.stdout].concat()));
        }
        let (mut said, both) = std::io::pipe().unwrap();
        let mut command = self.command(line);
        command.stdout(both.try_clone().unwrap()).stderr(both);
        let mut child = command.spawn().unwrap();
        drop(command);
        let mut some = [0; 4096];
        let len = said.read(&mut some).unwrap();
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        let mut rest = Vec::new();
        said.read_to_end(&mut rest).unwrap();
        (child.wait().unwrap().code(), text(&[&some[..len], &rest].concat()))
    }
}

fn furniture() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let fixtures = crates.join("cli/tests/fixtures");
    for sub in ["one", "two", "mnt", "fleet"] {
        fs::create_dir(at.join(sub)).unwrap();
    }
    fs::copy(fixtures.join("readme.json"), at.join("record.json")).unwrap();
    fs::copy(fixtures.join("builtin-only.json"), at.join("fleet/node1.json")).unwrap();
    fs::copy(crates.join("devices/models/nvme.toml"), at.join("model.toml")).unwrap();
    fs::write(at.join("secret"), "a secret").unwrap();
    fs::write(at.join("login"), "login pass").unwrap();
    let lower = crates.join("volume/tests/fixtures/ecryptfs/volumes.tar.gz");
    let unpacked = Command::new("tar").arg("-xf").arg(lower).current_dir(at).status();
    assert!(unpacked.unwrap().success());
    fs::write(at.join("key"), [7; 100]).unwrap();
    fs::File::create(at.join("victim")).unwrap().set_len(32 << 20).unwrap();
    let plan = "nodes = [\"n[1-3]\"]\nsystems = [\"builtin\"]\nbudget = \"1m\"\ntarget = \"/tmp\"\nfleet = \"/f\"\n";
    fs::write(at.join("plan.toml"), plan).unwrap();
    let s = Sandbox::new();
    fs::copy(s.profile(), at.join("tiny.toml")).unwrap();
    for line in [
        "volume create v --size 3MiB --format luks1 --unlock-time 1ms --passphrase-file secret",
        "volume create tc --size 1MiB --pim 1 --passphrase-file secret",
        "volume header-backup v backup --passphrase-file secret",
        "history --database h.sqlite add record.json",
    ] {
        let done =
            s.command(&line.split(' ').collect::<Vec<_>>()).current_dir(at).output().unwrap();
        assert!(done.status.success(), "{line}: {}", text(&done.stderr));
    }
    let rates = s.run(&["ciphers", "--json", "--cipher", "aes-256-xts", "--seconds", "0.2"]);
    fs::write(at.join("ciphers.json"), rates.stdout).unwrap();
    dir
}

/// The parts of the test. All commands together take minutes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Runs,
    Opened,
    Keys,
    Others,
}

impl Part {
    fn of(command: &str) -> Self {
        match command {
            "run" => Self::Runs,
            "volume mount" | "volume umount" | "volume export" => Self::Opened,
            _ if command.starts_with("volume ") => Self::Keys,
            _ => Self::Others,
        }
    }
}

#[test]
fn every_path_that_a_run_takes_may_be_odd() {
    every_path_may_be_odd(Part::Runs);
}

#[test]
fn every_path_that_opens_a_volume_may_be_odd() {
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        return skipped("mounting needs root and /dev/fuse");
    }
    every_path_may_be_odd(Part::Opened);
}

#[test]
fn every_path_that_leads_to_a_volume_may_be_odd() {
    every_path_may_be_odd(Part::Keys);
}

#[test]
fn every_path_that_another_command_takes_may_be_odd() {
    every_path_may_be_odd(Part::Others);
}

fn every_path_may_be_odd(part: Part) {
    let furniture = furniture();
    let mut faults = Vec::new();
    eprintln!(
        "{:<24} {:<26} {:>6} {:>7} {:>9}",
        "command", "path", "plain", "caf\\xe9", "a\\nb..."
    );
    for (command, argument) in paths().into_iter().filter(|(command, _)| Part::of(command) == part)
    {
        let line = format!("{command} {}", arguments(command, argument));
        let mut codes = Vec::new();
        for name in [PLAIN, NAMES[0], NAMES[1]] {
            let (code, said, left) = tried(command, argument, name, furniture.path(), &mut faults);
            let first = codes.first().copied().unwrap_or(code);
            if code != first || code == Some(101) || said.contains("panicked") || !left.is_empty() {
                faults.push(format!(
                    "{line} in {:?}: {code:?}, not {first:?}: {said} {left:?}",
                    text(name)
                ));
            }
            codes.push(code);
        }
        let [plain, latin, lines] = codes[..] else { unreachable!() };
        let shown = |code: Option<i32>| code.map_or("killed".to_owned(), |code| code.to_string());
        eprintln!(
            "{command:<24} {argument:<26} {:>6} {:>7} {:>9}",
            shown(plain),
            shown(latin),
            shown(lines)
        );
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Runs `command` in a directory of that name. Returns its exit code, its output, and the journals left behind.
fn tried(
    command: &str,
    argument: &str,
    name: &'static [u8],
    furniture: &Path,
    faults: &mut Vec<String>,
) -> (Option<i32>, String, Vec<PathBuf>) {
    let line = format!("{command} {}", arguments(command, argument));
    let place = Place::new(name, furniture);
    if command == "volume umount" {
        place.run("volume mount {}/v {}/mnt --raw --passphrase-file secret");
    }
    let (code, said) = place.run(&line.replace("umount {}", "umount {}/mnt"));
    if command == "volume mount" && code == Some(0) {
        let (code, said) = place.run(match argument {
            "mountpoint" => "volume umount {}/mnt",
            _ => "volume umount mnt",
        });
        if code != Some(0) {
            faults.push(format!("{line}, then umount: {code:?} {said}"));
        }
    }
    let steers = |c: char| c.is_control() && !"\n\t".contains(c);
    // The contents of a volume and shell scripts are printed unchanged.
    let is_text = command != "volume dump" || argument == "output";
    if is_text && (said.contains(steers) || said.lines().any(|line| line.starts_with("b\\u{1b}"))) {
        faults.push(format!("{line} prints a forged line or controls: {said:?}"));
    }
    let journals = place.sandbox.left_behind().into_iter();
    let left = journals.filter(|path| path.extension() == Some(OsStr::new("jsonl"))).collect();
    (code, said, left)
}

/// A user other than root, if the test can choose the user.
const STRANGER: u32 = 65_534;

/// Makes another user the owner of the sandbox.
fn give_away(at: &Path) {
    lchown(at, Some(STRANGER), Some(STRANGER)).unwrap();
    for entry in fs::read_dir(at).unwrap().flatten() {
        lchown(entry.path(), Some(STRANGER), Some(STRANGER)).unwrap();
        if entry.file_type().unwrap().is_dir() {
            give_away(&entry.path());
        }
    }
}

/// In such a directory everything works with relative paths, and is cleaned up after a kill.
#[test]
fn runs_and_volumes_work_there_and_a_killed_process_leaves_nothing() {
    let furniture = furniture();
    let root = rustix::process::geteuid().is_root();
    for (name, user) in NAMES.into_iter().flat_map(|name| [(name, None), (name, Some(STRANGER))]) {
        if user.is_some() && !root {
            continue;
        }
        let place = Place::new(name, furniture.path());
        if user.is_some() {
            let above = place.sandbox.target();
            fs::set_permissions(above.parent().unwrap(), fs::Permissions::from_mode(0o755))
                .unwrap();
            give_away(above.parent().unwrap());
        }
        let command = |line: &str| {
            let mut command = place.command(line);
            command.current_dir(place.odd());
            user.map(|user| command.uid(user).gid(user));
            command
        };
        let works = |line: &str| {
            let done = command(line).output().unwrap();
            let what = format!("{line} by {user:?} in {:?}", text(name));
            assert!(done.status.success(), "{what}: {}", text(&done.stderr));
        };
        let before = names_in(&place.odd());
        works(
            &format!("run {TINY} --profile tiny.toml --output out")
                .replace(" --profile ../tiny.toml", ""),
        );
        fs::remove_dir_all(place.odd().join("out")).unwrap();
        assert_eq!(names_in(&place.odd()), before);
        // A run that is killed and resumed.
        let line = "run . --builtin-only --size 64MiB --trial 20ms --budget 30s --precision 0.01% --profile tiny.toml --output out";
        for resumed in [false, true] {
            let mut child =
                command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let out = place.odd().join("out");
            if resumed {
                wait_for_trials(&mut child, &out, 10);
            } else {
                wait_until("a scratch file", || {
                    assert!(child.try_wait().unwrap().is_none(), "{line}");
                    let mut names = names_in(&place.odd()).into_iter();
                    out.exists() && names.any(|name| name.as_bytes().ends_with(b".scratch"))
                });
            }
            child.kill().unwrap();
            child.wait().unwrap();
            works("cleanup");
            if resumed {
                let before_kill = trials_in(&out);
                // Resuming works from any directory, because the log contains the run's directory.
                let mut again = command("run --resume {}/out --quiet");
                let mut child = again
                    .current_dir("/")
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                wait_for_trials(&mut child, &out, before_kill + 10);
                let _ = kill_process(Pid::from_child(&child), Signal::INT);
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                let code = child.wait().unwrap().code();
                assert!([Some(0), Some(130)].contains(&code), "{code:?} {said}");
            }
            fs::remove_dir_all(place.odd().join("out")).unwrap();
            assert_eq!(names_in(&place.odd()), before, "after cleanup");
        }
        works(
            "volume create made --size 3MiB --format luks1 --unlock-time 1ms --passphrase-file secret",
        );
        // An ordinary user may only mount where udev gives access to /dev/fuse, so this part runs only as root.
        if user.is_some() {
            continue;
        }
        if !root || !Path::new("/dev/fuse").exists() {
            skipped("mounting needs root and /dev/fuse");
            continue;
        }
        works(
            "volume create made2 --size 16MiB --format luks1 --unlock-time 1ms --passphrase-file secret --mkfs ext4",
        );
        works("volume mount made2 mnt --passphrase-file secret");
        fs::write(place.odd().join("mnt/kept"), "kept").unwrap();
        works("volume umount mnt");
        works("volume mount made2 mnt --passphrase-file secret");
        assert_eq!(fs::read(place.odd().join("mnt/kept")).unwrap(), b"kept");
        // Kills the keeper, which has the journal.
        for process in serving() {
            kill_process(process, Signal::KILL).unwrap();
        }
        wait_until("it is unmounted", || {
            let _ = command("cleanup").output().unwrap();
            names_in(&place.odd().join("mnt")).is_empty()
        });
        works("cleanup");
        let journals = place.sandbox.left_behind().into_iter();
        let left: Vec<_> =
            journals.filter(|path| path.extension() == Some(OsStr::new("jsonl"))).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn names_in(at: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(at).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

/// The processes that serve `made2`.
fn serving() -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let has = |word: &[u8]| line.split(|byte| *byte == 0).any(|part| part == word);
        let id = entry.file_name().to_str().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
        if let Some(id) = id.filter(|_| has(b"made2") && has(b"keep")) {
            found.push(id);
        }
    }
    found
}
