//! The report in a real browser: it is rendered, loads nothing and logs no errors.

use std::path::Path;
use std::process::Command;

use crate::page::devtools::{Browser, Tab};
use crate::page::{self, axe};
use crate::sandbox::{Sandbox, skipped, text};

#[test]
fn the_page_opens_without_a_console_message() {
    if let Some(why) = page::missing() {
        return skipped(why);
    }
    let s = Sandbox::new();
    let out = s.out().display().to_string();
    let done = s.run(&s.tiny(&["--quiet", "--profile", "quick", "--output", &out]));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let page = s.out().join("report.html");
    let (dom, log) = open(&s, &page);
    assert!(dom.contains("<h1 id=\"answer\">"), "{dom:.500}");
    assert!(dom.matches("<svg").count() >= 8, "{} charts", dom.matches("<svg").count());
    assert!(!log.contains("CONSOLE"), "{log}");

    // The check must be able to fail: it detects a page that logs an error.
    let broken = s.out().join("broken.html");
    std::fs::write(&broken, "<script>undefinedName()</script>").unwrap();
    let (_, log) = open(&s, &broken);
    assert!(log.contains("CONSOLE"), "this browser does not show its console: {log}");
}

/// Requirements for a page on every screen: nothing is wider than the screen, and the answer is visible without
/// scrolling.
#[test]
fn the_first_screen_is_the_answer_and_axe_finds_nothing() {
    if let Some(why) = page::missing() {
        return skipped(why);
    }
    let s = Sandbox::new();
    let script = axe::script();
    let browser = Browser::new();
    let mut tab = browser.tab();
    // First with two columns, then with three.
    for fixture in ["builtin-only", "readme"] {
        let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        let record = record.with_extension("json");
        let file = s.out().join(format!("{fixture}.html"));
        let args = ["report", record.to_str().unwrap(), "--output", file.to_str().unwrap()];
        assert!(s.run(&args).status.success());
        tab.goto(&format!("file://{}", file.display()));
        tab.wait("document.querySelector('figure.answer') !== null");
        first_screens(&mut tab, fixture, script.as_ref());
    }
    // All folded parts can be opened, and meet the same requirements.
    tab.size(1280, 800);
    tab.eval("document.querySelectorAll('details.fold').forEach((fold) => { fold.open = true })");
    if let Ok(script) = &script {
        let faults = axe::faults(&mut tab, script);
        assert!(faults.is_empty(), "unfolded: {faults:#?}");
    }
    // Each chart can be saved as a document with its caption, its legend and its colours.
    let saved = tab.eval(
        "(async () => {
            const blobs = [];
            URL.createObjectURL = (blob) => { blobs.push(blob); return 'blob:none'; };
            addEventListener('click', (event) => event.target.download && event.preventDefault(), true);
            const figures = [...document.querySelectorAll('figure:has(.chart)')];
            for (const figure of figures) figure.querySelector('button.save').click();
            const texts = await Promise.all(blobs.map((blob) => blob.text()));
            return texts.map((text, i) => {
                const file = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
                const caption = figures[i].querySelector('figcaption').textContent;
                return file.nodeName === 'svg' && file.textContent.includes(caption) && !text.includes('var(');
            });
        })()",
    );
    let saved = saved.as_array().unwrap();
    assert!(saved.len() >= 4 && saved.iter().all(|one| *one == true), "{saved:?}");
    // A link in the table of contents opens its target.
    tab.eval("document.querySelectorAll('details.fold').forEach((fold) => { fold.open = false })");
    tab.eval("document.querySelector('nav.contents a[href=\"#method\"]').click()");
    tab.wait("document.getElementById('method').closest('details').open");
    let complaints = tab.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// The printed page has ten sheets at most, and is not shrunk. A browser shrinks it if something is wider than the
