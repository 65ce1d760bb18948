//! CSV, Markdown, the JSON Schema and the individual charts of synthetic records.

use std::collections::{HashMap, HashSet};

use cryptbench_answer::Labelled;
use cryptbench_answer::names::Names;
use cryptbench_estimate::cells::cell;
use cryptbench_prove::Schema;
use cryptbench_record::{
    Arm, ArmRole, BusyThread, Cell, DiskCounts, EmulatedDevice, JSON_SCHEMA, Record, Threads,
    Verdict,
};

use crate::analyse;
use crate::fixture::{Fixture, encrypted, plain, plain_again, profiles};
#[cfg(feature = "png")]
use cryptbench_view::charts::Chart;
use cryptbench_view::charts::charts;
use cryptbench_view::drawing::{MARK, Role, Shape};
use cryptbench_view::table::{Rows, csv, latex, markdown};
use serde_json::{Value, json};

fn csv_of(record: &Record, rows: Rows) -> String {
    csv::render(&Labelled::of(record).report(), rows)
}

/// Rows by column.
fn parsed(text: &str) -> Vec<HashMap<&'static str, &'static str>> {
    let kept = |field: &str| -> &'static str { field.to_owned().leak() };
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let names: Vec<&str> = reader.headers().unwrap().iter().map(kept).collect();
    let row = |row: ::csv::StringRecord| names.iter().copied().zip(row.iter().map(kept)).collect();
    reader.records().map(|read| row(read.unwrap())).collect()
}

fn small() -> Record {
    let mut fixture = Fixture { blocks: 6, accounted: true, ..Fixture::default() };
    fixture.workloads.truncate(2);
    fixture.arms.truncate(4);
    fixture.record()
}

