//! Short queries to the program: the answer of a run, a comparison, or another format of a record.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cryptbench_text::SPEAKER;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::{Mutex, MutexGuard};

/// Maximum length of an answer.
const LONGEST: u64 = 256 << 20;
/// Maximum length of an error message.
const LONGEST_COMPLAINT: u64 = 64 << 10;
/// Maximum time until an answer is complete.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs one query at a time, so that the rest of the machine is available to measurements.
pub(crate) struct Asked {
    program: PathBuf,
    turn: Mutex<()>,
}

/// Held during a query and while a run starts, so that neither starts while the other is in progress.
pub(crate) struct Turn<'a> {
    program: &'a Path,
    _held: MutexGuard<'a, ()>,
}

/// Why a query has no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The program refused; the text is its message.
    Refused(String),
    /// The program did not start, took too long, or wrote too much.
    Failed(String),
}

impl Asked {
    pub(crate) fn new(program: PathBuf) -> Self {
        Self { program, turn: Mutex::const_new(()) }
    }

    /// Waits until no query is running.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        Turn { program: &self.program, _held: self.turn.lock().await }
    }
}

impl Turn<'_> {
    /// Runs the program and returns its standard output.
    pub(crate) async fn ask(&self, arguments: &[OsString]) -> Result<Vec<u8>, NoAnswer> {
        let failed = |e: std::io::Error| NoAnswer::Failed(format!("The program failed: {e}."));
        let mut child = Command::new(self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let all = async {
            let (out, err) = tokio::join!(read(out, LONGEST), read(err, LONGEST_COMPLAINT));
            Ok::<_, std::io::Error>((out?, err?, child.wait().await?))
        };
        let (out, err, status) = match tokio::time::timeout(PATIENCE, all).await {
            Ok(all) => all.map_err(failed)?,
            Err(_) => return Err(NoAnswer::Failed("The program took too long.".to_owned())),
        };
        if out.len() as u64 >= LONGEST {
            return Err(NoAnswer::Failed("The output is too long for a page.".to_owned()));
        }
        if status.success() {
            return Ok(out);
        }
        let complaint = String::from_utf8_lossy(&err).trim().to_owned();
        let complaint = complaint.strip_prefix(SPEAKER).unwrap_or(&complaint);
        Err(match complaint {
            "" => NoAnswer::Failed(format!("The program exited with {status}.")),
            words => NoAnswer::Refused(words.to_owned()),
        })
    }
}

async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        (&mut from).take(most).read_to_end(&mut bytes).await?;
        // Reads and discards the rest, so that the program can exit.
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}
