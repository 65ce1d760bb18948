//! The choices on the page: the same tables as `systems`, `ciphers --list` and `profiles`.

use cryptbench_answer::names::of_system;
use cryptbench_devices::Model;
use cryptbench_load::Profile;
use cryptbench_serve::{Catalogue, Choice, Format, Offered, Profile as OfferedProfile, System};
use cryptbench_studies::abouts;
use cryptbench_system::Availability;

use super::terms::label;
use super::{devices, here, mounted};
use crate::run::args::offered;

pub fn catalogue() -> Catalogue {
    let systems = cryptbench_system::systems().iter().filter(|s| !s.is_baseline());
    let profiles = Profile::builtin().iter().filter_map(|(name, _)| Profile::named(name).ok());
    let ciphers = cryptbench_cipher::ciphers().iter();
    Catalogue {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // If the directory's name cannot be sent to the page, use `.`: runs started from the page have this working
        // directory.
        target: here().to_str().map_or_else(|| ".".to_owned(), ToOwned::to_owned),
        systems: systems.map(system).collect(),
        ciphers: ciphers.map(|c| choice(c.name, c.label)).collect(),
        models: Model::names()
            .filter_map(|name| Some(choice(name, &Model::named(name).ok()?.about)))
            .collect(),
        studies: abouts().map(|study| choice(&study.letter.to_string(), study.title)).collect(),
        profiles: profiles
            .map(|p| OfferedProfile {
                name: p.name,
                about: p.description,
                workloads: p.workloads.len(),
            })
            .collect(),
        mounted: mounted::mounted(&here()),
        devices: devices::devices(),
        formats: formats(),
        options: options(),
    }
}

/// The options of `run` that the page offers, with the labels of their fields.
pub fn options() -> Vec<Offered> {
    let labelled = |option: Offered| Offered { label: label(&option.name), ..option };
    offered().into_iter().map(labelled).collect()
}

fn choice(name: &str, label: &str) -> Choice {
    Choice { name: name.to_owned(), label: label.to_owned() }
}

fn system(system: &&cryptbench_system::System) -> System {
    let (version, reason, remedy) = match system.availability() {
        Availability::Available(version) => (Some(version), None, None),
        Availability::Unavailable { reason, remedy } => (None, Some(reason), Some(remedy)),
    };
    let settings = system.settings().iter();
    System {
        name: system.name().to_owned(),
        label: of_system(system.name()),
        about: system.about().to_owned(),
        version,
        reason,
        remedy: remedy.map(|remedy| remedy.to_string()),
        settings: settings.map(|s| format!("{}={}", s.name, s.values.join(","))).collect(),
    }
}

/// The output of `report` for a record.
fn formats() -> Vec<Format> {
    let format =
        |name: &str, label: &str, extension: &str, media_type: &str, more: &[&str]| Format {
            name: name.to_owned(),
            label: label.to_owned(),
            extension: extension.to_owned(),
            media_type: media_type.to_owned(),
            arguments: [&["report"], more].concat().iter().map(|a| (*a).to_owned()).collect(),
        };
    let csv = "text/csv; charset=utf-8";
    let trials = ["--format", "csv", "--table", "trials"];
    let cells = ["--format", "csv", "--table", "cells"];
    let parquet = "application/vnd.apache.parquet";
    vec![
        format(
            "markdown",
            "Markdown",
            "md",
            "text/markdown; charset=utf-8",
            &["--format", "markdown"],
        ),
        format("csv-cells", "CSV of results", "cells.csv", csv, &cells),
        format("csv-trials", "CSV of trials", "trials.csv", csv, &trials),
        format("parquet", "Parquet", "parquet", parquet, &["--format", "parquet"]),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Args;

    #[test]
    fn each_format_is_one_that_report_takes() {
        for format in formats() {
            let words = ["cryptbench".to_owned()].into_iter().chain(format.arguments.clone());
            let parsed = Args::try_parse_from(words.chain(["--".to_owned(), "-run".to_owned()]));
            assert!(parsed.is_ok(), "{}: {parsed:?}", format.name);
        }
    }

    #[test]
    fn everything_is_offered_that_can_be_measured() {
        let catalogue = catalogue();
        let builtin = catalogue.systems.iter().find(|s| s.name == "builtin");
        assert!(builtin.is_some_and(|s| s.version.is_some()));
        assert!(catalogue.systems.iter().all(|s| s.version.is_some() != s.reason.is_some()));
        assert_eq!(catalogue.profiles.len(), Profile::builtin().len());
    }
}
