//! Tables for LaTeX, with the rules of `booktabs` and the columns of `siunitx`. Units and ± are in the
//! headings, so that fields contain only numbers.

use std::fmt::Write as _;

use cryptbench_answer::Report;
use cryptbench_answer::surroundings::{labelled, occasion, title};
use cryptbench_estimate::arms::compared;
use cryptbench_record::{Arm, Cell, Workload};
use cryptbench_studies::{Field, Number};

/// The preamble that a document with these tables needs.
pub const PREAMBLE: &str =
    "% Needs \\usepackage{booktabs,longtable,siunitx} and \\sisetup{separate-uncertainty=true}.\n";

/// Maximum number of choices as columns of a table; further choices are in a separate table.
const BESIDE: usize = 4;

/// Maximum number of rows of a table that is not split across pages.
const ON_A_PAGE: usize = 40;

/// A table of text in which columns of numbers are typeset as numbers.
pub struct Plain<'t> {
    /// The caption.
    pub title: String,
    /// Headings of the columns.
    pub headings: Vec<String>,
    /// The rows, each as long as the headings.
    pub rows: Vec<Vec<Field>>,
    /// A sentence below the table; may be empty.
    pub note: &'t str,
}

/// All tables of a report: shares of plain speed, CPU time, latencies.
pub fn render(report: &Report<'_>) -> String {
    let record = report.record;
    let mut out = format!(
        "% {}: cryptbench {}, {}, run {}\n{PREAMBLE}",
        comment(&title(record)),
        comment(&record.program_version),
        comment(&occasion(record)),
        comment(&record.run_id)
    );
    let arms = compared(report.lookup.arms());
    for part in arms.chunks(BESIDE) {
        for table in [speeds(report, part), processor(report, part), latencies(report, part)] {
            if !table.rows.is_empty() {
                let _ = write!(out, "\n{}", table.latex());
            }
        }
    }
    out
}

fn table_of<'t>(
    report: &Report<'_>,
    title: &str,
    (first, columns): (Vec<String>, Vec<String>),
    fields: impl Fn(&Workload) -> Option<Vec<Field>>,
    note: &'t str,
) -> Plain<'t> {
    let mut headings = vec!["workload".to_owned()];
    headings.extend(first);
    headings.extend(columns);
    let row = |w: &Workload| {
        let mut row = vec![Field::from(report.names.workload(w))];
        row.extend(fields(w)?);
        Some(row)
    };
    Plain {
        title: labelled(report.record, title),
        headings,
        rows: report.lookup.workloads().iter().filter_map(row).collect(),
        note,
    }
}

fn named(report: &Report<'_>, arms: &[&Arm], what: &str) -> Vec<String> {
    arms.iter().map(|arm| format!("{}{what}", report.names.arm(arm))).collect()
}

fn speeds<'t>(report: &Report<'_>, arms: &[&Arm]) -> Plain<'t> {
    let fields = |w: &Workload| {
        let plain = report.lookup.plain(w).filter(|cell| cell.trials > 0)?;
        let speed = w.is_of_requests().then(|| digits(plain.bandwidth / 1e6));
        let mut row = vec![Field::from(speed)];
        row.extend(arms.iter().map(|arm| kept(report.lookup.cell(w, arm))));
        Some(row)
    };
    let first = vec!["plain, MB/s".to_owned()];
    table_of(
        report,
        "Speed in percent of plain storage, with 95 % intervals",
        (first, named(report, arms, ", % ±")),
        fields,
        "Percentages are geometric means of pairs of trials, one on plain storage and one on the choice; ± is the larger \
         distance to the ends of the 95 % interval. Fields are empty for results served from a cache and for too few \
         trials.",
    )
}

fn processor<'t>(report: &Report<'_>, arms: &[&Arm]) -> Plain<'t> {
    let seconds = |cell: Option<&Cell>| {
        let s = cell.map(|c| c.cpu.process_s_per_gib).filter(|s| s.is_finite() && *s > 0.0);
        Field::from(s.map(digits))
    };
    let fields = |w: &Workload| {
        let mut row = vec![seconds(report.lookup.plain(w))];
        row.extend(arms.iter().map(|arm| seconds(report.lookup.cell(w, arm))));
        has_number(&row).then_some(row)
    };
    table_of(
        report,
        "CPU time of the measuring process",
        (vec!["plain, s/GiB".to_owned()], named(report, arms, ", s/GiB")),
        fields,
        "It does not include the ciphers of systems outside this process.",
    )
}

