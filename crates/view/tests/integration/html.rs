//! The page is well formed, loads nothing, and works with records that are malicious, damaged or empty.

use base64ct::{Base64, Encoding as _};
use cryptbench_answer::Labelled;
use cryptbench_record::{EmulatedDevice, Record, StopReason};
use cryptbench_view::html;
use sha2::{Digest as _, Sha256};

use crate::fixture::{Fixture, encrypted, plain, plain_again, volume};

fn page(record: &Record) -> String {
    html::page(&Labelled::of(record).report())
}

/// Names of the open elements must match those of the closing tags, in order.
fn assert_balanced(page: &str) {
    const VOID: [&str; 4] = ["meta", "br", "link", "img"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        rest = after;
        if tag.starts_with('!') {
            continue;
        }
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric()), "<{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes another element");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        if matches!(name, "style" | "script") && !tag.starts_with('/') {
            rest = &rest[rest.find(&format!("</{name}")).expect("it ends")..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

/// The page without the contents of its script elements, and for each such element its type and contents.
fn without_scripts(page: &str) -> (String, Vec<(String, String)>) {
    let mut scripts = Vec::new();
    let mut parts = page.split("<script");
    let mut rest = parts.next().unwrap().to_owned();
    for part in parts {
        let (tag, content) = part.split_once('>').unwrap();
        let (content, after) = content.split_once("</script>").unwrap();
        let kind = tag.split("type=\"").nth(1).and_then(|k| k.split('"').next()).unwrap_or("");
        scripts.push((kind.to_owned(), content.to_owned()));
        rest.push_str(after);
    }
    (rest, scripts)
}

fn assert_sound(page: &str) {
    assert!(page.len() <= html::MOST_BYTES, "{} bytes", page.len());
    assert_balanced(page);
    let (shown, scripts) = without_scripts(page);
    assert!(!shown.contains("NaN"), "NaN in the page");
    assert!(!shown.contains("\"inf") && !shown.contains("Infinity") && !shown.contains("inf,"));
    for load in ["http://", "https://", "url(", "@import", "<link", "<img", " src=", " onclick"] {
        assert!(!shown.contains(load), "{load} in the page");
    }
    let run: Vec<&String> = scripts.iter().filter(|(k, _)| k.is_empty()).map(|(_, s)| s).collect();
    assert_eq!(run.len(), 1, "one script runs");
    let hash = Base64::encode_string(&Sha256::digest(run[0]));
    assert!(
        page.contains(&format!("script-src &#39;sha256-{hash}&#39;"))
            || page.contains(&format!("script-src 'sha256-{hash}'")),
        "the policy knows the script"
    );
    for (kind, data) in scripts.iter().filter(|(k, _)| !k.is_empty()) {
        assert_eq!(kind, "application/json");
        assert!(serde_json::from_str::<serde_json::Value>(data).is_ok(), "{data:.200}");
    }
    let page = &shown;
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "identifiers are unique");
}

#[test]
fn a_standard_page_is_sound_and_complete() {
    let page = page(&Fixture::default().record());
    assert_sound(&page);
    for part in [
        "What to use",
        "Verdict in sentences",
        "Path or cipher",
        "% of plain speed",
        "Throughput",
        "CPU time",
        "Latency",
        "Trials over time",
        "All numbers",
        "Method",
        "Raw trials",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let charts = page.matches("<svg class=\"chart").count();
    assert_eq!(
        charts,
        (5 + 2) * 8,
        "five kinds of chart, and steps of two arms, for eight workloads"
    );
    assert_eq!(page.matches("<desc").count(), charts);
    assert_eq!(page.matches("role=\"img\"").count(), charts);
    let answer = page.find("id=\"answer\"").unwrap();
    assert!(answer < page.find("id=\"glance\"").unwrap());
    for folded in page.split("<summary><h2 id=\"").skip(1) {
        let id = folded.split('"').next().unwrap();
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id} is in the contents");
    }
    assert!(page.find("id=\"numbers\"").unwrap() < page.find("id=\"method\"").unwrap());
}

/// Every class that a chart uses has a rule, whose colour has a value for each scheme.
fn assert_coloured(page: &str) {
    let mut seen = 0;
    for value in page.split(" class=\"").skip(1) {
        let class = value.split('"').next().unwrap();
        let Some(role) = class.strip_prefix("f-").or(class.strip_prefix("s-")) else { continue };
        assert!(page.contains(&format!(".{class}{{")), "no rule for {class}");
        assert_eq!(page.matches(&format!("--{role}:#")).count(), 2, "{role}");
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn every_chart_colour_has_a_light_and_a_dark_value() {
    assert_coloured(&page(&Fixture::default().record()));
}

#[test]
fn hostile_text_stays_text() {
    let mut record = Fixture::default().record();
    let hostile = "</svg><b onload=\"x\">&'";
    hostile.clone_into(&mut record.plan.arms[3].label);
    hostile.clone_into(&mut record.plan.workloads[0].label);
    hostile.clone_into(&mut record.target.mount_options);
    hostile.clone_into(&mut record.run_id);
    record.notes.push(hostile.to_owned());
    let page = page(&record);
    assert_sound(&page);
    assert!(!page.contains("<b onload"));
}

#[test]
fn thin_and_broken_records_make_sound_pages() {
    let standard = Fixture::default;
    let fixtures = [
        standard().one_workload(),
        Fixture { blocks: 0, ..standard() },
        Fixture { blocks: 1, partial: true, reason: StopReason::Interrupted, ..standard() },
        Fixture { arms: vec![plain()], ..standard() },
        Fixture { arms: Vec::new(), ..standard() },
        Fixture { workloads: Vec::new(), ..standard() },
        Fixture { noise_sd: 1.5, blocks: 3, ..standard() },
        Fixture {
            cached: crate::fixture::quick().into_iter().map(|w| w.id).collect(),
            ..standard()
        },
    ];
    for fixture in fixtures {
        assert_sound(&page(&fixture.record()));
    }
    let mut record = standard().record();
    record.trials.clear();
    record.stops.clear();
    record.target.device = None;
    assert_sound(&page(&record));

    let mut record = standard().record();
    for (i, t) in record.trials.iter_mut().enumerate() {
        match i % 5 {
            0 => t.measured.elapsed_s = 0.0,
            1 => t.measured.latency.p99_us = Some(f64::INFINITY),
            2 => t.measured.cpu_process_s = f64::NAN,
            3 => t.at_s = f64::NAN,
            _ => (t.measured.ios, t.measured.bytes) = (0, 0),
        }
    }
    record.elapsed_s = f64::NAN;
    assert_sound(&page(&record));
}

#[test]
fn twenty_arms_make_a_sound_page() {
    let many = (0..20_u32).map(|i| encrypted(&format!("Cipher {i}"), 512, &[0.9], 0.1));
    let arms = [plain(), plain_again()].into_iter().chain(many).collect();
    let page = page(&Fixture { arms, ..Fixture::default() }.record());
    assert_sound(&page);
    assert!(page.contains("Cipher 19"));
}

/// The record that is contained in the page.
fn embedded(page: &str) -> Option<Record> {
    let (_, after) = page.split_once("id=\"record\">")?;
    serde_json::from_str(after.split_once("</script>")?.0).ok()
}

#[test]
fn the_embedded_record_is_the_record() {
    let record = Fixture::default().record();
    let page = page(&record);
    let embedded = embedded(&page).unwrap();
    assert_eq!(embedded.trials.len(), record.trials.len());
    assert!(embedded.results.is_some());
}

#[test]
fn every_profile_makes_a_sound_page_with_its_picture() {
    for (name, record) in crate::fixture::profiles::all() {
        let page = page(&record);
        assert_sound(&page);
        assert!(page.contains("id=\"picture\""), "{name}");
        let charts = page.matches("<svg class=\"chart").count();
        assert!(charts >= 2, "{name}");
        assert_eq!(page.matches("<desc").count(), charts, "{name}");
        assert_coloured(&page);
    }
}

#[test]
fn a_page_of_1638_workloads_stays_below_a_megabyte() {
    let mut fixture = crate::fixture::profiles::iozone();
    fixture.arms.insert(2, crate::fixture::null_layer(&[0.98]));
    fixture.arms.push(encrypted("Serpent-256-XTS 512 B", 512, &[0.4], 0.9));
    let record = Fixture { blocks: 3, ..fixture }.record();
    assert!(record.trials.len() > 30_000);
    let page = page(&record);
    assert_sound(&page);
    assert!(page.contains("too many for a page"));
}

#[test]
fn records_without_what_a_picture_draws_make_sound_pages() {
    for presentation in ["bars", "curve", "grid", "heatmap", "copies", "files", "unlock"] {
        let none = Fixture { blocks: 0, ..Fixture::default() };
        let plain_only = Fixture { arms: vec![plain()], ..Fixture::default() };
        let armless = Fixture { arms: Vec::new(), ..Fixture::default() };
        for fixture in [none, plain_only, armless, Fixture::default()] {
            let presentation = Some(presentation.to_owned());
            assert_sound(&page(&Fixture { presentation, ..fixture }.record()));
        }
    }
}

#[test]
fn settings_workloads_and_cpu_time_are_in_the_method() {
    let mut record = crate::fixture::profiles::mount();
    record.target.engine.details = Some("fixed buffers, huge pages".to_owned());
    record.plan.pause_s = 5.0;
    record.plan.round_pause_s = 90.0;
    let page = page(&record);
    for part in
        ["pim default, prf argon2id", "inline", "open a volume", "fixed buffers, huge pages"]
    {
        assert!(page.contains(part), "{part}");
    }
    let page = self::page(&crate::fixture::profiles::crystaldiskmark().record());
    for part in ["CPU use by component", "16 threads", "70 % reads", "file of 1 GiB"] {
        assert!(page.contains(part), "{part}");
    }
}

/// Twenty systems side by side, for every workload that has its own charts, and many trials.
fn everything(arms: u32, blocks: u32) -> Record {
    let many =
        (0..arms).map(|i| encrypted(&format!("System {i} AES-256-XTS 512 B"), 512, &[0.9], 0.1));
    let arms = [plain(), plain_again()].into_iter().chain(many).collect();
    let mut workloads = crate::fixture::quick();
    let more: Vec<_> = workloads
        .iter()
        .map(|w| {
            let mut w = w.clone();
            w.id.push_str("-again");
            w.label.push_str(" again");
            w
        })
        .collect();
    workloads.extend(more);
    Fixture { arms, blocks, workloads, accounted: true, ..Fixture::default() }.record()
}

#[test]
fn pages_of_large_records_leave_out_and_say_what() {
    let whole = page(&everything(2, 4));
    assert_sound(&whole);
    let (shown, _) = without_scripts(&whole);
    assert!(!shown.contains("too large") && shown.contains("fig-trials"));
    assert!(embedded(&whole).unwrap().trials[0].measured.accounting.is_some());

    let record = everything(18, 5);
    let large = page(&record);
    assert_sound(&large);
    assert!(large.contains("The record is too large for it") && large.contains("fig-kept"));
    let (_, scripts) = without_scripts(&large);
    let carried = scripts.iter().find(|(_, data)| data.contains("\"rows\"")).expect("rows");
    let carried: serde_json::Value = serde_json::from_str(&carried.1).unwrap();
    let rows = carried["rows"].as_array().unwrap();
    assert_eq!(rows.len(), record.trials.len());
    for (row, t) in rows.iter().zip(&record.trials) {
        assert_eq!(row[0], t.sequence);
        let place = row[3].as_u64().unwrap() as usize;
        assert_eq!(record.plan.arms[place].id, t.arm);
        assert!((row[5].as_f64().unwrap() / t.measured.elapsed_s - 1.0).abs() < 1e-5);
    }

    let larger = page(&everything(70, 4));
    assert_sound(&larger);
    assert!(larger.contains("The record is too large for one page, which leaves out the charts"));
    assert!(embedded(&larger).is_none());
    assert!(larger.contains("System 69"));
}

#[test]
fn figures_lead_to_the_trials_of_their_cell() {
    let record = Fixture::default().record();
    let page = page(&record);
    // The third arm of the first workload is in both tables.
    assert_eq!(page.matches("href=\"#trials\" data-cell=\"0-2\"").count(), 2);
    let target = page.find("<h2 id=\"trials\"").unwrap();
    assert!(page[target..].contains("<noscript>"));
}

#[test]
fn the_font_is_the_one_that_its_readme_names() {
    let font = include_bytes!("../../vendor/dejavu/DejaVuSans-subset.ttf");
    let hash: String = Sha256::digest(font).iter().map(|b| format!("{b:02x}")).collect();
    assert!(include_str!("../../vendor/dejavu/README.md").contains(&hash), "{hash}");
}

#[test]
fn names_and_ranges_are_not_broken_at_their_hyphens() {
    let arms = vec![
        plain(),
        plain_again(),
        volume("dm-crypt", "LUKS2", 512, &[0.5, 0.6]),
        volume("builtin-mounted", "LUKS2", 512, &[0.3, 0.4]),
    ];
    let mut record = Fixture { arms, ..Fixture::default() }.record();
    record.target.emulated =
        Some(EmulatedDevice { model: "hdd-7200".to_owned(), ..EmulatedDevice::default() });
    let page = page(&record);
    let headline = page.split("<h1").nth(1).unwrap().split("</h1>").next().unwrap();
    let take = page.split("id=\"take\"").nth(1).unwrap().split("</section>").next().unwrap();
    let whole = |text: &str| format!("<span class=\"nobreak\">{text}");
    assert!(headline.contains(&whole("hdd-7200")), "{headline}");
    assert!(headline.contains(&whole("(dm-crypt)")), "{headline}");
    // The interval of a figure.
    let ranges: Vec<&str> = take.split(&whole("(")).skip(1).collect();
    assert!(ranges.iter().any(|r| r.starts_with(|c: char| c.is_ascii_digit())), "{take}");
    assert_sound(&page);
}
