//! Wrong tokens, other hosts and origins, and paths that lead elsewhere are refused. Answers are restricted in what
//! they may do.

use crate::site::Place;

#[test]
fn only_who_knows_the_address_is_answered() {
    let place = Place::new();
    assert_eq!(place.get("/").0, 200);
    assert_eq!(place.get("/api/catalogue").0, 200);
    let wrong = "0".repeat(place.token.len());
    for path in
        ["/".to_owned(), "/api/run".to_owned(), format!("/{wrong}/"), format!("/{wrong}/api/runs")]
    {
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", place.host());
        let answer = place.raw(head.as_bytes());
        assert_eq!(crate::site::status(&answer), 403, "{path}: {answer}");
        assert!(!answer.contains(&place.token));
    }
}

#[test]
fn other_hosts_and_origins_are_refused() {
    let place = Place::new();
    let host = |h: &str| place.ask("GET", "/api/runs", &[&format!("Host: {h}")], "").0;
    assert_eq!(host(&format!("localhost:{}", place.port)), 200);
    for other in
        ["evil.example", &format!("evil.example:{}", place.port), "127.0.0.1", "localhost:1"]
    {
        assert_eq!(host(other), 403, "{other}");
    }
    let order = place.order(&place.target());
    let from = |origin: &str| {
        let headers = ["Content-Type: application/json", &format!("Origin: {origin}")];
        place.ask("POST", "/api/run", &headers, &order).0
    };
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"] {
        assert_eq!(from(origin), 403, "{origin}");
    }
    // A request that a form on another page could send.
    assert_eq!(place.ask("POST", "/api/run", &["Content-Type: text/plain"], &order).0, 415);
    let cross = ["Content-Type: application/json", "Sec-Fetch-Site: cross-site"];
    assert_eq!(place.ask("POST", "/api/run", &cross, &order).0, 403);
    assert!(!place.dir.path().join("arguments").exists(), "nothing was started");
    assert_eq!(from(&format!("http://{}", place.host())), 202);
}

#[test]
fn no_path_leads_out_of_the_directory_of_runs() {
    let place = Place::new();
    assert_eq!(place.get("/runs/one/record.json").0, 200);
    for path in [
        "/runs/../secret.json",
        "/runs/%2e%2e/record.json",
        "/runs/..%2f..%2fsecret.json/record.json",
        "/runs/%2Fetc%2Fpasswd/record.json",
        "/runs/one/../../secret.json",
        "/runs/one%00/record.json",
        "/runs/one/export/../../../secret.json",
        "/runs/one/export/sh",
        "/runs//record.json",
        "/api/compare?a=one&b=..%2F..",
        "/js/../../../src/lib.rs",
        "/js/%2e%2e/index.html",
    ] {
        let (status, answer) = place.get(path);
        assert_eq!(status, 404, "{path}: {answer}");
    }
}

/// The headers of an answer, except those that differ each time.
fn head(answer: &str) -> String {
    let lines = answer.split("\r\n\r\n").next().unwrap().lines();
    let differs = |line: &&str| {
        !["date:", "content-length:", "location:"].iter().any(|name| line.starts_with(name))
    };
    lines.filter(differs).collect::<Vec<_>>().join("\n")
}

