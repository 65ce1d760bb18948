//! `cryptbench run --study`: a published study's protocol on this machine, and its table.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use cryptbench_load::Profile;
use cryptbench_record::Record;
use cryptbench_studies::own::own;
use cryptbench_studies::{Letter, Table};
use cryptbench_system::Availability;
use serde::Serialize;

use crate::args::{Args, Command, RunArgs};
use crate::output::Saved;
use crate::run::{measure, request};
use crate::say::{print, print_json, terminal_style};
use crate::signal::Signal;
use crate::{ciphers, dry_run, kdf, studies};

/// A study as it can be repeated.
struct Protocol {
    /// Profiles, one after the other; they hold the study's number of trials.
    profiles: &'static [&'static str],
    /// Its systems, and the name that each has here.
    systems: &'static [(&'static str, &'static str)],
    /// Ciphers of all of them.
    ciphers: &'static [&'static str],
    /// Settings of single systems.
    settings: &'static [(&'static str, &'static str)],
    /// Whether it measured ciphers and key derivation in RAM, too.
    in_ram: bool,
}

fn protocol(study: Letter) -> Protocol {
    match study {
        Letter::A => Protocol {
            profiles: &["atto", "hdtune"],
            systems: &[("VeraCrypt", "veracrypt")],
            ciphers: &["aes-256-xts"],
            settings: &[],
            in_ram: true,
        },
        // The Mac's encrypted volumes are AES-128 in XTS; they can be opened elsewhere and not made.
        Letter::B => Protocol {
            profiles: &["dd-removable"],
            systems: &[("the Mac's encrypted volume", "")],
            ciphers: &["aes-128-xts"],
            settings: &[],
            in_ram: false,
        },
        Letter::C => Protocol {
            profiles: &["iozone", "dd-copy"],
            systems: &[
                ("LUKS", "dm-crypt"),
                ("TrueCrypt", "truecrypt"),
                ("eCryptfs", "ecryptfs"),
                ("EncFS", "encfs"),
            ],
            ciphers: &[],
            settings: &[("preset", "paranoia")],
            in_ram: false,
        },
        Letter::D => Protocol {
            profiles: &["anvil"],
            systems: &[("TrueCrypt", "truecrypt"), ("BestCrypt", "")],
            ciphers: &["aes-256-xts", "serpent-256-xts", "twofish-256-xts"],
            settings: &[],
            in_ram: false,
        },
    }
}

/// Systems that work on whole disks, for which the built-in engine stands in: the same data units and ciphers.
const REPLACED: [&str; 4] = ["", "veracrypt", "truecrypt", "dm-crypt"];

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    study: Letter,
    remarks: Vec<String>,
    records: Vec<String>,
    tables: Vec<Table>,
}