/// With nine digits: the last digits of a logarithm differ between machines, so that an integer on one is a
/// fraction on another.
fn steady(text: &str) -> String {
    let field = |field: &str| match field.parse::<f64>() {
        Ok(number) if field.contains('.') => match format!("{number:.8e}") {
            rounded if rounded.parse() == Ok(number.round()) => number.round().to_string(),
            rounded => rounded,
        },
        _ => field.to_owned(),
    };
    let line = |line: &str| line.split(',').map(field).collect::<Vec<_>>().join(",");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_rows_of_csv() {
    let record = small();
    let trials = steady(&csv_of(&record, Rows::Trials));
    insta::assert_snapshot!("csv_trials", trials.lines().take(4).collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!("csv_cells", steady(&csv_of(&record, Rows::Cells)));
}

#[test]
fn a_row_of_csv_is_a_measured_trial_with_its_own_numbers() {
    let record = small();
    let text = csv_of(&record, Rows::Trials);
    let rows = parsed(&text);
    let measured: Vec<_> = record.trials.iter().filter(|t| t.block.is_some()).collect();
    assert!(measured.len() < record.trials.len(), "some are discarded");
    assert_eq!(rows.len(), measured.len());
    for (row, t) in rows.iter().zip(measured) {
        assert_eq!((row["workload"], row["arm"]), (t.workload.as_str(), t.arm.as_str()));
        let number = |name: &str| row[name].parse::<f64>().unwrap().to_bits();
        assert_eq!(number("elapsed_s"), t.measured.elapsed_s.to_bits());
        assert_eq!(number("bandwidth_bytes_per_s"), t.bandwidth().to_bits());
        assert_eq!(row["sequence"], t.sequence.to_string());
    }
}

#[test]
fn a_row_of_csv_says_what_reached_the_disk() {
    let mut record = small();
    let first = record.trials.iter().position(|t| t.block.is_some()).unwrap();
    let disk = DiskCounts {
        span_s: 0.5,
        asked: 100,
        asked_bytes: 409_600,
        reads: 125,
        read_bytes: 512_000,
        read_s: 6.0,
        busy_s: 0.125,
        merged_reads: Some(3),
        ..DiskCounts::default()
    };
    record.trials[first].measured.disk = Some(disk);
    let helper = Some(BusyThread { name: "gocryptfs".to_owned(), cpu_s: 0.4375, waited_s: 0.0 });
    record.trials[first].measured.threads =
        Some(Threads { span_s: 0.5, helper, voluntary_switches: Some(250), ..Threads::default() });
    record.target.engine.direct = true;
    let text = csv_of(&record, Rows::Trials);
    let rows = parsed(&text);
    let number = |name: &str| rows[0][name].parse::<f64>().unwrap();
    assert_eq!((number("disk_asked_requests"), number("disk_reads")), (100.0, 125.0));
    assert_eq!((number("disk_requests_per_request"), number("disk_bytes_per_byte")), (1.25, 1.25));
    assert_eq!((number("disk_mean_request_bytes"), number("disk_merged_reads")), (4096.0, 3.0));
    // As if the 100 requests had arrived at the rate of the measured time.
    let took = 100.0 / number("requests_per_s");
    assert!((number("disk_in_flight") - 6.0 / took).abs() < 1e-6, "{took}");
    assert!((number("disk_idle_fraction") - (1.0 - 0.125 / took).max(0.0)).abs() < 1e-9, "{took}");
    assert_eq!(
        (rows[0]["disk_flushes"], rows[0]["disk_disturbed"]),
        ("", "true"),
        "plain moved more"
    );
    assert_eq!(
        (rows[0]["busiest_helper_thread"], number("busiest_helper_cpu_s")),
        ("gocryptfs", 0.4375)
    );
    assert_eq!(
        (number("helper_voluntary_switches"), rows[0]["busiest_kernel_thread"]),
        (250.0, "")
    );
    assert!(rows[1].iter().all(|(name, field)| !name.starts_with("disk_") || field.is_empty()));
}

#[test]
fn a_row_of_cells_is_what_the_results_say() {
    let record = small();
    let results = analyse(&record);
    let text = csv::render(&Labelled::of(&record).report(), Rows::Cells);
    for row in parsed(&text) {
        let cell = cell(&results.cells, row["workload"], row["arm"]).unwrap();
        let kept = cell.kept.map_or(String::new(), |e| e.ratio.to_string());
        assert_eq!(row["kept_ratio"], kept);
        assert_eq!(row["verdict"].is_empty(), cell.verdict.is_none());
        let json = serde_json::to_value(&cell.verdict).unwrap();
        assert_eq!(row["verdict"], json["verdict"].as_str().unwrap_or(""));
        assert_eq!(row["trials"], cell.trials.to_string());
    }
}

#[test]
fn broken_numbers_are_empty_and_empty_tables_have_their_columns() {
    let mut record = small();
    let header = csv_of(&record, Rows::Trials).lines().next().unwrap().to_owned();
    for t in &mut record.trials {
        t.measured.elapsed_s = 0.0;
        t.measured.cpu_process_s = f64::NAN;
    }
    let text = csv_of(&record, Rows::Trials);
    assert!(!text.contains("inf") && !text.contains("NaN"), "{text:.400}");
    record.trials.clear();
    assert_eq!(csv_of(&record, Rows::Trials), header + "\n");
}

#[test]
fn hostile_labels_stay_in_their_field() {
    let mut record = small();
    record.plan.arms[3].label = "a,b\"c\nd|e<b>`*".to_owned();
    // An arm without a name of ours is called by its label.
    record.plan.arms[3].system = "another".to_owned();
    let text = csv_of(&record, Rows::Trials);
    assert!(text.contains("\"a,b\"\"c\nd|e<b>`*\""));
    record.run_id = "a`b\n# c".to_owned();
    let ticket = markdown::render(&Labelled::of(&record).report());
    assert!(!ticket.contains("\n# c") && ticket.contains("`a'b'# c`"), "{ticket}");
    assert!(ticket.contains("a,b\"c d\\|e\\<b\\>\\`\\*"), "{ticket}");
    let rows: Vec<&str> = ticket.lines().filter(|l| l.starts_with('|')).collect();
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|l| columns(l) == columns(rows[0])), "{rows:#?}");
}

#[test]
fn tickets_of_every_profile() {
    insta::assert_snapshot!("markdown", markdown::render(&Labelled::of(&small()).report()));
    let many = (0..8).map(|i| encrypted(&format!("Cipher {i}"), 512, &[0.9], 0.1));
    let arms = [plain(), plain_again()].into_iter().chain(many).collect();
    let mut wide = Fixture { arms, ..Fixture::default() };
    wide.workloads.truncate(3);
    let wide = wide.record();
    insta::assert_snapshot!("markdown_many_arms", markdown::render(&Labelled::of(&wide).report()));
    for (name, record) in profiles::all() {
        let text = markdown::render(&Labelled::of(&record).report());
        assert!(text.lines().count() < 60, "{name}: {} lines", text.lines().count());
        assert!(text.contains("\n|---|") && !text.contains("NaN"), "{name}: {text}");
        if matches!(name, "mount" | "atto") {
            insta::assert_snapshot!(format!("markdown_{name}"), text);
        }
    }
    let empty = Fixture { workloads: Vec::new(), arms: Vec::new(), ..Fixture::default() }.record();
    assert!(markdown::render(&Labelled::of(&empty).report()).contains("no verdict"));
}

