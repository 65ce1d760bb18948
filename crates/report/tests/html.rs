//! The page is well formed, loads nothing, and survives records that are hostile, broken or empty.

mod fixture;

use cryptbench_record::{Record, StopReason};
use cryptbench_report::{analyse, html};
use fixture::{Fixture, encrypted, plain, plain_again};

fn page(record: &Record) -> String {
    html::page(record, &analyse(record))
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
        if name == "style" && !tag.starts_with('/') {
            rest = &rest[rest.find("</style").expect("the style ends")..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

fn assert_sound(page: &str) {
    assert_balanced(page);
    assert!(!page.contains("NaN"), "NaN in the page");
    assert!(!page.contains("\"inf") && !page.contains("Infinity") && !page.contains("inf,"));
    for load in ["http://", "https://", "url(", "@import", "<script", "<link", "<img", " src="] {
        assert!(!page.contains(load), "{load} in the page");
    }
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
        "Verdict",
        "Layer and cipher",
        "Speed kept",
        "Throughput",
        "CPU time",
        "Latency",
        "Trials over time",
        "All numbers",
        "How it was measured",
        "Raw trials",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let charts = page.matches("<svg").count();
    assert_eq!(
        charts,
        (5 + 2) * 8,
        "five kinds of chart, and steps of two arms, for eight workloads"
    );
    assert_eq!(page.matches("<desc").count(), charts);
    assert_eq!(page.matches("role=\"img\"").count(), charts);
    let verdict = page.find("id=\"verdict\"").unwrap();
    assert!(verdict < page.find("id=\"glance\"").unwrap());
    assert!(page.find("id=\"numbers\"").unwrap() < page.find("id=\"method\"").unwrap());
}

#[test]
fn every_chart_colour_has_a_light_and_a_dark_value() {
    let page = page(&Fixture::default().record());
    for attribute in ["fill", "stroke"] {
        for value in page.split(&format!(" {attribute}=\"#")).skip(1) {
            let hex = value.split('"').next().unwrap();
            let rule = format!(".chart [{attribute}=\"#{hex}\"]");
            assert!(page.contains(&rule), "no rule for {attribute} #{hex}");
        }
    }
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
        Fixture { cached: fixture::quick().into_iter().map(|w| w.id).collect(), ..standard() },
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
            0 => t.elapsed_s = 0.0,
            1 => t.latency.p99_us = Some(f64::INFINITY),
            2 => t.cpu_process_s = f64::NAN,
            3 => t.at_s = f64::NAN,
            _ => (t.ios, t.bytes) = (0, 0),
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

#[test]
fn the_embedded_record_is_the_record() {
    let record = Fixture::default().record();
    let page = page(&record);
    let encoded = page.split("charset=utf-8,").nth(1).unwrap().split('"').next().unwrap();
    let mut bytes = Vec::new();
    let mut rest = encoded.bytes();
    while let Some(b) = rest.next() {
        if b == b'%' {
            let hex = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            bytes.push(b);
        }
    }
    let embedded: Record = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(embedded.trials.len(), record.trials.len());
    assert!(embedded.results.is_some());
}

#[test]
fn every_profile_makes_a_sound_page_with_its_picture() {
    for (name, record) in fixture::profiles::all() {
        let page = page(&record);
        assert_sound(&page);
        assert!(page.contains("id=\"picture\""), "{name}");
        assert!(page.matches("<svg").count() >= 2, "{name}");
        assert_eq!(page.matches("<desc").count(), page.matches("<svg").count(), "{name}");
        for attribute in ["fill", "stroke"] {
            for value in page.split(&format!(" {attribute}=\"#")).skip(1) {
                let hex = value.split('"').next().unwrap();
                let rule = format!(".chart [{attribute}=\"#{hex}\"]");
                assert!(page.contains(&rule), "{name}: no rule for {attribute} #{hex}");
            }
        }
    }
}

#[test]
fn a_page_of_1638_workloads_stays_below_a_megabyte() {
    let mut fixture = fixture::profiles::iozone();
    fixture.arms.insert(2, fixture::null_layer(&[0.98]));
    fixture.arms.push(encrypted("Serpent-256-XTS 512 B", 512, &[0.4], 0.9));
    let record = Fixture { blocks: 3, ..fixture }.record();
    assert!(record.trials.len() > 30_000);
    let page = page(&record);
    assert_sound(&page);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
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
    let mut record = fixture::profiles::mount();
    record.target.engine.details = Some("fixed buffers, huge pages".to_owned());
    record.plan.pause_s = 5.0;
    record.plan.round_pause_s = 90.0;
    let page = page(&record);
    for part in
        ["pim default, prf argon2id", "inline", "open a volume", "fixed buffers, huge pages"]
    {
        assert!(page.contains(part), "{part}");
    }
    let page = html::page(
        &fixture::profiles::crystaldiskmark().record(),
        &analyse(&fixture::profiles::crystaldiskmark().record()),
    );
    for part in ["Whose CPU time it was", "16 threads", "70 % reads", "file of 1 GiB"] {
        assert!(page.contains(part), "{part}");
    }
}
