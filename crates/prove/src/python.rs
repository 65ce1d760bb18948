//! A Python interpreter with a given package, used as an independent test oracle.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An interpreter that can import `module`: the system's, or one in a virtual environment below `place` into which pip
/// installs `package`. `None` if neither works, for example without a network.
pub fn python(package: &str, module: &str, place: &Path) -> Option<PathBuf> {
    // Tests that need the same module share one environment, and only one of them fills it at a time; each test may
    // be a separate process.
    let filling = File::create(place.join(format!("python-{module}.lock"))).ok()?;
    filling.lock().ok()?;
    let has = |python: &Path| {
        let found = Command::new(python).args(["-c", &format!("import {module}")]).output();
        found.is_ok_and(|o| o.status.success())
    };
    let system = PathBuf::from("/usr/bin/python3");
    if has(&system) {
        return Some(system);
    }
    let venv = place.join(format!("python-{module}"));
    let inside = venv.join("bin/python");
    if has(&inside) {
        return Some(inside);
    }
    let run = |program: &str, args: &[&str]| {
        Command::new(program).args(args).output().is_ok_and(|o| o.status.success())
    };
    let place = venv.display().to_string();
    // Debian has venv in a separate package, named after the version of Python.
    let made = run("python3", &["-m", "venv", &place])
        || run("/usr/bin/python3", &["-m", "virtualenv", "--clear", &place]);
    let interpreter = inside.display().to_string();
    let pip = ["-m", "pip", "-q", "install", "--timeout", "20", "--retries", "1", package];
    (made && run(&interpreter, &pip) && has(&inside)).then_some(inside)
}
