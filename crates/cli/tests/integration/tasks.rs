//! The tasks of docs/start.md: each takes at most three commands, and every command works as printed.

use std::fs;
use std::path::Path;

use crate::sandbox::disk::{Loop, images};
use crate::sandbox::{Sandbox, skipped, text};
use crate::transcripts::root;

const MOST: usize = 3;

/// Makes each run as short as possible. The options on the command line come first and take precedence.
const SHIM: &str = r#"#!/bin/sh
if [ "$1" = run ]; then
    shift
    case " $* " in *" --budget "*) budget= ;; *) budget="--budget 90s" ;; esac
    exec "$CRYPTBENCH" run "$@" --profile ../tasks.toml --size 16MiB --trial 10ms --max-pairs 6 --seed 1 $budget
fi
exec "$CRYPTBENCH" "$@"
"#;

/// Large writes and small reads, which the tasks are about.
const PROFILE: &str = r#"
name = "tasks"
description = "Large writes and small reads."

[[workload]]
id = "large"
label = "sequential write"
operation = "write"
pattern = "sequential"
block_size = "1MiB"
queue_depth = 1
headline = "bandwidth"

[[workload]]
id = "small"
label = "random read"
operation = "read"
pattern = "random"
block_size = "4KiB"
queue_depth = 2
headline = "iops"
"#;

/// Locations in the commands, which are different for each reader.
const BACKUP: &str = "/media/me/backup";
const DISK: &str = "/dev/sdx";

/// Questions, with the commands that answer them.
fn tasks() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(root().join("docs/start.md")).unwrap();
    let section = page.split("\n## Five tasks\n").nth(1).expect("the tasks");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut tasks: Vec<(String, Vec<String>)> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in section.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(kind) };
        } else if let (None, Some(rest)) = (fence, line.strip_prefix("**")) {
            let question = rest.split("**").next().unwrap_or_default();
            tasks.push((question.to_owned(), Vec::new()));
        } else if let Some((_, commands)) = tasks.last_mut() {
            let command = match fence {
                Some("sh") => Some(line.trim()),
                Some("console") => line.strip_prefix("$ "),
                _ => None,
            };
            commands.extend(command.map(str::to_owned));
        }
    }
    tasks
}

#[test]
fn each_of_the_five_tasks_takes_at_most_three_commands() {
    let tasks = tasks();
    assert_eq!(tasks.len(), 5, "{tasks:?}");
    for (question, commands) in tasks {
        assert!((1..=MOST).contains(&commands.len()), "{question}: {commands:?}");
    }
}

fn works(task: usize) {
    let (question, commands) = tasks().swap_remove(task);
    let sandbox = Sandbox::with_little_room();
    fs::write(sandbox.target().with_file_name("tasks.toml"), PROFILE).unwrap();
    sandbox.keep_run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json"));
    let images = images();
    let needs_disk = commands.iter().any(|c| c.contains(DISK));
    let disk = needs_disk.then(|| Loop::new(images.path(), "disk", 64));
    for command in commands {
        if command.contains(DISK) && matches!(disk, Some(None)) {
            // `Loop::new` has printed the reason.
            continue;
        }
        if command.contains("gocryptfs") && !has("gocryptfs") {
            skipped("there is no gocryptfs (apt install gocryptfs)");
            continue;
        }
        let device = disk.as_ref().and_then(|d| Some(d.as_ref()?.device.clone()));
        let line = command
            .replace(BACKUP, &sandbox.target().display().to_string())
            .replace(DISK, &device.unwrap_or_default());
        let done = sandbox.shell(SHIM, &line);
        let said = text(&done.stderr);
        assert!(done.status.success(), "{question} {line}: {:?} {said}", done.status.code());
        let printed = text(&done.stdout);
        let writes_a_file = line.contains("--output");
        assert!(writes_a_file || printed.lines().count() > 1, "{line}: {printed}{said}");
    }
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[test]
fn the_cost_of_a_backup_is_found() {
    works(0);
}

#[test]
fn two_systems_are_compared() {
    works(1);
}

#[test]
fn an_undecided_row_is_explained() {
    works(2);
}

#[test]
fn another_disk_is_measured() {
    works(3);
}

#[test]
fn a_result_is_sent() {
    works(4);
}
