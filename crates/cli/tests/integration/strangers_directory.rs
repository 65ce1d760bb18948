//! Nothing that another user put into a directory redirects new files of this program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::sandbox::disk::{Loop, images};
use crate::sandbox::{Sandbox, text};

/// A record that another user sent.
fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json")
}

/// A directory that another user sent, with a record in it, and a file of this user next to it.
fn received() -> (Sandbox, PathBuf) {
    let s = Sandbox::new();
    fs::copy(fixture(), s.out().join("record.json")).unwrap();
    let victim = s.target().join("victim");
    fs::write(&victim, "the user's").unwrap();
    (s, victim)
}

fn kept(victim: &Path) {
    assert_eq!(fs::read(victim).unwrap(), b"the user's", "{}", victim.display());
}

#[test]
fn a_report_goes_through_no_link_to_a_file() {
    let (s, victim) = received();
    let out = s.out().display().to_string();
    symlink(&victim, s.out().join("report.html.part")).unwrap();
    let done = s.run(&["report", &out]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    kept(&victim);
    assert!(fs::read_to_string(s.out().join("report.html")).unwrap().contains("<!DOCTYPE html>"));
    // A link with the name of the page.
    fs::remove_file(s.out().join("report.html")).unwrap();
    symlink(&victim, s.out().join("report.html")).unwrap();
    insta::assert_snapshot!(s.refused(&["report", &out]), @"
        $ cryptbench report SANDBOX/out
        [3] cryptbench: SANDBOX/out/report.html: it is a symbolic link; remove it, or specify another file
        ");
    kept(&victim);
    // Charts: the owner of the directory knows their names.
    let charts = s.out().join("charts");
    let [from, to] = [&s.target().join("made"), &charts].map(|p| p.display().to_string());
    assert!(s.run(&["report", "--output", "/dev/null", "--charts", &from, &out]).status.success());
    fs::create_dir(&charts).unwrap();
    for chart in fs::read_dir(&from).unwrap() {
        let chart = chart.unwrap();
        symlink(chart.path(), charts.join(chart.file_name())).unwrap();
    }
    let done = s.run(&["report", "--output", "/dev/null", "--charts", &to, &out]);
    let said = text(&done.stderr);
    assert!(
        done.status.code() == Some(3) && said.contains("is not a chart made by cryptbench"),
        "{said}"
    );
}

#[test]
fn a_report_is_written_to_no_device() {
    let (s, _) = received();
    let images = images();
    let Some(device) = Loop::new(images.path(), "disk", 4) else { return };
    let before = device.hash();
    symlink(device.path(), s.out().join("report.html")).unwrap();
    let out = s.out().display().to_string();
    let done = s.run(&["report", &out]);
    assert_eq!(device.hash(), before, "the device was written to");
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    // Nor is a device overwritten that is named as the output.
    let named = s.run(&["report", &out, "--output", &device.device]);
    assert_eq!(device.hash(), before, "the device was written to");
    assert_eq!(named.status.code(), Some(3), "{}", text(&named.stderr));
}

#[test]
fn standard_output_and_pipes_can_be_named() {
    let (s, _) = received();
    let out = s.out().display().to_string();
    let args = ["report", &out, "--format", "csv", "--output", "/dev/stdout"];
    let piped = s.run(&args);
    assert!(text(&piped.stdout).starts_with("run_id,"), "{}", text(&piped.stderr));
    // Standard output then contains only the page: a table after it would disturb its readers.
    let page = text(&s.run(&["report", &out, "--output", "/dev/stdout"]).stdout);
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page}");
    // If standard output is a file, it keeps what the shell wrote before. The test does not use `/dev/stdout`,
    // because a faulty program that renames a new file over it would remove it from the whole machine.
    let file = s.target().join("redirected");
    fs::write(&file, "before\n").unwrap();
    let open = fs::File::options().append(true).open(&file).unwrap();
    let args = ["report", &out, "--format", "csv", "--output", "/proc/self/fd/1"];
    let done = s.command(&args).stdout(open).output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(fs::read(&file).unwrap() == [b"before\n", piped.stdout.as_slice()].concat());
    let pipe = s.target().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    let to = pipe.display().to_string();
    let done = s.run(&["report", &out, "--format", "csv", "--output", &to]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(reader.join().unwrap() == piped.stdout);
}

#[test]
fn the_record_of_a_run_goes_through_no_link() {
    let s = Sandbox::new();
    let victim = s.out().with_file_name("victim");
    fs::write(&victim, "the user's").unwrap();
    let out = s.out().display().to_string();
    let args =
        s.tiny(&["--output", &out, "--quiet", "--cipher", "aes-256-xts", "--data-unit", "4096"]);
    // A link without a target also counts as an existing name.
    let planted = s.out().join("record.json");
    symlink(s.out().with_file_name("new"), &planted).unwrap();
    let done = s.run(&args);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("already contains a record.json"), "{said}");
    assert!(!s.out().with_file_name("new").exists());
    fs::remove_file(planted).unwrap();
    for part in ["record.json.part", "report.html.part"] {
        symlink(&victim, s.out().join(part)).unwrap();
    }
    let done = s.run(&args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    kept(&victim);
    assert!(!cryptbench_record::read(&s.out()).unwrap().trials.is_empty());
}
