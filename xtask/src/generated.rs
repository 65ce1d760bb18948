//! Parts of pages that are written by commands of this repository.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

/// The start of the line that precedes such a part; the command follows.
pub const BEGIN: &str = "<!-- generated: ";
/// The line that follows it.
pub const END: &str = "<!-- end of generated -->";

/// Replaces the part of `page` that `command` wrote.
///
/// # Errors
/// If the part does not exist, or the page cannot be written.
pub fn replace(page: &Path, command: &str, text: &str) -> anyhow::Result<()> {
    let name = page.display().to_string();
    let begin = format!("{BEGIN}{command} -->");
    let old = fs::read_to_string(page).with_context(|| name.clone())?;
    let Some((before, rest)) = old.split_once(&begin) else { bail!("{name} lacks {begin}") };
    let Some((_, after)) = rest.split_once(END) else { bail!("{name} lacks {END}") };
    fs::write(page, format!("{before}{begin}\n\n{text}\n{END}{after}")).context(name)
}
