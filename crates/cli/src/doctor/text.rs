//! The diagnosis as text.

use cryptbench_text::clean;
use cryptbench_view::wrap;
use textwrap::core::display_width;

use super::diagnosis::{Diagnosis, Finding, Section, State, Topic};

/// Width of the mark and the space after it.
const MARK: usize = 5;

/// Minimum width of text next to the names; if there is less room, each name is printed above its text.
const LEAST_TEXT: usize = 24;

/// Renders the diagnosis in at most `width` columns, without a trailing newline.
pub fn render(diagnosis: &Diagnosis, width: usize) -> String {
    let title = format!(
        "cryptbench {} in {} ({}, {})",
        diagnosis.program_version, diagnosis.directory, diagnosis.distribution, diagnosis.kernel
    );
    let mut parts = vec![format!(
        "{}\n{}",
        wrap(&title, "", "  ", width),
        wrap(&head(diagnosis), "", "  ", width)
    )];
    let mut told: Vec<&Finding> = Vec::new();
    for section in &diagnosis.sections {
        parts.push(section_text(section, &told, width));
        told.extend(section.findings.iter().filter(|f| f.state == State::Lacking));
    }
    parts.extend(install(diagnosis, width));
    parts.extend(legend(diagnosis, width));
    parts.join("\n\n")
}

fn head(diagnosis: &Diagnosis) -> String {
    let Some(why) = &diagnosis.why_not else {
        let warnings = findings(diagnosis).filter(|f| f.state == State::Warning).count();
        let spoilt = match warnings {
            0 => String::new(),
            1 => " 1 condition may distort the results (marked !).".to_owned(),
            n => format!(" {n} conditions may distort the results (marked !)."),
        };
        return format!("`cryptbench run` can measure here.{spoilt}");
    };
    format!("`cryptbench run` cannot measure here: {why}")
}

fn findings(diagnosis: &Diagnosis) -> impl Iterator<Item = &Finding> {
    diagnosis.sections.iter().flat_map(|s| &s.findings)
}

/// One section, without the text that the sections above have already printed (`told`).
fn section_text(section: &Section, told: &[&Finding], width: usize) -> String {
    let names = section.findings.iter().map(|f| display_width(&f.name)).max().unwrap_or(0);
    let column = (MARK + names + 2).min(width.saturating_sub(LEAST_TEXT));
    let mut lines = vec![title(section)];
    for finding in &section.findings {
        let first = format!("{:<MARK$}{}", mark(finding.state), clean(&finding.name));
        let room = column.saturating_sub(display_width(&first));
        let first = format!("{first}{}", " ".repeat(room.max(1)));
        let (says, remedy) = shortened(finding, told);
        lines.push(hang(&first, &says, column, width));
        if let Some(remedy) = &remedy {
            let arrow = format!("{}-> ", " ".repeat(column));
            lines.push(hang(&arrow, remedy, column + 3, width));
        }
    }
    lines.join("\n")
}

/// A finding and its remedy, shortened if the same text was printed above: several systems may lack the same facility.
fn shortened(finding: &Finding, told: &[&Finding]) -> (String, Option<String>) {
    let same = finding.lack.as_ref().and_then(|lack| {
        let known =
            |above: &&Finding| above.lack.clone().filter(|known| known.reason == lack.reason);
        told.iter().find_map(|above| Some((lack, known(above)?, &above.name)))
    });
    let Some((lack, known, name)) = same else {
        return (finding.says.clone(), finding.remedy.clone());
    };
    let rest = lack.remedy.beyond(&known.remedy).map(|rest| rest.told(lack.manager));
    (format!("cannot run here, for the reason given under {name} above"), rest)
}

/// The section's title; for the systems, also the number that can be measured.
fn title(section: &Section) -> String {
    let lacking = section.findings.iter().filter(|f| f.state == State::Lacking).count();
    let title = section.topic.as_str();
    match section.topic {
        Topic::Systems => {
            let all = section.findings.len();
            format!("{title}: {} of {all} can be measured here", all - lacking)
        }
        _ => title.to_owned(),
    }
}

fn install(diagnosis: &Diagnosis, width: usize) -> Option<String> {
    let install = &diagnosis.install;
    if install.command.is_none() && install.without_package.is_empty() {
        return None;
    }
    let mut lines = vec!["To measure more systems".to_owned()];
    // A command stays on one line, so that it can be copied.
    lines.extend(install.command.iter().map(|command| format!("     {command}")));
    let first = if install.names_known { "     no package for " } else { "     install " };
    lines.extend(
        install.without_package.iter().map(|words| hang(first, words, display_width(first), width)),
    );
    Some(lines.join("\n"))
}

