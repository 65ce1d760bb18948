//! The local page in a real browser: code that its tests share.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub mod axe;
pub mod devtools;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Sandbox, skipped};
use devtools::{Browser, Tab};

pub const CHROMIUM: &str = "/usr/bin/chromium";

/// `cryptbench serve` in a sandbox; stopped when dropped.
pub struct Serving {
    child: Child,
    pub address: String,
}

impl Serving {
    pub fn new(sandbox: &Sandbox) -> Self {
        // A port that no other test uses. On the default port, the server of another test might start after this
        // one.
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let arguments = ["serve", "--port", &free.to_string()];
        let mut child = sandbox.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("The page is at ").expect(&first).to_owned();
        // Reads the rest of its output, so that the server never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// The server's answer to a POST request.
    pub fn post(&self, path: &str, body: &serde_json::Value) -> String {
        let address = self.address.strip_prefix("http://").unwrap().trim_end_matches('/');
        let (host, token) = address.split_once('/').unwrap();
        let body = body.to_string();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "POST /{token}{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The server's answer to a GET request, as JSON.
    pub fn get(&self, path: &str) -> serde_json::Value {
        let address = self.address.strip_prefix("http://").unwrap().trim_end_matches('/');
        let (host, token) = address.split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(stream, "GET /{token}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).expect(&answer)).expect(&answer)
    }

    /// Kills it as a crash would: immediately and without notifying the run.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Presses Ctrl-C, and returns the exit code.
    pub fn interrupt(&mut self) -> Option<i32> {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.interrupt();
        }
    }
}

/// Why the browser tests cannot run here. The browser is actually started, because some systems have a script with
/// this name that only asks to install a package.
pub fn missing() -> Option<&'static str> {
    let started = Command::new(CHROMIUM).arg("--version").stderr(Stdio::null()).output();
    let is_there = started.is_ok_and(|done| done.status.success() && !done.stdout.is_empty());
    (!is_there).then_some("no /usr/bin/chromium that starts (apt install chromium)")
}

/// Everything that a test of the page needs.
pub struct Stage {
    // Dropped in this order.
    pub browser: Browser,
    pub serving: Serving,
    pub s: Sandbox,
}

impl Stage {
    /// If there is no browser, prints the reason and returns `None`.
    pub fn new() -> Option<Self> {
        if let Some(why) = missing() {
            skipped(why);
            return None;
        }
        let s = Sandbox::new();
        let serving = Serving::new(&s);
        Some(Self { browser: Browser::new(), serving, s })
    }

    /// A tab with the page.
    pub fn open(&self) -> Tab {
        open(&self.browser, &self.serving)
    }
}

/// A tab with the page.
pub fn open(browser: &Browser, serving: &Serving) -> Tab {
    let mut tab = browser.tab();
    tab.goto(&serving.address);
    tab.wait("document.querySelectorAll('#system input').length > 0");
    tab
}

/// Fills in the form for the smallest possible run of `seconds`.
pub fn small(tab: &mut Tab, target: &Path, seconds: u32) {
    tab.eval(&format!(
        "document.getElementById('directory').value = {};
         document.getElementById('budget').value = '{seconds}s';
         document.getElementById('size').value = '16MiB';",
        serde_json::json!(target)
    ));
}

/// Starts such a run with the button.
pub fn start(tab: &mut Tab, target: &Path, seconds: u32) {
    small(tab, target, seconds);
    tab.eval("document.getElementById('start').click()");
    tab.wait("location.hash === '#live'");
}

/// The phase of the run that the page shows.
pub const PHASE: &str = "document.getElementById('phase').textContent";
/// Whether the run has ended and its answer is shown.
pub const ANSWER: &str = "document.querySelector('#result .answer') !== null";
/// Whether estimates are shown.
pub const ESTIMATES: &str = "document.querySelectorAll('#table .strip').length > 0";