/// A change that damages a valid record.
type Damage = fn(&mut Value);

#[test]
fn records_satisfy_the_schema_and_damaged_ones_do_not() {
    let schema = Schema::new(serde_json::from_str(JSON_SCHEMA).unwrap());
    let check = |name: &str, record: &Record| {
        let value = serde_json::to_value(record).unwrap();
        assert_eq!(schema.faults(&value), [""; 0], "{name}");
        value
    };
    for (name, mut record) in profiles::all() {
        // A few of each, because the kind matters, not the number.
        record.trials.truncate(40);
        check(name, &record);
    }
    let mut record = small();
    record.results = Some(analyse(&record));
    let sound = check("small", &record);
    let damages: [(&str, Damage); 8] = [
        ("no trials", |v| drop(v.as_object_mut().unwrap().remove("trials"))),
        ("another document", |v| v["schema"] = json!("cryptbench.record/2")),
        ("text for a number", |v| v["trials"][0]["elapsed_s"] = json!("0.5")),
        ("nothing for a number", |v| v["trials"][0]["elapsed_s"] = Value::Null),
        ("negative bytes", |v| v["trials"][0]["bytes"] = json!(-1)),
        ("an unknown verdict", |v| {
            v["results"]["cells"][3]["verdict"] = json!({"verdict": "wins"});
        }),
        ("an unknown role", |v| v["plan"]["arms"][0]["role"] = json!("golden")),
        ("a cost without its size", |v| {
            v["results"]["cells"][3]["verdict"] = json!({"verdict": "costs"});
        }),
    ];
    for (name, damage) in damages {
        let mut damaged = sound.clone();
        damage(&mut damaged);
        assert!(!schema.faults(&damaged).is_empty(), "{name} passes");
        assert!(
            serde_json::from_value::<Record>(damaged).is_err() || name == "another document",
            "{name} is read"
        );
    }
}

#[test]
fn a_series_counts_no_loss_found_apart_from_the_same() {
    let record = profiles::atto().record();
    let labelled = Labelled::of(&record);
    let mut report = labelled.report();
    for cell in report.lookup.cells.iter_mut().filter(|cell| cell.verdict.is_some()) {
        let at = record.plan.workloads.iter().position(|w| w.id == cell.workload).unwrap();
        cell.verdict = Some(match at % 3 {
            0 => Verdict::Equivalent { within_percent: 3.0 },
            1 => Verdict::WithinNoise { noise_percent: 3.0 },
            _ => Verdict::TooFewPairs,
        });
    }
    let ticket = markdown::render(&report);
    assert!(ticket.contains("(7 =, 7 \\~, 7 ·)"), "{ticket}");
    assert!(
        ticket.contains("= same as plain, within the margin, \\~ no loss found, · "),
        "{ticket}"
    );
}

#[test]
fn what_an_emulated_device_cost_is_labelled_in_every_table_and_chart() {
    let mut record = small();
    let model = "sata-ssd".to_owned();
    record.target.emulated = Some(EmulatedDevice { model, ..EmulatedDevice::default() });
    let labelled = Labelled::of(&record);
    let report = labelled.report();
    let tables = latex::render(&report);
    let captions: Vec<&str> = tables.lines().filter(|l| l.starts_with("\\caption{")).collect();
    assert!(captions.len() > 1, "{tables}");
    for caption in captions {
        assert!(caption.starts_with("\\caption{EMULATED sata-ssd: "), "{caption}");
    }
    let found = charts(&report);
    assert!(found.len() > 3);
    for chart in found {
        let svg = chart.svg();
        // As the title for programs, and in the picture.
        assert_eq!(svg.matches(">EMULATED sata-ssd: ").count(), 2, "{svg}");
        assert!(!chart.name.starts_with("emulated"), "{}", chart.name);
    }
    let heading = markdown::render(&report);
    assert!(
        heading.starts_with("## What encryption costs on the EMULATED sata-ssd\n"),
        "{heading}"
    );
}

