//! The report in a real browser: it renders, loads nothing and logs no error.

use std::path::Path;
use std::process::Command;

use crate::sandbox::{Sandbox, skipped, text};

const CHROMIUM: &str = "/usr/bin/chromium";

#[test]
fn the_page_opens_without_a_console_message() {
    if !Path::new(CHROMIUM).exists() {
        return skipped("no /usr/bin/chromium (apt install chromium)");
    }
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let done = s.run(&s.tiny(&["--quiet", "--profile", "quick", "--output", &out]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let page = s.out().join("report.html");
    let (dom, log) = open(&s, &page);
    assert!(dom.contains("<h1>What encryption costs"), "{dom:.500}");
    assert!(dom.matches("<svg").count() >= 8, "{} charts", dom.matches("<svg").count());
    assert!(!log.contains("CONSOLE"), "{log}");

    // The check must be able to fail: a page that logs an error is told apart.
    let broken = s.out().join("broken.html");
    std::fs::write(&broken, "<script>undefinedName()</script>").unwrap();
    let (_, log) = open(&s, &broken);
    assert!(log.contains("CONSOLE"), "this browser does not show its console: {log}");
}

/// The document after rendering, and what the browser logged.
fn open(s: &Sandbox, page: &Path) -> (String, String) {
    let profile = s.out().join("browser");
    let shot = Command::new(CHROMIUM)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-quic"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    (text(&shot.stdout), text(&shot.stderr))
}
