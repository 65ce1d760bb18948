//! Every chart of the page as files: SVG, and PNG for programs that take no SVG where this was asked for when the
//! program was built.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use cryptbench_record::Record;
use cryptbench_report::charts::{Chart, MARK, charts};

use crate::exit::Refusal;

/// What the charts are written as, for the user.
pub const FORMATS: &str = match cfg!(feature = "png") {
    true => "each as SVG and PNG",
    false => "each as SVG (this cryptbench was built without PNG: `--features png`)",
};

/// Writes all charts into `directory`, made where it is missing, and returns their number. A file that is there and
/// is no chart of this program is refused before anything is written.
pub fn write(record: &Record, directory: &Path) -> anyhow::Result<usize> {
    let results = record.results.as_ref().expect("derived by the caller");
    let charts = charts(record, results);
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let path = |name: &str, ending: &str| directory.join(format!("{name}.{ending}"));
    for chart in &charts {
        refuse_others(&path(&chart.name, "svg"))?;
        if cfg!(feature = "png") {
            refuse_others(&path(&chart.name, "png"))?;
        }
    }
    for chart in &charts {
        put(&path(&chart.name, "svg"), chart.svg.as_bytes())?;
        if let Some(picture) = png(chart)? {
            put(&path(&chart.name, "png"), &picture)?;
        }
    }
    Ok(charts.len())
}

#[cfg(feature = "png")]
fn png(chart: &Chart) -> anyhow::Result<Option<Vec<u8>>> {
    Ok(Some(cryptbench_report::charts::png(chart)?))
}

#[cfg(not(feature = "png"))]
fn png(_chart: &Chart) -> anyhow::Result<Option<Vec<u8>>> {
    Ok(None)
}

fn put(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Both formats carry the mark near their beginning.
fn refuse_others(file: &Path) -> anyhow::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(file) else { return Ok(()) };
    let mut head = Vec::new();
    let ours = metadata.is_file()
        && fs::File::open(file).and_then(|f| f.take(2_048).read_to_end(&mut head)).is_ok()
        && head.windows(MARK.len()).any(|part| part == MARK.as_bytes());
    match ours {
        true => Ok(()),
        false => {
            let reason = "it is there already and is no chart of cryptbench; name another directory with --charts";
            Err(Refusal::target(file, reason).into())
        }
    }
}
