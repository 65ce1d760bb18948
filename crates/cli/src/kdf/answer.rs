//! The times on one screen: whether to change the PIM, how long each function takes, and the largest PIM for a given
//! waiting time.

use cryptbench_answer::quantity::thousands;
use cryptbench_microbench::kdf::KdfSpeed;
use cryptbench_view::columns::bare;
use cryptbench_view::wrap;

use super::study::{DICEWARE_BITS, Study};
use super::wording::{asked, bits, name, published};

/// Number of characters that VeraCrypt requires in a passphrase if the PIM is below the default.
const LONG_PASSPHRASE: &str = "needs 20 characters";

/// Renders the answer in at most `width` columns, and in at most 24 lines even with all functions.
pub fn render(study: &Study, width: usize) -> String {
    let mut parts = vec![wrap(&headline(study), "", "", width), String::new()];
    parts.push(table(study, width));
    let calculated = study.by_default().iter().any(|row| !study.default_time(row).measured);
    if calculated {
        parts.push("~ calculated from the rate per iteration".to_owned());
    }
    let section = |name: &str, text: &str| wrap(text, &format!("{name:7}"), "       ", width);
    parts.push(match usual(study).and_then(|row| published(study, row)) {
        Some(words) => section("Card", &words),
        None => {
            section("Card", "GPU attacks are not measured here, and no published rate is known.")
        }
    });
    let more = "cryptbench kdf --full   (any PIM, attack times, method)";
    parts.push(section("More", more));
    parts.join("\n")
}

/// The default KDF for new volumes of this kind, if it was measured; otherwise the fastest function.
fn usual(study: &Study) -> Option<&KdfSpeed> {
    let rows = study.choices();
    let sha_512 = rows.iter().find(|row| row.function.name() == "sha-512");
    sha_512.or(rows.first()).copied()
}

fn headline(study: &Study) -> String {
    let Some(row) = usual(study) else { return "No function was measured.".to_owned() };
    let time = study.default_time(row).seconds;
    let volume = study.speeds.volume.name();
    let opens = format!("{} unlocks a {volume} in {} here", name(row), two(time));
    let word = format!(
        "add a random word ({} bits); doubling the wait adds 1 bit",
        bits((DICEWARE_BITS * 10.0).floor() / 10.0)
    );
    let has_pim = study.question.unknown.is_some();
    match (has_pim, time <= study.question.limit.as_secs_f64(), study.largest_pim(row)) {
        (false, _, _) => format!("{opens}. To be safer, {word}."),
        (true, true, _) => format!("Keep the default PIM: {opens}. To be safer, {word}."),
        (true, false, Some(pim)) => format!(
            "{opens}; a PIM of {} unlocks within {}, but {LONG_PASSPHRASE}. To be safer, {word}.",
            thousands(pim),
            asked(study.question.limit)
        ),
        (true, false, None) => format!(
            "{opens}, and no PIM unlocks within {}. To be safer, {word}.",
            asked(study.question.limit)
        ),
    }
}

fn table(study: &Study, width: usize) -> String {
    let limit = asked(study.question.limit);
    let has_pim = study.question.unknown.is_some();
    let mut headings = vec![String::new(), "time at default".to_owned()];
    if has_pim {
        headings.extend([format!("largest PIM within {limit}"), String::new()]);
    }
    let rows = study.by_default().into_iter().map(|row| {
        let time = study.default_time(row);
        let mark = if time.measured { "" } else { "~" };
        let mut fields = vec![name(row), format!("{mark}{}", two(time.seconds))];
        if has_pim {
            let pim = study.largest_pim(row);
            let default = study.speeds.volume.default_pim(row.function);
            let is_low = pim.zip(default).is_some_and(|(pim, default)| pim < default);
            fields.push(pim.map_or_else(|| "none".to_owned(), thousands));
            fields.push(if is_low { LONG_PASSPHRASE.to_owned() } else { String::new() });
        }
        fields
    });
    bare(headings, rows.collect(), 3, width)
}

/// Seconds with two significant figures: `0.43 s`, `3.1 s`, `12 s`.
fn two(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "–".to_owned(),
        s if s < 0.0095 => super::wording::span(s),
        s if s < 0.0995 => format!("{s:.3} s"),
        s if s < 0.995 => format!("{s:.2} s"),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 119.5 => format!("{s:.0} s"),
        s => super::wording::span(s),
    }
}

#[cfg(test)]
mod tests {
    use super::two;

    #[test]
    fn seconds_have_two_figures() {
        assert_eq!([0.0431, 0.432, 3.21, 31.4].map(two), ["0.043 s", "0.43 s", "3.2 s", "31 s"]);
    }
}
