//! One run at a time, shown in the same way on every page; stopped on request; nothing is overwritten without
//! consent.

use std::fs;

use crate::site::{ENDED, Place};

/// The body of an answer as JSON.
fn body(answer: &str) -> serde_json::Value {
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

/// The numbers of the events in a stream.
fn ids(text: &str) -> Vec<u64> {
    text.lines().filter_map(|l| l.strip_prefix("id: ")?.parse().ok()).collect()
}

#[test]
fn two_pages_and_one_that_comes_back_are_told_the_same() {
    let place = Place::new();
    place.start();
    place.wait_for("arguments", "--profile=quick");
    let first = place.events_until("\"n\":20}", None);
    let (status, answer) = place.post("/api/run", &place.order(&place.target()));
    assert_eq!(status, 409, "{answer}");
    // Requests that need CPU time are refused until the run has ended.
    assert_eq!(place.get("/api/compare?a=one&b=one").0, 409);
    assert_eq!(place.get("/runs/one/export/csv").0, 409);
    assert_eq!(place.get("/api/runs/one/answer").0, 409);
    assert_eq!(place.post("/api/plan", &place.order(&place.target())).0, 409);
    place.tell("end");
    let [a, b] = [place.events_until_ended(), place.events_until_ended()];
    let data = |text: &str| {
        text.split("\r\n\r\n")
            .nth(1)
            .unwrap_or_default()
            .lines()
            .filter(|l| l.starts_with("data"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(data(&a), data(&b));
    assert!(a.contains("no JSON at all") && a.contains("\"code\":0"), "{a:.500}");
    // A page that reconnects with the last number that it knows gets only newer events.
    let last = *ids(&first).last().unwrap();
    let rest = place.events_until(ENDED, Some(last));
    assert_eq!(ids(&rest).first(), Some(&(last + 1)));
    // Afterwards the next run can start.
    fs::remove_file(place.dir.path().join("end")).unwrap();
    place.start();
    let next = place.events_until("\"n\":3}", None);
    assert!(!next.contains(ENDED), "the former run is over: {next:.500}");
    assert!(ids(&next)[0] > *ids(&a).last().unwrap());
    place.tell("end");
}

#[test]
fn cancelling_interrupts_the_run_and_its_record_is_named() {
    let place = Place::new();
    assert_eq!(place.post("/api/cancel", "{}").0, 409);
    place.start();
    place.events_until("\"n\":2}", None);
    assert_eq!(place.post("/api/cancel", "{}").0, 202);
    let told = place.wait_for("told", "interrupted");
    assert!(!told.contains("finished"));
    let text = place.events_until_ended();
    assert!(
        text.contains("\"cancelling\"") && text.contains("\"runs\":[\"cancelled\"]"),
        "{text:.800}"
    );
    assert!(text.contains("\"code\":130"), "{text:.800}");
}

#[test]
fn nothing_is_overwritten_unless_its_name_is_typed_again() {
    let place = Place::new();
    let disk = place.dir.path().join("disk.img");
    fs::write(&disk, "precious").unwrap();
    let name = disk.display().to_string();
    let order = |confirm: &str| {
        serde_json::json!({ "target": name, "options": { "profile": ["quick"] }, "confirm": confirm }).to_string()
    };
    for confirm in ["", "disk.img", &name[1..], &format!("{name} "), &name.to_uppercase()] {
        for path in ["/api/run", "/api/plan"] {
            let (status, answer) = place.post(path, &order(confirm));
            assert_eq!((status, body(&answer)["field"].as_str()), (422, Some("confirm")));
        }
    }
    // Consent that matches nothing in the order is also an error.
    let target = place.target();
    let order_of = |more: serde_json::Value| {
        let mut order = serde_json::json!({ "target": name, "options": { "profile": ["quick"] }, "confirm": name });
        order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        place.post("/api/run", &order.to_string()).0
    };
    assert_eq!(order_of(serde_json::json!({ "target": target, "confirm": target })), 422);
    assert_eq!(order_of(serde_json::json!({ "erase": ["--output=/"] })), 422);
    assert!(!place.dir.path().join("arguments").exists(), "nothing was started");
    assert_eq!(place.post("/api/run", &order(&name)).0, 202);
    let arguments = place.wait_for("arguments", "--destroy");
    assert!(arguments.contains(&format!("--destroy={name} -- {name}")), "{arguments}");
    place.tell("end");
}

#[test]
fn pairs_models_studies_and_settings_reach_the_program_as_its_own_options() {
    let place = Place::new();
    let here = place.target().display().to_string();
    let planned = |order: serde_json::Value| {
        let (status, answer) = place.post("/api/plan", &order.to_string());
        assert_eq!(status, 200, "{answer}");
        body(&answer)["planned"].as_str().unwrap().replace(&here, "HERE")
    };
    let pair = serde_json::json!({ "plain": here, "encrypted": here, "name": "my disk" });
    let order = serde_json::json!({ "options": { "profile": ["quick"] }, "pair": pair });
    assert_eq!(planned(order), "--profile=quick --pair HERE HERE --pair-name=my disk");
    let order =
        serde_json::json!({ "emulate": "nvme", "options": { "study": ["A"], "size": ["1GiB"] } });
    assert_eq!(planned(order), "--size=1GiB --study=A --emulate=nvme");
    let order = serde_json::json!({
        "target": here,
        "options": {
            "system": ["builtin"], "cipher": ["aes-256-xts"], "data-unit": ["512,4096"], "budget": ["5m"],
            "set": ["format=luks2", "workqueues=on,off"], "split": [], "builtin-only": [],
        },
    });
    let words = "--budget=5m --builtin-only --cipher=aes-256-xts --data-unit=512,4096 --set=format=luks2 \
                 --set=workqueues=on,off --split --system=builtin -- HERE";
    assert_eq!(planned(order), words);
}

#[test]
fn what_the_program_refuses_is_said_at_its_field_and_starts_nothing() {
    let place = Place::new();
    for (value, field) in [
        (serde_json::json!({ "options": { "budget": ["never"] } }), "budget"),
        (serde_json::json!({ "options": { "set": ["never"] } }), "set"),
        (serde_json::json!({ "options": { "data-unit": ["never"] } }), "data-unit"),
        (serde_json::json!({ "options": { "profile": ["/etc/shadow"] } }), "profile"),
        (serde_json::json!({ "options": { "output": ["/etc"] } }), "output"),
        (serde_json::json!({ "target": "", "emulate": "./model.toml" }), "emulate"),
    ] {
        let mut order: serde_json::Value =
            serde_json::from_str(&place.order(&place.target())).unwrap();
        order.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        for path in ["/api/plan", "/api/run"] {
            let (status, answer) = place.post(path, &order.to_string());
            let found = body(&answer)["field"].as_str().map(ToOwned::to_owned);
            assert_eq!((status, found.as_deref()), (422, Some(field)), "{value}: {answer}");
        }
    }
    let (_, answer) = place.post("/api/run", &serde_json::json!({ "shell": "sh" }).to_string());
    insta::assert_snapshot!(body(&answer), @r#"{"field":null,"problem":"The request is not valid: unknown field `shell`, expected one of `target`, `confirm`, `erase`, `pair`, `emulate`, `options` at line 1 column 8."}"#);
    assert!(!place.dir.path().join("arguments").exists(), "nothing was started");
}

#[test]
fn the_program_answers_what_is_asked_beside_runs() {
    let place = Place::new();
    let (status, answer) = place.post("/api/plan", &place.order(&place.target()));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("{\"planned\":\"--profile=quick -- /"), "{answer}");
    let (status, answer) = place.get("/api/runs/one/answer");
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("report --format answer -- /"), "{answer}");
    assert_eq!(place.get("/api/runs/two/answer").0, 404);
    assert!(place.get("/api/compare?a=one&b=one").1.ends_with("{\"compared\":true}"));
    let (_, csv) = place.get("/runs/one/export/csv");
    assert!(csv.contains("filename=\"one.csv\"") && csv.ends_with("a,b\n"), "{csv}");
    assert_eq!(place.get("/api/compare?a=one&b=two").0, 404);
    assert_eq!(place.get("/api/compare?a=one").0, 400);
}

#[test]
fn a_report_that_was_rendered_opens_again_beside_a_run() {
    let place = Place::new();
    place.start();
    let (status, answer) = place.get("/runs/one/report.html");
    assert_eq!(status, 409, "nothing is rendered beside a run: {answer}");
    place.tell("end");
    place.events_until_ended();
    let (path, _) = place.report();
    fs::remove_file(place.dir.path().join("end")).unwrap();
    place.start();
    assert_eq!(place.report().0, path);
    assert_eq!(place.get_outside(&path).0, 200);
    place.tell("end");
    place.events_until_ended();
    // After a record is replaced, its report has a different address.
    fs::write(place.dir.path().join("runs/one/record.json"), "{ }").unwrap();
    assert_ne!(place.report().0, path);
    assert_eq!(place.wait_for("asked", "report").lines().count(), 2);
}

#[test]
fn of_many_starts_at_once_one_is_a_run() {
    let place = Place::new();
    let order = place.order(&place.target());
    let mut answers: Vec<u16> = std::thread::scope(|scope| {
        let starts: Vec<_> =
            (0..8).map(|_| scope.spawn(|| place.post("/api/run", &order).0)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    answers.sort();
    assert_eq!(answers, [202, 409, 409, 409, 409, 409, 409, 409]);
    place.tell("end");
    place.events_until_ended();
    assert_eq!(place.wait_for("arguments", "run").lines().count(), 1);
}

#[test]
fn a_run_that_is_killed_is_told_as_such_and_another_one_can_start() {
    let place = Place::new();
    place.tell("die");
    place.start();
    let text = place.events_until_ended();
    let ended = text.lines().find(|l| l.contains("\"ended\"")).unwrap();
    assert!(ended.contains("\"signal\":9") && ended.contains("\"code\":null"), "{ended}");
    assert!(ended.contains("\"runs\":[]"), "{ended}");
    fs::remove_file(place.dir.path().join("die")).unwrap();
    place.start();
    place.tell("end");
    place.events_until("\"code\":0", None);
}

#[test]
fn what_a_run_leaves_behind_keeps_no_record_and_tells_nothing_of_the_next_run() {
    let place = Place::new();
    place.tell("heir");
    place.start();
    // Its standard error is still open, but the record is already known.
    let text = place.events_until_ended();
    assert!(text.contains("\"runs\":[\"inherited\"]"), "{text:.800}");
    place.start();
    place.tell("tell");
    place.wait_for("done", "heir");
    place.tell("end");
    let text = place.events_until_ended();
    assert!(!text.contains("of the former run"), "{text:.800}");
}

#[test]
fn a_run_begins_when_what_was_asked_before_is_answered() {
    let place = Place::new();
    place.tell("slow");
    std::thread::scope(|scope| {
        let question = scope.spawn(|| place.get("/api/compare?a=one&b=one").0);
        place.wait_for("done", "asked");
        let run = scope.spawn(|| place.post("/api/run", &place.order(&place.target())).0);
        // Time in which the run could start too early.
        std::thread::sleep(std::time::Duration::from_millis(300));
        fs::remove_file(place.dir.path().join("slow")).unwrap();
        assert_eq!((question.join().unwrap(), run.join().unwrap()), (200, 202));
    });
    assert_eq!(place.wait_for("done", "run"), "asked\nanswered\nrun\n");
    place.tell("end");
}

#[test]
fn one_choice_of_two_runs_is_compared_and_a_refusal_shows_no_directories() {
    let place = Place::new();
    fs::create_dir_all(place.dir.path().join("runs/two")).unwrap();
    fs::write(place.dir.path().join("runs/two/record.json"), "{}").unwrap();
    let (status, answer) = place.get("/api/compare?a=one&b=two&arm=plain");
    assert_eq!(status, 200, "{answer}");
    let runs = place.dir.path().join("runs");
    let [a, b] = ["one", "two"].map(|name| runs.join(name).display().to_string());
    let asked = format!("compare --json --arm=plain -- {a} {b}");
    assert_eq!(body(&answer)["compared"], *asked);
    let (status, answer) = place.get("/api/compare?a=one&b=two&arm=none");
    assert_eq!(status, 422, "{answer}");
    assert_eq!(body(&answer)["problem"], "B: has no such choice; A has none");
}
