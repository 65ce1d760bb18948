//! Opens the page in the user's browser.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cryptbench_os::NewFile;
use cryptbench_os::process::{OPENER, program};

use crate::{Address, ServeError};

/// A file that redirects to the page; dropping it removes the file.
pub struct Opener {
    path: PathBuf,
}

/// Opens the page with the system's program for this purpose ([`OPENER`]). Every user of a machine can read the
/// arguments of a program, so this program receives only the name of a file in `directory` that redirects to the
/// address. Only this user can read the file.
///
/// # Errors
/// If the file cannot be written, or the program does not exist.
pub fn open(address: &Address, directory: &Path) -> Result<Opener, ServeError> {
    let failed = |source| ServeError::Open { program: OPENER, source };
    let path = directory.join(format!("page-{}.html", address.port()));
    let opener = Opener { path };
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>cryptbench</title>\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\
         <p><a href=\"{address}\">Open the page</a></p></html>\n"
    );
    let write = || {
        let mut new = NewFile::begin(&opener.path, 0o600)?;
        new.file().write_all(page.as_bytes())?;
        // Replaces a file of a killed server, whose port this server now uses.
        new.replace()
    };
    write().map_err(failed)?;
    let mut child = program(OPENER)
        .map_err(failed)?
        .arg(&opener.path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    // Nobody waits for the browser, but this thread reaps its process.
    std::thread::spawn(move || child.wait());
    Ok(opener)
}

impl Drop for Opener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