/// paper.
#[test]
fn the_page_is_printed_on_ten_sheets_at_most() {
    if let Some(why) = page::missing() {
        return skipped(why);
    }
    let s = Sandbox::new();
    for fixture in ["readme", "ranked", "builtin-only"] {
        let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        let record = record.with_extension("json");
        let file = s.out().join(format!("{fixture}.html"));
        let args = ["report", record.to_str().unwrap(), "--output", file.to_str().unwrap()];
        assert!(s.run(&args).status.success());
        let pdf = s.out().join(format!("{fixture}.pdf"));
        let done = Command::new(page::CHROMIUM)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"])
            .arg(format!("--user-data-dir={}", s.out().join("browser").display()))
            .arg(format!("--print-to-pdf={}", pdf.display()))
            .arg(format!("file://{}", file.display()))
            .output()
            .unwrap();
        assert!(pdf.is_file(), "{}", text(&done.stderr));
        let written = std::fs::read(&pdf).unwrap();
        let sheet = b"/Type /Page\n";
        let sheets = written.windows(sheet.len()).filter(|found| found == sheet).count();
        assert!((1..=10).contains(&sheets), "{fixture}: {sheets} sheets");
    }
    // At the width of A4 without its margins, nothing is wider than the page.
    let browser = Browser::new();
    let mut tab = browser.tab();
    for fixture in ["readme", "ranked", "builtin-only"] {
        tab.goto(&format!("file://{}", s.out().join(format!("{fixture}.html")).display()));
        tab.wait("document.querySelector('figure.answer') !== null");
        tab.media("print");
        tab.size(695, 1000);
        tab.eval("dispatchEvent(new Event('beforeprint'))");
        let wide = tab.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(695), "{fixture}: {wide} wide");
        // 8 pt are 10.67 CSS pixels.
        let small = tab.eval(
            "[...document.querySelectorAll('td, th')].filter((e) => e.getClientRects().length > 0
                && parseFloat(getComputedStyle(e).fontSize) < 10.66).length",
        );
        assert_eq!(small, 0, "{fixture}: smaller than 8 pt");
        tab.media("");
    }
}

/// The values of a chart can be read with the keyboard and with the pointer.
#[test]
fn charts_are_read_by_key_and_by_pointing() {
    if let Some(why) = page::missing() {
        return skipped(why);
    }
    let s = Sandbox::new();
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/readme.json");
    let file = s.out().join("report.html");
    let args = ["report", record.to_str().unwrap(), "--output", file.to_str().unwrap()];
    assert!(s.run(&args).status.success());
    let browser = Browser::new();
    let mut tab = browser.tab();
    tab.goto(&format!("file://{}", file.display()));
    tab.wait("document.querySelector('.reader') !== null");
    let of_all = |tab: &mut Tab, what: &str| {
        let all = format!("[...document.querySelectorAll('.reader')].every((r) => {what})");
        assert_eq!(tab.eval(&all), true, "{what}");
    };
    // There are as many values as parts of the chart, and each is announced once.
    of_all(&mut tab, "r.getAttribute('aria-valuemax') == r.querySelectorAll('.told rect').length");
    of_all(&mut tab, "r.querySelector('.told title') === null");
    let pressed = |tab: &mut Tab, key: &str| {
        tab.eval(&format!(
            "(() => {{ const r = document.querySelector('.reader'); r.closest('details').open = true;
            r.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', cancelable: true }}));
            return r.querySelector('.reading').textContent; }})()"
        ))
    };
    let [first, next, last, before] =
        ["Home", "ArrowDown", "End", "ArrowLeft"].map(|key| pressed(&mut tab, key));
    assert!(first != next && next != last && last != before, "{first} {next} {last} {before}");
    assert!(first.as_str().unwrap().contains(": "), "{first}");
    assert_eq!(
        tab.eval("document.querySelector('.reader').getAttribute('aria-valuetext')"),
        before
    );
    let pointed = tab.eval(
        "(() => { const r = document.querySelector('.reader');
        const part = r.querySelector('.told rect');
        part.scrollIntoView({ block: 'center' });
        const { x, y } = part.getBoundingClientRect();
        const at = { bubbles: true, clientX: x + 2, clientY: y + 2 };
        part.dispatchEvent(new PointerEvent('pointermove', at));
        return r.querySelector('.reading').textContent; })()",
    );
    assert_eq!(pointed, first);
    let complaints = tab.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
}

/// Checks the open page in both widths and both colour schemes.
fn first_screens(tab: &mut Tab, of: &str, script: Result<&String, &String>) {
    for (width, height) in [(1280, 800), (390, 800)] {
        tab.size(width, height);
        for scheme in ["light", "dark"] {
            tab.scheme(scheme);
            let wide = tab.eval("document.documentElement.scrollWidth - innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{of}: {wide} wider than {width}");
            for part in ["h1", "figure.answer .row:nth-of-type(9)"] {
                let bottom = tab.eval(&format!(
                    "document.querySelector('{part}').getBoundingClientRect().bottom"
                ));
                assert!(
                    bottom.as_f64().unwrap() <= f64::from(height),
                    "{of}: {part} ends at {bottom} of {width}x{height}"
                );
            }
            match script {
                Ok(script) => {
                    let faults = axe::faults(tab, script);
                    assert!(faults.is_empty(), "{of} {width} {scheme}: {faults:#?}");
                }
                Err(why) => skipped(&format!("axe-core: {why}")),
            }
        }
    }
}

/// The document after rendering, and the messages that the browser logged.
fn open(s: &Sandbox, page: &Path) -> (String, String) {
    let profile = s.out().join("browser");
    let shot = Command::new(page::CHROMIUM)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-quic"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    (text(&shot.stdout), text(&shot.stderr))
}
