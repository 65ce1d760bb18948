//! The place of this crate that spawns processes: programs of the system, their output captured, no shell.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

use crate::SystemError;

/// Runs `program` with `arguments` and gives what it printed on standard output, trimmed.
///
/// Root programs live in `/sbin`, which ordinary users often lack in their path: it is searched too.
///
/// # Errors
/// [`SystemError::Program`] if it is missing or fails, with the last line that it printed.
pub(crate) fn run<I, S>(program: &'static str, arguments: I) -> Result<String, SystemError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let failed = |reason: String| SystemError::Program { program, reason };
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", format!("{path}:/usr/sbin:/sbin:/usr/bin:/bin"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => failed(format!("it is not installed; {}", remedy(program))),
            _ => failed(e.to_string()),
        })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).map(str::trim);
    Err(failed(last.map_or_else(|| output.status.to_string(), ToOwned::to_owned)))
}

/// How to get a program on Debian and its descendants.
fn remedy(program: &str) -> String {
    let package = match program {
        "losetup" | "mount" | "umount" => "mount",
        "mkfs.ext4" => "e2fsprogs",
        "mkfs.xfs" => "xfsprogs",
        "mkfs.btrfs" => "btrfs-progs",
        "mkfs.vfat" => "dosfstools",
        "mkfs.exfat" => "exfatprogs",
        other => other,
    };
    format!("apt install {package}")
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn output_failure_and_absence_are_told_apart() {
        assert_eq!(run("echo", ["two", "words"]).unwrap(), "two words");
        let failed = run("ls", ["/no/such/file"]).unwrap_err().to_string();
        assert!(failed.starts_with("ls: ") && failed.contains("/no/such/file"), "{failed}");
        let absent = run("no-such-program", [""; 0]).unwrap_err().to_string();
        assert!(absent.contains("apt install no-such-program"), "{absent}");
    }
}