pub fn run(args: &RunArgs, study: Letter, signal: &Signal) -> anyhow::Result<ExitCode> {
    let protocol = protocol(study);
    let (chosen, mut remarks) = arguments(args, &protocol);
    let mut parts: Vec<RunArgs> = Vec::new();
    for profile in protocol.profiles {
        match fits(args, profile) {
            Ok(()) => parts.push(part(&chosen, profile)),
            Err(error) if protocol.profiles.len() == 1 => return Err(error),
            Err(error) => remarks.push(format!("{profile} is left out: {error:#}")),
        }
    }
    if protocol.in_ram && args.json {
        let remark = "the tables in RAM are printed by `cryptbench ciphers --json` and `cryptbench kdf --json`";
        remarks.push(remark.to_owned());
    }
    let width = terminal_style(false).width;
    let say = |text: &str| {
        if !args.json {
            print(&crate::layout::paragraph(text, width, 0));
        }
    };
    say(&format!("Study {study} on this machine: {}", protocol.profiles.join(", then ")));
    remarks.iter().for_each(|r| say(&format!("- {r}")));
    if args.dry_run {
        if protocol.in_ram {
            say("First ciphers and key derivation in RAM: nothing is written, about 40 s.");
        }
        for part in &parts {
            say("");
            dry_run::show(&request(part)?, false)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    // What cannot be done is known before anything is measured.
    for part in &parts {
        request(part)?;
    }
    if protocol.in_ram && !args.json {
        in_ram(args.budget)?;
    }
    let (mut records, mut places) = (Vec::<Record>::new(), Vec::new());
    let mut code = ExitCode::SUCCESS;
    for part in &parts {
        let measured = measure(part, signal, !args.json)?;
        if let Saved::In(at) | Saved::Elsewhere(at, _) = &measured.saved {
            places.push(at.display().to_string());
        }
        records.push(measured.record);
        if !measured.whole {
            code = measured.code;
            break;
        }
    }
    let tables = own(study, &records);
    if args.json {
        let schema = "cryptbench.study/1";
        print_json(&Document { schema, study, remarks, records: places, tables })?;
        return Ok(code);
    }
    for table in &tables {
        print(&format!("\n{}", studies::text::table(table, width)));
    }
    say(&format!(
        "\nThese are figures in the form of study {study}: means without intervals. What they are worth is above, and with \
         `cryptbench report`. What the study printed: `cryptbench studies {study}`."
    ));
    Ok(code)
}

/// Whether something of a profile is left by `--max-file`.
fn fits(args: &RunArgs, profile: &str) -> anyhow::Result<()> {
    let mut profile = Profile::named(profile)?;
    if let Some(bytes) = args.max_file {
        profile.max_file(bytes)?;
    }
    Ok(())
}

/// The run's arguments with the study's systems, and what is replaced or left out. Systems that were named stay.
fn arguments(args: &RunArgs, protocol: &Protocol) -> (RunArgs, Vec<String>) {
    let (mut chosen, mut remarks) = (args.clone(), Vec::new());
    let paired = !args.pair.is_empty();
    if paired || !args.system.is_empty() {
        remarks.push("the systems are those that you named, not the study's".to_owned());
        return (chosen, remarks);
    }
    let available = |name: &str| {
        let systems = cryptbench_system::systems();
        let found = systems.iter().find(|s| s.name() == name);
        found.is_some_and(|s| matches!(s.availability(), Availability::Available(_)))
    };
    let built_in =
        ["builtin-mounted", "builtin"].into_iter().find(|n| available(n)).unwrap_or("builtin");
    for (name, here) in protocol.systems {
        if available(here) {
            chosen.system.push((*here).to_owned());
        } else if REPLACED.contains(here) {
            remarks.push(format!(
                "{name} cannot be set up here: {built_in} stands in for it, in data units of 512 B"
            ));
            chosen.system.push(built_in.to_owned());
        } else {
            remarks.push(format!(
                "{name} cannot be set up here and is left out (`cryptbench systems` says why)"
            ));
        }
    }
    chosen.system.sort();
    chosen.system.dedup();
    let has = |name: &str| chosen.system.iter().any(|s| s == name);
    let own_engine = has(built_in);
    if chosen.cipher.is_empty() {
        chosen.cipher = protocol.ciphers.iter().map(|c| (*c).to_owned()).collect();
        if chosen.cipher.is_empty() && own_engine && !has("encfs") {
            chosen.cipher.push("aes-256-xts".to_owned());
        }
    }
    if chosen.data_unit.is_empty() && own_engine {
        chosen.data_unit = vec![512];
    }
    if has("encfs") {
        let settings = protocol.settings.iter();
        chosen.set.extend(settings.map(|(n, v)| ((*n).to_owned(), vec![(*v).to_owned()])));
    }
    (chosen, remarks)
}

fn part(args: &RunArgs, profile: &str) -> RunArgs {
    let mut part = args.clone();
    part.study = None;
    profile.clone_into(&mut part.profile);
    part.output = args.output.as_ref().map(|dir| dir.join(profile));
    part.quiet |= args.json;
    // The study's object is printed at the end; that of each record is in its file.
    part.json = false;
    part
}

/// Study A's first figures: ciphers over 50 MB on all processors, and key derivation at the default PIM and at 9999.
fn in_ram(budget: Option<Duration>) -> anyhow::Result<()> {
    let seconds = budget.map_or(20.0, |b| (b.as_secs_f64() / 4.0).min(20.0)).to_string();
    let ram = ["--threads", "all", "--data-unit", "512", "--buffer", "50MB", "--seconds", &seconds];
    let pim = ["--pim", "485,9999", "--seconds", &seconds];
    let parse = |command: &str, more: &[&str]| {
        Args::try_parse_from([&["cryptbench", command], more].concat())
    };
    for parsed in [parse("ciphers", &ram)?, parse("kdf", &pim)?] {
        match parsed.command {
            Command::Ciphers(args) => ciphers::ciphers(&args)?,
            Command::Kdf(args) => kdf::kdf(&args)?,
            _ => ExitCode::SUCCESS,
        };
        print("");
    }
    Ok(())
}