fn legend(diagnosis: &Diagnosis, width: usize) -> Option<String> {
    let words = [
        (State::Lacking, "not available here"),
        (State::Warning, "distorts measurements, or changes their meaning"),
        (State::Fatal, "must be fixed first"),
    ];
    let told: Vec<String> = words
        .into_iter()
        .filter(|(state, _)| findings(diagnosis).any(|f| f.state == *state))
        .map(|(state, words)| format!("{} {words}", mark(state)))
        .collect();
    (!told.is_empty()).then(|| wrap(&told.join("; "), "", "  ", width))
}

/// Printed without colour.
fn mark(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Lacking => "-",
        State::Warning => "!",
        State::Fatal => "!!!",
    }
}

fn hang(first: &str, text: &str, column: usize, width: usize) -> String {
    wrap(text, first, &" ".repeat(column.min(width.saturating_sub(1))), width)
}

#[cfg(test)]
mod tests {
    use cryptbench_catalog::{Manager, Remedy};

    use super::super::diagnosis::{Install, Lack};
    use super::*;

    fn diagnosis(findings: Vec<Finding>) -> Diagnosis {
        Diagnosis {
            schema: "",
            program_version: "0.1.0",
            distribution: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            kernel: "Linux 6.1.0 x86_64".to_owned(),
            directory: "/home/me".to_owned(),
            can_run: true,
            why_not: None,
            code: 0,
            sections: vec![Section::new(Topic::Systems, findings)],
            install: Install {
                names_known: true,
                command: Some("apt install gocryptfs".to_owned()),
                without_package: vec!["tcplay: build it from source".to_owned()],
            },
        }
    }

    #[test]
    fn names_marks_and_remedies_stand_in_columns() {
        let text = render(
            &diagnosis(vec![
                Finding::ok("builtin", "0.1.0"),
                Finding::lacking("gocryptfs", "there is no program gocryptfs")
                    .remedy("apt install gocryptfs"),
                Finding::warning("disk", "busy"),
            ]),
            60,
        );
        let expected = "\
cryptbench 0.1.0 in /home/me (Debian GNU/Linux 12
  (bookworm), Linux 6.1.0 x86_64)
`cryptbench run` can measure here. 1 condition may distort
  the results (marked !).

Systems: 2 of 3 can be measured here
ok   builtin    0.1.0
-    gocryptfs  there is no program gocryptfs
                -> apt install gocryptfs
!    disk       busy

To measure more systems
     apt install gocryptfs
     no package for tcplay: build it from source

- not available here; ! distorts measurements, or changes
  their meaning";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_was_told_above_is_not_told_again() {
        let lack = |reason: &str, remedy: Remedy| Lack {
            reason: reason.to_owned(),
            remedy,
            manager: Some(Manager::Apt),
        };
        let mapper = || Remedy::from("modprobe dm_mod");
        let without = |name: &str, reason: &str, remedy: Remedy| {
            Finding::without(name, reason, lack(reason, remedy))
        };
        let mut diagnosis = diagnosis(vec![
            without("dm-crypt", "this kernel has none", mapper()),
            without(
                "bitlocker",
                "this kernel has none",
                mapper().besides("or apt install dislocker"),
            ),
            without("zfs", "this kernel has no ZFS", "apt install zfs-dkms".into()),
        ]);
        let says = "this kernel has none; needed for dm-crypt";
        let mapper =
            Finding::without("device mapper", says, lack("this kernel has none", mapper()));
        diagnosis.sections.insert(0, Section::new(Topic::Rights, vec![mapper]));
        let text = render(&diagnosis, 80);
        let expected = "\
-    dm-crypt   cannot run here, for the reason given under device mapper above
-    bitlocker  cannot run here, for the reason given under device mapper above
                -> or apt install dislocker
-    zfs        this kernel has no ZFS
                -> apt install zfs-dkms
";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn where_names_of_packages_are_not_known_nothing_is_said_to_have_none() {
        let mut diagnosis = diagnosis(Vec::new());
        diagnosis.install = Install {
            names_known: false,
            command: None,
            without_package: vec!["gocryptfs (Debian's name)".to_owned()],
        };
        let text = render(&diagnosis, 80);
        assert!(text.ends_with("\n     install gocryptfs (Debian's name)"), "{text}");
    }

    #[test]
    fn no_line_but_the_command_is_wider_than_asked_for() {
        let long = "a word and another ".repeat(20);
        let path = format!("/dev/{}", "x".repeat(90));
        let findings = vec![
            Finding::ok("nbdkit-luks", long.clone()),
            Finding::lacking("a", path).remedy(long),
            Finding::ok("evil\u{1b}[2J", "\u{7}"),
        ];
        let mut diagnosis = diagnosis(findings);
        diagnosis.directory = "/a".repeat(200);
        for width in 60..220 {
            let text = render(&diagnosis, width);
            assert!(!text.contains(['\u{1b}', '\u{7}']));
            for line in text.lines().filter(|l| !l.contains("apt install gocryptfs")) {
                assert!(display_width(line) <= width, "at {width}: {line:?}");
            }
        }
    }
}
