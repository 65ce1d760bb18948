//! Runs are given titles and deleted: only by the page, only by their names, and never during a measurement.

use std::fs;

use crate::site::Place;
use cryptbench_os::Directory;
use cryptbench_record::TrialLog;

const DELETE: &str = "/api/runs/one/delete";
const TITLE: &str = "/api/runs/one/title";
const SURE: &str = r#"{"confirm":"one"}"#;
const TITLED: &str = r#"{"title":"my <b>laptop</b>"}"#;

fn has(place: &Place, file: &str) -> bool {
    place.dir.path().join("runs/one").join(file).exists()
}

#[test]
fn a_run_gets_a_title_beside_its_record_and_is_deleted_once_that_is_confirmed() {
    let place = Place::new();
    let record = fs::read(place.dir.path().join("runs/one/record.json")).unwrap();
    let (path, _) = place.report();
    let (status, answer) = place.post(TITLE, TITLED);
    assert_eq!(status, 200, "{answer}");
    let (_, list) = place.get("/api/runs");
    assert!(list.contains(r#""title":"my <b>laptop</b>""#), "{list}");
    assert_eq!(fs::read(place.dir.path().join("runs/one/record.json")).unwrap(), record);
    let (renamed, _) = place.report();
    assert_ne!(renamed, path, "a report that was rendered has the old title");
    let (status, answer) = place.post(TITLE, &format!(r#"{{"title":"{}"}}"#, "x".repeat(101)));
    assert!(status == 422 && answer.contains(r#""field":"title""#), "{answer}");
    let (status, answer) = place.post(TITLE, r#"{"title":"a\u001b[2Jb"}"#);
    assert!(status == 422 && answer.contains("control characters"), "{answer}");
    assert_eq!(place.post(TITLE, r#"{"title":""}"#).0, 200);
    assert!(!has(&place, "title.txt"));

    for unsure in ["{}", r#"{"confirm":""}"#, r#"{"confirm":"two"}"#, "", r#"{"confirm":true}"#] {
        let (status, answer) = place.post(DELETE, unsure);
        assert!(matches!(status, 400 | 422), "{unsure}: {answer}");
        assert!(has(&place, "record.json") && has(&place, "report.html"));
    }
    let (status, answer) = place.post(DELETE, SURE);
    assert!(status == 200 && answer.ends_with(r#"{"deleted":true,"kept":[]}"#), "{answer}");
    assert!(!place.dir.path().join("runs/one").exists());
    assert!(place.get("/api/runs").1.ends_with("[]"));
    assert_eq!(place.get_outside(&renamed).0, 404, "its report is gone, too");
    assert_eq!(place.post(DELETE, SURE).0, 404);
    assert_eq!(place.post(TITLE, TITLED).0, 404);
}

#[test]
fn nobody_but_the_page_changes_a_run() {
    let place = Place::new();
    let order = place.order(&place.target());
    let all = [(TITLE, TITLED), (DELETE, SURE), ("/api/plan", order.as_str())];
    let json = "Content-Type: application/json";
    for (path, body) in all {
        let ask = |method: &str, headers: &[&str]| place.ask(method, path, headers, body).0;
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"] {
            assert_eq!(ask("POST", &[json, &format!("Origin: {origin}")]), 403, "{path} {origin}");
        }
        assert_eq!(ask("POST", &[json, "Host: evil.example"]), 403);
        assert_eq!(ask("POST", &[json, "Sec-Fetch-Site: cross-site"]), 403);
        // Requests that a form on another page could send.
        for kind in ["text/plain", "application/x-www-form-urlencoded"] {
            assert_eq!(ask("POST", &[&format!("Content-Type: {kind}")]), 415, "{path} {kind}");
        }
        assert_eq!(ask("GET", &[]), 405);
        let wrong = "0".repeat(place.token.len());
        for token in [wrong.as_str(), ""] {
            let head = format!(
                "POST /{token}{path} HTTP/1.1\r\nHost: {}\r\n{json}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                place.host(),
                body.len()
            );
            assert_eq!(crate::site::status(&place.raw(head.as_bytes())), 403, "{path} {token}");
        }
    }
    assert!(has(&place, "record.json") && !has(&place, "title.txt"));
    let own = format!("Origin: http://{}", place.host());
    for (path, body) in all {
        assert_eq!(place.ask("POST", path, &[json, &own], body).0, 200, "{path}");
    }
}

#[test]
fn no_name_leads_out_of_the_directory_of_runs() {
    let place = Place::new();
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("record.json"), "{}").unwrap();
    std::os::unix::fs::symlink(&outside, place.dir.path().join("runs/link")).unwrap();
    for (path, name) in [
        ("..", ".."),
        ("%2e%2e", ".."),
        ("..%2Foutside", "../outside"),
        ("one%2F..%2F..%2Foutside", "one/../../outside"),
        ("%2Fetc", "/etc"),
        ("one%00", "one\0"),
        (".", "."),
        ("", ""),
        ("link", "link"),
        ("gone", "gone"),
    ] {
        let sure = serde_json::json!({ "confirm": name }).to_string();
        let deleted = place.post(&format!("/api/runs/{path}/delete"), &sure);
        let renamed = place.post(&format!("/api/runs/{path}/title"), TITLED);
        for (status, answer) in [deleted, renamed] {
            assert_eq!(status, 404, "{path}: {answer}");
        }
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(place.dir.path().join("secret.json").exists());
}

#[test]
fn nothing_is_renamed_or_deleted_while_it_is_measured() {
    let place = Place::new();
    // For example a run started in a terminal, which has its log locked. It already has a record because it was
    // resumed.
    let run = place.dir.path().join("runs/one");
    let log = TrialLog::create(&Directory::open(&run).unwrap()).unwrap();
    for (path, body) in [(TITLE, TITLED), (DELETE, SURE)] {
        let (status, answer) = place.post(path, body);
        assert!(status == 409 && answer.contains("in progress"), "{answer}");
    }
    drop(log);
    // While the page's run is in progress, other runs cannot be changed either, because they may be on the disk
    // that is being measured.
    place.start();
    for (path, body) in [(TITLE, TITLED), (DELETE, SURE)] {
        let (status, answer) = place.post(path, body);
        assert!(status == 409 && answer.contains("disturb"), "{answer}");
    }
    place.tell("end");
    place.events_until_ended();
    assert_eq!(place.post(TITLE, TITLED).0, 200);
    fs::write(run.join("mine.txt"), "").unwrap();
    let (status, answer) = place.post(DELETE, SURE);
    assert!(status == 200 && answer.contains(r#""kept":["mine.txt"]"#), "{answer}");
    assert!(has(&place, "mine.txt") && !has(&place, "record.json") && !has(&place, "trials.jsonl"));
}
