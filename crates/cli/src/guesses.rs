//! Commands that users guess, each with the actual command for the same purpose.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words that are not commands, each with the command to use instead.
const GUESSES: &[(&[&str], &str)] = &[
    (&["mount", "open", "unlock", "decrypt"], "cryptbench volume mount VOLUME DIRECTORY"),
    (&["umount", "unmount", "close", "lock"], "cryptbench volume umount DIRECTORY"),
    (&["create", "format", "encrypt", "mkfs"], "cryptbench volume create VOLUME"),
    (&["info", "detect", "dump", "header", "export"], "cryptbench volume --help"),
    (
        &["benchmark", "bench", "measure", "test", "start", "speed", "speedtest", "disk"],
        "cryptbench run DIRECTORY",
    ),
    (&["resume", "continue"], "cryptbench run --resume RUN_DIRECTORY"),
    (
        &["list", "ls"],
        "cryptbench systems, cryptbench profiles, cryptbench ciphers --list, or cryptbench history list",
    ),
    (&["cipher", "aes", "crypto"], "cryptbench ciphers"),
    (&["system"], "cryptbench systems"),
    (&["profile", "workloads"], "cryptbench profiles"),
    (&["results", "result", "show", "last", "html", "csv", "json"], "cryptbench report last"),
    (&["diff"], "cryptbench compare A B"),
    (&["check"], "cryptbench doctor, or cryptbench history check"),
    (&["regression", "regressions"], "cryptbench history regressions"),
    (&["web", "gui", "ui", "server"], "cryptbench serve"),
    (&["clean", "clear"], "cryptbench cleanup"),
    (&["pim", "pbkdf2", "argon2", "hash"], "cryptbench kdf"),
    (&["estimate", "simulate"], "cryptbench predict"),
    (&["man", "manpage"], "cryptbench manual DIRECTORY"),
    (&["version"], "cryptbench --version"),
];

/// Guessed subcommands of `cryptbench volume`, each with the command to use instead.
const OF_VOLUMES: &[(&[&str], &str)] = &[
    (&["open", "unlock", "decrypt"], "cryptbench volume mount VOLUME DIRECTORY"),
    (&["close", "lock"], "cryptbench volume umount DIRECTORY"),
    (&["format", "encrypt", "new"], "cryptbench volume create VOLUME"),
    (&["list", "show", "status", "detect", "header"], "cryptbench volume info VOLUME"),
    (&["backup"], "cryptbench volume header-backup VOLUME OUTPUT"),
    (&["restore"], "cryptbench volume header-restore VOLUME"),
    (&["passwd", "password", "passphrase"], "cryptbench volume key change VOLUME"),
];

/// The message for a command line that begins with a guessed command.
pub fn told(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    let usage = usage.to_string();
    // The words before the options show which command has the unknown subcommand; the first word is the program.
    let group: Vec<&str> = usage
        .trim_start_matches("Usage:")
        .split_whitespace()
        .skip(1)
        .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .collect();
    let guesses = match group[..] {
        [] => GUESSES,
        ["volume"] => OF_VOLUMES,
        _ => return None,
    };
    let asked = word.to_lowercase();
    let (_, instead) = guesses.iter().find(|(words, _)| words.contains(&asked.as_str()))?;
    Some(format!("unknown command {word:?}; did you mean {instead}?"))
}

/// The message for a negative number, which clap parses as an option.
pub fn negative(error: &clap::Error, words: &[OsString]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let is_negative = |word: &str| {
        word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let pair = words.windows(2).find(|pair| is_negative(pair[1]))?;
    Some(match pair[0].starts_with("--") {
        true => {
            format!("{}: {} is negative; use a number above zero", pair[0], pair[1])
        }
        false => format!("{}: negative numbers are not accepted", pair[1]),
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::Args;

    fn of(words: &[&str]) -> Option<String> {
        let words = std::iter::once("cryptbench").chain(words.iter().copied());
        told(&Args::try_parse_from(words).unwrap_err())
    }

    #[test]
    fn a_guess_is_answered_with_the_command() {
        let said =
            [&["mount", "a", "b"][..], &["benchmark"], &["LIST"], &["open"], &["volume", "open"]]
                .map(of);
        insta::assert_snapshot!(said.map(Option::unwrap).join("\n"), @r#"
            unknown command "mount"; did you mean cryptbench volume mount VOLUME DIRECTORY?
            unknown command "benchmark"; did you mean cryptbench run DIRECTORY?
            unknown command "LIST"; did you mean cryptbench systems, cryptbench profiles, cryptbench ciphers --list, or cryptbench history list?
            unknown command "open"; did you mean cryptbench volume mount VOLUME DIRECTORY?
            unknown command "open"; did you mean cryptbench volume mount VOLUME DIRECTORY?
            "#);
        for other in [
            &["quux"][..],
            &["history", "list", "--nosuch"],
            &["volume", "quux"],
            &["history", "ls"],
        ] {
            assert_eq!(of(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_negative_number_is_called_one() {
        let said = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            negative(&Args::try_parse_from(&words).unwrap_err(), &words)
        };
        let told = ["run --trials -1", "run --budget -5m", "history show -3"];
        let told = told.map(|line| said(&format!("cryptbench {line}")).unwrap());
        insta::assert_snapshot!(told.join("\n"), @"
            --trials: -1 is negative; use a number above zero
            --budget: -5m is negative; use a number above zero
            -3: negative numbers are not accepted
            ");
        assert_eq!(said("cryptbench run --nosuch"), None);
    }

    #[test]
    fn no_guess_is_a_command_and_every_answer_is_one() {
        let command = Args::command();
        let is_command = |name: &str| command.find_subcommand(name).is_some();
        let volume = command.find_subcommand("volume").unwrap();
        for (words, instead) in OF_VOLUMES {
            assert!(words.iter().all(|word| volume.find_subcommand(word).is_none()), "{words:?}");
            let name = instead.split(' ').nth(2).unwrap();
            assert!(volume.find_subcommand(name).is_some(), "{instead}");
        }
        for (words, instead) in GUESSES {
            assert!(words.iter().all(|word| !is_command(word)), "{words:?}");
            for one in instead.split("cryptbench ").skip(1) {
                let name = one.split([' ', ',']).next().unwrap();
                assert!(is_command(name) || name == "--version", "{instead}");
            }
        }
    }
}
