//! Parts of pages that commands of this repository write.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

/// The start of the line before such a part; the command follows.
pub const BEGIN: &str = "<!-- generated: ";
/// The line behind it.
pub const END: &str = "<!-- end of generated -->";

/// Replaces the part of `page` that `command` wrote.
///
/// # Errors
/// It does not exist; the operating system's error.
pub fn replace(page: &Path, command: &str, text: &str) -> anyhow::Result<()> {
    let name = page.display().to_string();
    let begin = format!("{BEGIN}{command} -->");
    let old = fs::read_to_string(page).with_context(|| name.clone())?;
    let Some((before, rest)) = old.split_once(&begin) else { bail!("{name} lacks {begin}") };
    let Some((_, after)) = rest.split_once(END) else { bail!("{name} lacks {END}") };
    fs::write(page, format!("{before}{begin}\n\n{text}\n{END}{after}")).context(name)
}
