//! Manual pages and completions, checked with the programs that read them, and the package that contains them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::sandbox::{Sandbox, nightly, skipped, text};

fn pages(sandbox: &Sandbox) -> Vec<PathBuf> {
    let directory = sandbox.out().join("man");
    let done = sandbox.run(&["manual", directory.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let mut pages: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() > 20, "{pages:?}");
    pages
}

/// Whether a program can be started.
fn is_here(program: &str) -> bool {
    let quiet = || Stdio::null();
    Command::new(program)
        .arg("--version")
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .status()
        .is_ok()
}

/// The name of each page, with the output of a formatter; empty if that program is missing.
fn formatted(program: &str, args: &[&str]) -> Vec<(String, Output)> {
    if !is_here(program) {
        skipped(&format!("there is no program {program}"));
        return Vec::new();
    }
    let sandbox = Sandbox::new();
    let format = |page: PathBuf| {
        let done = Command::new(program).args(args).arg(&page).output().unwrap();
        (page.file_name().unwrap().to_string_lossy().into_owned(), done)
    };
    pages(&sandbox).into_iter().map(format).collect()
}

#[test]
fn mandoc_finds_no_error_in_any_page() {
    // Style and portability of generated roff are up to its generator.
    for (name, done) in formatted("mandoc", &["-T", "lint", "-W", "error"]) {
        let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
        assert!(done.status.success(), "{name}: {said}");
    }
}

#[test]
fn groff_warns_of_no_page_and_shows_every_option() {
    let args = ["-man", "-Tutf8", "-P-cbou", "-ww", "-rLL=78n", "-K", "utf8"];
    for (name, done) in formatted("groff", &args) {
        assert!(done.status.success() && done.stderr.is_empty(), "{name}: {}", text(&done.stderr));
        let shown = text(&done.stdout);
        assert!(shown.contains("NAME") && shown.contains("SYNOPSIS"), "{name}: {shown}");
        if name == "cryptbench-run.1" {
            for option in ["--budget", "--precision", "--system", "--destroy", "--emulate"] {
                assert!(shown.contains(option), "{option} in {shown}");
            }
        }
    }
}

fn completions(sandbox: &Sandbox, shell: &str) -> PathBuf {
    let done = sandbox.run(&["completions", shell]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let file = sandbox.out().join(shell);
    fs::write(&file, &done.stdout).unwrap();
    let script = text(&done.stdout);
    for word in ["cryptbench", "doctor", "budget", "volume"] {
        assert!(script.contains(word), "{word} for {shell}");
    }
    let hidden = |line: &str| line.contains("keep-run)") || line.contains("\"keep-run\"");
    assert!(!script.lines().any(hidden), "what is hidden is not completed in {shell}");
    file
}

#[test]
fn each_shell_reads_its_completions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let file = completions(&sandbox, shell);
        if !is_here(shell) {
            skipped(&format!("there is no {shell}"));
            continue;
        }
        let done = Command::new(shell).arg("-n").arg(&file).output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{shell}: {}", text(&done.stderr));
    }
}

#[test]
fn bash_completes_a_command_and_an_option() {
    if !is_here("bash") {
        skipped("there is no bash");
        return;
    }
    let sandbox = Sandbox::new();
    let file = completions(&sandbox, "bash");
    let complete = |words: &str| {
        let count = words.split(' ').count() - 1;
        let script = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={count}; _cryptbench cryptbench \
             \"${{COMP_WORDS[{count}]}}\" \"${{COMP_WORDS[{}]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            file.display(),
            count - 1
        );
        let done = Command::new("bash").args(["--norc", "-c", &script]).output().unwrap();
        text(&done.stdout)
    };
    let of = |words: &str| complete(words).lines().map(ToOwned::to_owned).collect::<Vec<_>>();
    assert_eq!(of("cryptbench doc"), ["doctor"]);
    assert_eq!(of("cryptbench run --bud"), ["--budget"]);
    assert_eq!(of("cryptbench run --engine pol"), ["polled"]);
    assert_eq!(of("cryptbench run --system verac"), ["veracrypt"]);
    assert_eq!(of("cryptbench run --profile hdtune-"), ["hdtune-whole"]);
    assert_eq!(of("cryptbench run --cipher kuznyechik-x"), ["kuznyechik-xts"]);
    assert_eq!(of("cryptbench run --like la"), ["last", "last~1"]);
    assert_eq!(of("cryptbench report la"), ["last", "last~1"]);
    assert_eq!(of("cryptbench man"), ["manual"]);
}