fn latencies<'t>(report: &Report<'_>, arms: &[&Arm]) -> Plain<'t> {
    let fields = |w: &Workload| {
        let cells = std::iter::once(report.lookup.plain(w))
            .chain(arms.iter().map(|arm| report.lookup.cell(w, arm)));
        let row: Vec<Field> = cells
            .flat_map(|cell| {
                let p50 = cell.map(|c| c.latency.p50_us).filter(|us| *us > 0.0);
                [p50, cell.and_then(|c| c.latency.p99_us)].map(|us| us.map(digits).into())
            })
            .collect();
        has_number(&row).then_some(row)
    };
    let both = |name: &str| [format!("{name}, p50, µs"), format!("{name}, p99, µs")];
    let columns = arms.iter().flat_map(|arm| both(report.names.arm(arm))).collect();
    table_of(report, "Request latency", (both("plain").into(), columns), fields, "")
}

fn has_number(row: &[Field]) -> bool {
    row.iter().any(|field| matches!(field, Field::Number(_)))
}

/// `86.0 ± 3.0`; empty if there is no figure.
fn kept(cell: Option<&Cell>) -> Field {
    let estimate = cell.filter(|cell| !cell.cached).and_then(|cell| cell.kept.as_ref());
    let number = estimate.map(|estimate| {
        let [value, low, high] = [estimate.ratio, estimate.low, estimate.high].map(|v| 100.0 * v);
        Number { spread: Some((high - value).max(value - low)), ..Number::new(value, 1) }
    });
    number.into()
}

/// A number with at least three digits.
fn digits(value: f64) -> Number {
    let places = match value.abs() {
        a if a >= 100.0 => 0,
        a if a >= 10.0 => 1,
        a if a >= 1.0 => 2,
        _ => 3,
    };
    Number::new(value, places)
}

impl Plain<'_> {
    /// The LaTeX source of the table.
    pub fn latex(&self) -> String {
        let columns: Vec<Column> =
            (0..self.headings.len()).map(|i| Column::of(i, &self.rows)).collect();
        let specification: String = columns.iter().map(Column::specification).collect();
        let is_long = self.rows.len() > ON_A_PAGE;
        let head: Vec<String> = self
            .headings
            .iter()
            .zip(&columns)
            .map(|(heading, column)| column.heading(&escaped(heading)))
            .collect();
        let head = format!("\\toprule\n{} \\\\\n\\midrule\n", head.join(" & "));
        let mut body = String::new();
        let nothing = Field::default();
        for row in &self.rows {
            let fields = columns
                .iter()
                .enumerate()
                .map(|(i, column)| column.field(row.get(i).unwrap_or(&nothing)));
            let _ = writeln!(body, "{} \\\\", fields.collect::<Vec<_>>().join(" & "));
        }
        let caption = format!("\\caption{{{}}}", escaped(&self.title));
        let note = match self.note {
            "" => String::new(),
            note => format!("\n\\par\\smallskip\\footnotesize {}\n", escaped(note)),
        };
        match is_long {
            true => format!(
                "\\begin{{longtable}}{{{specification}}}\n{caption} \\\\\n{head}\\endhead\n\\bottomrule\n\\endfoot\n{body}\
                 \\end{{longtable}}\n{note}"
            ),
            false => format!(
                "\\begin{{table}}\n\\centering\n{caption}\n\\begin{{tabular}}{{{specification}}}\n{head}{body}\\bottomrule\n\
                 \\end{{tabular}}{note}\n\\end{{table}}\n"
            ),
        }
    }
}

/// The content of a column.
enum Column {
    Text,
    /// Digits before and after the decimal point, for the value and for the part after ±, and the common unit
    /// of the fields.
    Numbers {
        whole: usize,
        places: usize,
        spread: Option<usize>,
        is_signed: bool,
        unit: String,
    },
}

