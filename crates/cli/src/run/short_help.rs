//! `cryptbench run -h`: the options that most people need, on one screen; `--help` lists all options.

use clap::Command;
use textwrap::{Options, WordSplitter};

/// A heading, and options with short descriptions.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

const GROUPS: &[Group] = &[
    (
        "What",
        &[
            ("--system NAME,...", "LUKS2, VeraCrypt, gocryptfs ... or all [default: two]"),
            ("--cipher NAME,...", "a cipher (see cryptbench ciphers --list)"),
            ("--profile NAME|FILE", "a workload (see cryptbench profiles) [default: quick]"),
            ("--study A|B|C|D", "the protocol of a published study"),
            ("--like RECORD", "repeat the run of a record; `last` is the newest run"),
        ],
    ),
    (
        "Where",
        &[
            ("TARGET", "a directory on the disk to measure [default: .]"),
            ("--existing [DEVICE]", "encryption that is in use, read-only"),
            ("--pair PLAIN ENCRYPTED", "locations that you have prepared"),
            ("--emulate MODEL", "an emulated device instead of a disk"),
            ("--destroy PATH", "allow TARGET, a file or disk, to be overwritten"),
        ],
    ),
    (
        "How long",
        &[
            ("--budget TIME", "time for the whole run [default: 2m]"),
            ("--precision PERCENT", "the smallest loss to detect [default: 3%]"),
            ("--trials N", "a fixed number of repeats"),
            ("--size SIZE", "size of the scratch file"),
        ],
    ),
    (
        "Output",
        &[
            ("--dry-run", "print what would be done, and how long it would take"),
            ("--output DIR", "directory for the record and the report"),
            ("--resume RUN_DIRECTORY", "continue an interrupted run"),
            ("--quiet, --json", "print only the answer, or the record as JSON"),
        ],
    ),
];

const EXAMPLES: &str = "\
Examples:
  cryptbench run /media/me/backup
  cryptbench run --system luks2,veracrypt --budget 10m
  sudo cryptbench run /dev/sdx --destroy /dev/sdx";

/// Width of the text in columns.
const WIDTH: usize = 80;

/// The text; `run` is the command with all of its options.
pub fn text(run: &Command) -> String {
    let about = run.get_about().map(ToString::to_string).unwrap_or_default();
    let about = textwrap::fill(&about, WIDTH);
    let mut text = format!("{about}\n\nUsage: cryptbench run [OPTIONS] [TARGET]\n\n");
    for (heading, options) in GROUPS {
        text += &format!("{heading}:\n");
        for (option, words) in *options {
            text += &format!("  {option:<23} {words}\n");
        }
    }
    let options = Options::new(WIDTH)
        .initial_indent("Expert (--help): ")
        .subsequent_indent("  ")
        .word_splitter(WordSplitter::NoHyphenation);
    text += &textwrap::fill(&expert(run).join(" "), options);
    format!("{text}\n\n{EXAMPLES}\n")
}

/// The options that are listed without a description.
fn expert(run: &Command) -> Vec<String> {
    let words = GROUPS.iter().flat_map(|(_, options)| *options).map(|(option, _)| *option);
    let shown: Vec<&str> = words.flat_map(|words| words.split([' ', ','])).collect();
    let options = run.get_arguments().filter(|arg| !arg.is_hide_set());
    let names = options.filter_map(|arg| arg.get_long().map(|long| format!("--{long}")));
    names.filter(|name| !shown.contains(&name.as_str()) && name != "--help").collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    #[test]
    fn the_short_help_is_one_screen_with_every_option() {
        let command = Args::command();
        let run = command.find_subcommand("run").unwrap();
        let text = text(run);
        assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        for arg in run.get_arguments() {
            if let Some(long) = arg.get_long() {
                assert!(text.contains(&format!("--{long}")), "{long}");
            }
        }
        // What is shown exists.
        let longs: Vec<_> = run.get_arguments().filter_map(clap::Arg::get_long).collect();
        let shown = text.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        for name in shown.filter_map(|word| word.strip_prefix("--")).filter(|name| !name.is_empty())
        {
            assert!(longs.contains(&name) || ["help", "list"].contains(&name), "{name}");
        }
        insta::assert_snapshot!(text);
    }
}