#[test]
fn answers_may_load_nothing_from_elsewhere() {
    let place = Place::new();
    let (_, page) = place.get("/");
    let (path, opened) = place.report();
    let (_, report) = place.get_outside(&path);
    // A record may come from another person, so its report has a separate origin (`sandbox`).
    let heads = [page, opened, report].map(|answer| head(&answer));
    insta::assert_snapshot!(heads.join("\n\n"), @"
        HTTP/1.1 200 OK
        content-type: text/html; charset=utf-8
        content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        cache-control: no-store
        referrer-policy: no-referrer
        x-content-type-options: nosniff
        x-frame-options: DENY
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        connection: close

        HTTP/1.1 303 See Other
        content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        cache-control: no-store
        referrer-policy: no-referrer
        x-content-type-options: nosniff
        x-frame-options: DENY
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        connection: close

        HTTP/1.1 200 OK
        content-type: text/html; charset=utf-8
        content-security-policy: sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        cache-control: no-store
        referrer-policy: no-referrer
        x-content-type-options: nosniff
        x-frame-options: DENY
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        connection: close
        ");
}

#[test]
fn a_report_is_rendered_and_its_address_opens_nothing_else() {
    let place = Place::new();
    let (path, opened) = place.report();
    assert!(!path.contains(&place.token), "{path}");
    insta::assert_snapshot!(head(&opened), @"
        HTTP/1.1 303 See Other
        content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        cache-control: no-store
        referrer-policy: no-referrer
        x-content-type-options: nosniff
        x-frame-options: DENY
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        connection: close
        ");
    let (status, report) = place.get_outside(&path);
    assert_eq!(status, 200, "{report}");
    // It is not the page that another person left next to the record.
    assert!(report.ends_with("<h1>rendered</h1>"), "{report}");
    insta::assert_snapshot!(head(&report), @"
        HTTP/1.1 200 OK
        content-type: text/html; charset=utf-8
        content-security-policy: sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        cache-control: no-store
        referrer-policy: no-referrer
        x-content-type-options: nosniff
        x-frame-options: DENY
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        connection: close
        ");
    for other in [format!("{path}runs"), format!("{path}api/runs"), format!("{path}../api/runs")] {
        assert_eq!(place.get_outside(&other).0, 404, "{other}");
    }
    let key = path.trim_matches('/').rsplit('/').next().unwrap();
    assert_eq!(key.len(), 32, "{path}");
    for unknown in ["0".repeat(32), key[1..].to_owned(), format!("{key}0")] {
        let (status, answer) = place.get_outside(&format!("/report/{unknown}/"));
        assert_eq!(status, 404, "{unknown}");
        assert!(!answer.contains(&place.token) && !answer.contains(key), "{answer}");
    }
    for nothing in ["/report", "/report/", "/report//", &format!("/{key}/api/runs")] {
        assert!(matches!(place.get_outside(nothing).0, 403 | 404), "{nothing}");
    }
    // The key is not a token, and the host is checked here as well.
    let foreign = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(crate::site::status(&place.raw(foreign.as_bytes())), 403);
}

#[test]
fn who_opens_an_old_address_reads_what_to_do() {
    let place = Place::new();
    let refused = |accept: &str| {
        let old = "0".repeat(place.token.len());
        let head = format!(
            "GET /{old}/ HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n",
            place.host()
        );
        place.raw(head.as_bytes())
    };
    let page = refused("text/html,application/xhtml+xml,*/*;q=0.8");
    assert_eq!(crate::site::status(&page), 403, "{page}");
    assert!(page.contains("Open the whole address") && !page.contains(&place.token), "{page}");
    insta::assert_snapshot!(head(&page), @"
        HTTP/1.1 403 Forbidden
        content-type: text/html; charset=utf-8
        content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        cache-control: no-store
        referrer-policy: no-referrer
        x-content-type-options: nosniff
        x-frame-options: DENY
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        connection: close
        ");
    assert!(refused("*/*").contains("application/json"));
    // A missing page is reported in the same way.
    let (status, page) = place.ask("GET", "/runs/gone/report.html", &["Accept: text/html"], "");
    assert_eq!(status, 404);
    assert!(page.contains("<h1>"), "{page}");
}

#[test]
fn the_fleets_report_is_rendered_anew_at_an_address_that_opens_nothing_else() {
    let place = Place::new();
    assert!(place.get("/api/fleet").1.ends_with("/fleet\""), "{:?}", place.get("/api/fleet"));
    let opened = || {
        let (status, answer) = place.get("/fleet/report.html");
        assert_eq!(status, 303, "{answer}");
        answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap().to_owned()
    };
    let first = opened();
    assert!(!first.contains(&place.token), "{first}");
    assert!(place.get_outside(&first).1.ends_with("<h1>fleet 1</h1>"));
    let second = opened();
    assert!(place.get_outside(&second).1.ends_with("<h1>fleet 2</h1>"));
    assert_eq!(place.get_outside(&first).0, 404);
    assert!(matches!(place.get_outside("/fleet/report.html").0, 403 | 404));
}
