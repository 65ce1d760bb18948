//! Every chart of the page as a file: as SVG, as PDF for papers and, if the program was built with the feature `png`,
//! as PNG for programs that cannot read SVG or PDF.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use cryptbench_answer::Report;
use cryptbench_os::{Directory, NewFile};
use cryptbench_text::shown;
use cryptbench_view::charts::{Chart, charts, overview};
use cryptbench_view::drawing::MARK;

use super::written;
use crate::exit::Refusal;

/// The formats of the charts, as listed in messages.
pub const FORMATS: &str = match cfg!(feature = "png") {
    true => "each as SVG, PDF and PNG",
    false => "each as SVG and PDF (PNG requires a build with `--features png`)",
};

/// Writes all charts into `directory`, which is created if it is missing, and returns their number. Refuses before
/// writing if an existing file has the name of a chart but was not written by this program.
pub fn write(report: &Report<'_>, directory: &Path) -> anyhow::Result<usize> {
    put_all(&charts(report), directory)
}

/// Writes the overview of several runs in the same way. Writes nothing if no system is ranked.
pub fn write_overview(reports: &[Report<'_>], directory: &Path) -> anyhow::Result<usize> {
    put_all(overview(reports).as_slice(), directory)
}

fn put_all(charts: &[Chart], directory: &Path) -> anyhow::Result<usize> {
    if charts.is_empty() {
        return Ok(0);
    }
    let place = Place::open(directory)?;
    let name = |chart: &Chart, ending: &str| OsString::from(format!("{}.{ending}", chart.name));
    for chart in charts {
        place.refuse_others(&name(chart, "svg"))?;
        place.refuse_others(&name(chart, "pdf"))?;
        if cfg!(feature = "png") {
            place.refuse_others(&name(chart, "png"))?;
        }
    }
    for chart in charts {
        place.put(name(chart, "svg"), chart.svg().as_bytes())?;
        place.put(name(chart, "pdf"), &chart.pdf())?;
        if let Some(picture) = png(chart)? {
            place.put(name(chart, "png"), &picture)?;
        }
    }
    Ok(charts.len())
}

#[cfg(feature = "png")]
pub fn png(chart: &Chart) -> anyhow::Result<Option<Vec<u8>>> {
    Ok(Some(chart.png()?))
}

#[cfg(not(feature = "png"))]
pub fn png(_chart: &Chart) -> anyhow::Result<Option<Vec<u8>>> {
    Ok(None)
}

/// The destination of the charts.
struct Place<'a> {
    path: &'a Path,
    directory: Directory,
}

impl<'a> Place<'a> {
    fn open(path: &'a Path) -> anyhow::Result<Self> {
        let directory = fs::create_dir_all(path)
            .and_then(|()| Directory::open(path))
            .with_context(|| format!("cannot create {}", shown(path)))?;
        Ok(Self { path, directory })
    }

    fn put(&self, name: OsString, bytes: &[u8]) -> anyhow::Result<()> {
        let file = self.path.join(&name);
        let done = self.directory.try_clone().and_then(|directory| {
            let mut new = NewFile::begin_in(directory, name, 0o666)?;
            new.file().write_all(bytes)?;
            new.replace()
        });
        written(&file, done)
    }

    /// In all formats, the string that identifies this program is near the start of the file.
    fn refuse_others(&self, name: &OsStr) -> anyhow::Result<()> {
        let mut head = Vec::new();
        let ours = match self.directory.open_file(name) {
            Ok(file) => {
                file.take(2_048).read_to_end(&mut head).is_ok()
                    && head.windows(MARK.len()).any(|part| part == MARK.as_bytes())
            }
            Err(e) => e.kind() == ErrorKind::NotFound,
        };
        match ours {
            true => Ok(()),
            false => {
                let reason = "exists and is not a chart made by cryptbench; specify another directory with --charts";
                Err(Refusal::target(&self.path.join(name), reason).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_charts_no_directory_is_created() {
        let dir = tempfile::tempdir().unwrap();
        let charts = dir.path().join("charts");
        assert_eq!(put_all(&[], &charts).unwrap(), 0);
        assert!(!charts.exists());
    }
}