impl Column {
    fn of(at: usize, rows: &[Vec<Field>]) -> Self {
        let nothing = Field::default();
        let fields = rows.iter().filter_map(|row| row.get(at)).filter(|field| **field != nothing);
        let (mut whole, mut places, mut spread, mut is_signed) = (1, 0, None, false);
        let mut units: Vec<&String> = Vec::new();
        for field in fields {
            let Field::Number(number) = field else { return Self::Text };
            let count = |value| digit_count(value, number.places);
            whole = whole.max(count(number.value) - number.places);
            places = places.max(number.places);
            is_signed |= number.is_signed || number.value.is_sign_negative();
            if let Some(error) = number.spread {
                spread = spread.max(Some(count(error)));
            }
            if !units.contains(&&number.unit) {
                units.push(&number.unit);
            }
        }
        match units[..] {
            // The first column contains the names of the rows.
            [unit] if at > 0 => {
                Self::Numbers { whole, places, spread, is_signed, unit: unit.clone() }
            }
            _ => Self::Text,
        }
    }

    fn specification(&self) -> String {
        match self {
            Self::Text => "l".to_owned(),
            Self::Numbers { whole, places, spread, is_signed, .. } => {
                let sign = if *is_signed { "+" } else { "" };
                let spread = spread.map_or_else(String::new, |digits| format!("({digits})"));
                format!("S[table-format={sign}{whole}.{places}{spread}]")
            }
        }
    }

    fn heading(&self, text: &str) -> String {
        match self {
            Self::Text => text.to_owned(),
            Self::Numbers { unit, .. } if unit.is_empty() => format!("{{{text}}}"),
            Self::Numbers { unit, .. } => format!("{{{text}, {}}}", escaped(unit)),
        }
    }

    fn field(&self, field: &Field) -> String {
        match (self, field) {
            (Self::Numbers { .. }, Field::Number(number)) => match number.spread_digits() {
                Some(spread) => format!("{} +- {spread}", number.digits()),
                None => number.digits(),
            },
            (Self::Numbers { .. }, Field::Text(_)) => "{}".to_owned(),
            (Self::Text, field) => escaped(&field.to_string()),
        }
    }
}

/// Number of digits of `value` with `places` decimals.
fn digit_count(value: f64, places: usize) -> usize {
    format!("{value:.places$}").bytes().filter(u8::is_ascii_digit).count()
}

/// Text with escapes, so that LaTeX does not interpret any of it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            'µ' | 'μ' => out.push_str("\\textmu{}"),
            '≤' => out.push_str("$\\le$"),
            '≥' => out.push_str("$\\ge$"),
            '–' => out.push_str("--"),
            '—' => out.push_str("---"),
            '\u{a0}' => out.push('~'),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn comment(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_have_their_units_in_the_heading() {
        let mean = Number { spread: Some(0.4), ..Number::new(9.5, 1) }.unit("s");
        let change = |value, places| Number::new(value, places).signed().unit("%").into();
        let table = Plain {
            title: "A & B".to_owned(),
            headings: ["of", "mean", "change", "told"].map(str::to_owned).to_vec(),
            rows: vec![
                vec!["zeros".into(), mean.into(), change(-3.2, 1), "3.1 [2, 4]".into()],
                vec!["x_1".into(), "".into(), change(12.25, 2), "".into()],
            ],
            note: "100 % is plain.",
        };
        insta::assert_snapshot!(table.latex(), @r"
        \begin{table}
        \centering
        \caption{A \& B}
        \begin{tabular}{lS[table-format=1.1(2)]S[table-format=+2.2]l}
        \toprule
        of & {mean, s} & {change, \%} & told \\
        \midrule
        zeros & 9.5 +- 0.4 & -3.2 & 3.1 [2, 4] \\
        x\_1 & {} & +12.25 &  \\
        \bottomrule
        \end{tabular}
        \par\smallskip\footnotesize 100 \% is plain.

        \end{table}
        ");
    }

    #[test]
    fn foreign_text_is_no_command() {
        assert_eq!(escaped(r"\input{x}%"), r"\textbackslash{}input\{x\}\%");
        assert_eq!(comment("a\n\\input{x}"), "a \\input{x}");
    }
}