#[test]
fn every_chart_of_the_page_is_a_file_of_its_own() {
    for (name, record) in [("small", small())]
        .into_iter()
        .chain(profiles::all().into_iter().filter(|(n, _)| *n != "iozone"))
    {
        let labelled = Labelled::of(&record);
        let report = labelled.report();
        let found = charts(&report);
        let page = cryptbench_view::html::page(&report);
        // The first screen of the page is not a chart there.
        let overview = usize::from(found.iter().any(|chart| chart.name == "overview"));
        let drawn = page.matches("<svg class=\"chart").count() + overview;
        assert_eq!(found.len(), drawn, "{name}");
        let names: HashSet<&str> = found.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names.len(), found.len(), "{name}");
        for chart in &found {
            let svg = chart.svg();
            assert!(svg.contains(MARK) && svg.contains("xmlns"), "{name}");
            assert!(!svg.contains("var(") && !svg.contains("class="), "{}", chart.name);
        }
    }
}

/// The bars in all charts of the share of plain speed have the same scale, which depends on the record's
/// results.
#[test]
fn bars_are_as_long_as_the_estimates_that_they_show() {
    let record = small();
    let results = analyse(&record);
    let names = Names::of(&record.plan);
    let mut scales: Vec<f64> = Vec::new();
    for chart in charts(&Labelled::of(&record).report()) {
        let title = chart.drawing.title.as_str();
        let Some(label) = title.strip_prefix("Percent of plain speed, ") else { continue };
        let workload = record.plan.workloads.iter().find(|w| names.workload(w) == label).unwrap();
        let kept = |arm: &Arm| {
            let of = |c: &&Cell| c.workload == workload.id && c.arm == arm.id;
            Some(results.cells.iter().find(of)?.kept.as_ref()?.ratio)
        };
        let arms = record.plan.arms.iter();
        let arms = arms.filter(|a| matches!(a.role, ArmRole::Encrypted | ArmRole::NullLayer));
        let bars = chart.drawing.shapes.iter().filter_map(|shape| match shape {
            Shape::Area { role: Role::Encrypted(_) | Role::NullLayer(_), area } => Some(area.width),
            _ => None,
        });
        scales.extend(arms.filter_map(kept).zip(bars).map(|(kept, bar)| bar / kept));
    }
    assert_eq!(scales.len(), 4);
    assert!(scales.iter().all(|scale| (scale / scales[0] - 1.0).abs() < 1e-9), "{scales:?}");
}

#[cfg(feature = "png")]
#[test]
fn a_png_has_the_colours_and_the_letters_of_its_chart() {
    let record = small();
    let found = charts(&Labelled::of(&record).report());
    let is_kept = |c: &&Chart| c.drawing.title.starts_with("Percent of plain speed");
    let chart = found.iter().find(is_kept).unwrap();
    let picture = |chart: &Chart| {
        let bytes = chart.png().unwrap();
        assert!(bytes.windows(MARK.len()).take(400).any(|w| w == MARK.as_bytes()));
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width as usize, pixels)
    };
    let (width, pixels) = picture(chart);
    assert!(width > 1_000, "{width}");
    // The area with this colour, in CSS pixels from the corner: left and upper side, width and height.
    let extent = |rgb: [u8; 3]| -> [f64; 4] {
        let places = pixels.chunks_exact(3).enumerate().filter(|(_, p)| *p == rgb);
        let (xs, ys): (Vec<usize>, Vec<usize>) =
            places.map(|(i, _)| (i % width, i / width)).unzip();
        let ends = |v: &[usize]| [*v.iter().min().unwrap(), *v.iter().max().unwrap() + 1];
        let ([x0, x1], [y0, y1]) = (ends(&xs), ends(&ys));
        [x0, y0, x1 - x0, y1 - y0].map(|v| v as f64 / 3.0)
    };
    let bar = chart.drawing.shapes.iter().find_map(|shape| match shape {
        Shape::Area { role: Role::Encrypted(0), area } => Some(*area),
        _ => None,
    });
    let bar = bar.unwrap();
    // The margin on the left, the title and the margin above.
    let wanted = [bar.left + 12.0, bar.top + 38.0, bar.width, bar.height];
    for (found, wanted) in extent([0x00, 0x68, 0xad]).into_iter().zip(wanted) {
        assert!((found - wanted).abs() < 0.7, "{found}, not {wanted}");
    }
    // Without text, almost nothing has the colour of ink, as the same chart without its texts shows.
    let mut bare = chart.clone();
    bare.drawing.shapes.retain(|shape| !matches!(shape, Shape::Text { .. }));
    let ink = |of: &[u8]| of.chunks_exact(3).filter(|p| *p == [0x1b, 0x1f, 0x24]).count();
    let (with, without) = (ink(&pixels), ink(&picture(&bare).1));
    assert!(with > without + 1_000, "{with} and {without}");
}