/// The output of `script` in `shell`, with the program in the search path and the user's runs of the sandbox.
fn in_shell(sandbox: &Sandbox, shell: &str, script: &str) -> Vec<String> {
    let mut command = Command::new(shell);
    for (name, value) in sandbox.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let program = Path::new(env!("CARGO_BIN_EXE_cryptbench")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(program.to_owned()).chain(std::env::split_paths(&path));
    let done = command.env("PATH", std::env::join_paths(all).unwrap()).args(["-c", script]);
    text(&done.output().unwrap().stdout).lines().map(ToOwned::to_owned).collect()
}

#[test]
fn shells_complete_the_runs_that_last_knows() {
    let sandbox = Sandbox::new();
    let runs = sandbox.target().with_file_name("home/.local/share/cryptbench/runs");
    for name in ["20240229-120000-1a2b", "20240301-120000-1a2b", "20240302-$(touch was-run)"] {
        fs::create_dir_all(runs.join(name)).unwrap();
        fs::write(runs.join(name).join("record.json"), "{}").unwrap();
    }
    let both = ["20240229-120000-1a2b", "20240301-120000-1a2b"];
    let file = completions(&sandbox, "bash");
    let bash = format!(
        "source {}; COMP_WORDS=(cryptbench compare 2); COMP_CWORD=2; _cryptbench cryptbench 2 compare; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\" | sort -u",
        file.display()
    );
    assert_eq!(in_shell(&sandbox, "bash", &bash), both);
    let file = completions(&sandbox, "fish");
    if is_here("fish") {
        let fish = format!("source {}; complete -C 'cryptbench run --like 2'", file.display());
        let found = in_shell(&sandbox, "fish", &fish);
        assert!(
            both.iter().all(|run| found.iter().any(|f| f.split('\t').next() == Some(*run))),
            "{found:?}"
        );
    } else {
        skipped("there is no fish");
    }
    let zsh = fs::read_to_string(completions(&sandbox, "zsh")).unwrap();
    assert!(zsh.contains("completions --runs"), "{zsh}");
    assert!(!sandbox.target().join("was-run").exists() && !Path::new("was-run").exists());
    // Shells complete the names of runs wherever a command takes a record.
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
    fs::copy(fixture, runs.join(both[0]).join("record.json")).unwrap();
    let done = sandbox.run(&["report", both[0], "--quiet"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn the_package_has_what_it_should_have() {
    if !nightly() {
        return;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !is_here("dpkg-deb") {
        skipped("there is no dpkg-deb");
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let done = Command::new(cargo)
        // This only checks the contents, not the size.
        .args(["run", "--quiet", "--package", "xtask", "--", "dist", "--fast", "--binary"])
        .arg(env!("CARGO_BIN_EXE_cryptbench"))
        .arg("--out")
        .arg(out.path())
        .env("CRYPTBENCH_OFFLINE", "1")
        // This variable makes cargo rebuild everything.
        .env_remove("RUSTC_BOOTSTRAP")
        .current_dir(root)
        .output()
        .unwrap();
    let said = format!("{}{}", text(&done.stdout), text(&done.stderr));
    if said.contains("there is no cargo-deb") {
        skipped(said.trim());
        return;
    }
    assert!(done.status.success(), "{said}");
    assert!(said.contains("files, as they should be"), "{said}");
}
