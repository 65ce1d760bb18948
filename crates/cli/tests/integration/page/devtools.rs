//! Controls Chromium with the DevTools protocol (chromedevtools.github.io/devtools-protocol) over pipes: JSON
//! messages that end with a zero byte, commands on descriptor 3 and answers on descriptor 4.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Maximum time to wait for anything. The tests do not check how long it takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// A separate browser with a temporary profile.
pub struct Browser {
    wire: Rc<RefCell<Wire>>,
    _profile: tempfile::TempDir,
}

struct Wire {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    last: u64,
    /// Messages on the pages' consoles: session and text.
    complaints: Vec<(String, String)>,
}

/// One page.
pub struct Tab {
    wire: Rc<RefCell<Wire>>,
    session: String,
}

impl Browser {
    pub fn new() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("/bin/sh")
            // Its standard input and output become the two descriptors of the protocol.
            .args(["-c", r#"exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#, "sh", super::CHROMIUM])
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while answers.read_until(0, &mut bytes).is_ok_and(|n| n > 0) {
                bytes.pop();
                if let Ok(value) = serde_json::from_slice(&bytes) {
                    let _ = sender.send(value);
                }
                bytes.clear();
            }
        });
        let wire = Wire { child, commands, messages, last: 0, complaints: Vec::new() };
        Self { wire: Rc::new(RefCell::new(wire)), _profile: profile }
    }

    pub fn tab(&self) -> Tab {
        let mut wire = self.wire.borrow_mut();
        // A separate window: a page behind another one is hidden and stops listening.
        let asked = json!({ "url": "about:blank", "newWindow": true });
        let target = wire.call(None, "Target.createTarget", &asked);
        let about = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = wire.call(None, "Target.attachToTarget", &about);
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            wire.call(Some(&session), domain, &json!({}));
        }
        let always = json!({ "enabled": true });
        wire.call(Some(&session), "Emulation.setFocusEmulationEnabled", &always);
        drop(wire);
        let mut tab = Tab { wire: Rc::clone(&self.wire), session };
        tab.size(1280, 900);
        tab
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let mut wire = self.wire.borrow_mut();
        let close = json!({ "id": 0, "method": "Browser.close" });
        let _ = wire.send(&close);
        let begun = Instant::now();
        while wire.child.try_wait().is_ok_and(|s| s.is_none()) {
            if begun.elapsed() > Duration::from_secs(20) {
                let _ = wire.child.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Wire {
    fn send(&mut self, message: &Value) -> std::io::Result<()> {
        self.commands.write_all(format!("{message}\0").as_bytes())
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.send(&message).unwrap();
        loop {
            let answer = self.messages.recv_timeout(PATIENCE).expect("the browser answers");
            self.note(&answer);
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        let words = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => params["exceptionDetails"].to_string(),
            Some("Runtime.consoleAPICalled") if params["type"] != "log" => {
                params["args"].to_string()
            }
            Some("Log.entryAdded") if params["entry"]["level"] != "info" => {
                params["entry"].to_string()
            }
            _ => return,
        };
        let session = message["sessionId"].as_str().unwrap_or_default().to_owned();
        self.complaints.push((session, words));
    }
}

impl Tab {
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.wire.borrow_mut().call(Some(&self.session), method, params)
    }

    pub fn goto(&mut self, url: &str) {
        let answer = self.call("Page.navigate", &json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{answer}");
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    pub fn reload(&mut self) {
        self.eval("window.before = true");
        self.call("Page.reload", &json!({}));
        self.wait("window.before === undefined && document.readyState === 'complete'");
    }

    /// The value of an expression. If it is a promise, waits for the result.
    pub fn eval(&mut self, script: &str) -> Value {
        let asked = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{script:.200}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    pub fn text(&mut self, script: &str) -> String {
        self.eval(script).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, script: &str) {
        let begun = Instant::now();
        while self.probe(script) != json!(true) {
            if begun.elapsed() > PATIENCE {
                let page = self.text("document.body.innerText");
                panic!("never true: {script}\n{page}\n{:?}", self.complaints());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Like [`eval`](Self::eval), but null while another page is being loaded.
    fn probe(&mut self, script: &str) -> Value {
        let guarded = format!("(() => {{ try {{ return {script} }} catch {{ return null }} }})()");
        let asked = json!({ "expression": guarded, "returnByValue": true });
        self.call("Runtime.evaluate", &asked)["result"]["value"].clone()
    }

    /// Presses a key: `Tab`, `Enter`, `Space`, or an arrow.
    pub fn press(&mut self, key: &str, shift: bool) {
        let (name, code, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            "Space" => (" ", 32, " "),
            "ArrowDown" => ("ArrowDown", 40, ""),
            other => panic!("no such key here: {other}"),
        };
        let code_name = if key == "Space" { "Space" } else { name };
        let modifiers = if shift { 8 } else { 0 };
        for kind in [if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "keyUp"] {
            let mut event = json!({
                "type": kind, "key": name, "code": code_name, "windowsVirtualKeyCode": code, "modifiers": modifiers,
            });
            if kind == "keyDown" {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types text into the focused element.
    pub fn type_in(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500,
        });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
    }

    pub fn scheme(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Shows the page as printed (`print`) or as usual (empty).
    pub fn media(&mut self, media: &str) {
        self.call("Emulation.setEmulatedMedia", &json!({ "media": media }));
    }

    /// Saves the whole page as PNG.
    pub fn screenshot(&mut self, path: &Path) {
        let shot = self.call("Page.captureScreenshot", &json!({ "captureBeyondViewport": true }));
        fs::write(path, base64(shot["data"].as_str().unwrap())).unwrap();
    }

    /// The errors and warnings on the console.
    pub fn complaints(&mut self) -> Vec<String> {
        // The answer to a command arrives after all earlier messages.
        self.call("Runtime.evaluate", &json!({ "expression": "0" }));
        let wire = self.wire.borrow();
        let own = wire.complaints.iter().filter(|(session, _)| *session == self.session);
        own.map(|(_, words)| words.clone()).collect()
    }
}

/// Decodes base64 (RFC 4648, section 4).
fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let bytes = digits.chunks(4).flat_map(|chunk| {
        let number =
            chunk.iter().fold(0u32, |n, d| n << 6 | u32::from(*d)) << (6 * (4 - chunk.len()));
        number.to_be_bytes()[1..chunk.len()].to_vec()
    });
    bytes.collect()
}
