//! Tables and blocks of text within a width.

use comfy_table::{Table, TableStyle};
pub(super) use cryptbench_text::clean;

use crate::columns::{GAP, RULED, aligned, begun};
pub(super) use crate::columns::{fitted, widest};

/// Width of the gap between two blocks side by side.
pub(super) const BLOCK_GAP: usize = 4;

/// Maximum width of an arm's heading; longer headings are broken into lines.
const ARM_HEADING: usize = 16;

/// A table with these headings and without rows.
pub(super) fn empty(headings: Vec<String>) -> Table {
    begun(named(headings), RULED, GAP)
}

/// Like [`empty`], but without a rule below the headings, and with `gap` columns between two table columns.
pub(super) fn unruled(headings: Vec<String>, gap: u16) -> Table {
    begun(named(headings), TableStyle::new(), gap)
}

/// Adds a row in which names are left-aligned and numbers are right-aligned.
pub(super) fn add(table: &mut Table, row: Vec<String>) {
    table.add_row(named(row));
}

/// Names to the left.
fn named(row: Vec<String>) -> Vec<comfy_table::Cell> {
    aligned(row, |i| i == 0)
}

/// The table at its natural width, without trailing spaces.
pub(super) fn text(table: &Table) -> String {
    table.trim_fmt()
}

/// Breaks a label into as few lines as [`ARM_HEADING`] allows, and then makes these lines as narrow as
/// possible: `AES-256-XTS` and `512 B`, not `AES-256-XTS 512` and `B`.
pub(super) fn heading(label: &str) -> String {
    heading_within(label, ARM_HEADING)
}

/// Like [`heading`], with lines of up to `most` columns unless a word is longer.
pub(super) fn heading_within(label: &str, most: usize) -> String {
    let broken = |width: usize| {
        let options = textwrap::Options::new(width)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(label, options)
    };
    let wide = broken(most);
    let lines = wide.lines().count();
    (1..most)
        .map(broken)
        .find(|narrow| narrow.lines().count() <= lines && widest(narrow) <= widest(&wide))
        .unwrap_or(wide)
}

/// `text` in exactly `columns` columns, padded on the left.
pub(super) fn right(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(textwrap::core::display_width(text));
    format!("{}{text}", " ".repeat(room))
}

/// `text` in exactly `columns` columns, padded on the right.
pub(super) fn left(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(textwrap::core::display_width(text));
    format!("{text}{}", " ".repeat(room))
}

/// The prefix of `text` that fits into `columns`; letters of some scripts are two columns wide.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += textwrap::core::display_width(c.encode_utf8(&mut [0; 4]));
        used <= columns
    };
    text.chars().take_while(fits).collect()
}

/// Blocks of lines, side by side if `width` allows that, otherwise below each other.
pub(super) fn beside(blocks: &[String], width: usize) -> String {
    let mut bands: Vec<Vec<&String>> = Vec::new();
    let mut used = 0;
    for block in blocks {
        let needs = widest(block) + BLOCK_GAP;
        match bands.last_mut() {
            Some(band) if used + needs <= width + BLOCK_GAP => band.push(block),
            _ => {
                bands.push(vec![block]);
                used = 0;
            }
        }
        used += needs;
    }
    let bands: Vec<String> = bands.iter().map(|band| joined(band)).collect();
    bands.join("\n\n")
}

fn joined(band: &[&String]) -> String {
    let height = band.iter().map(|b| b.lines().count()).max().unwrap_or(0);
    let mut lines = vec![String::new(); height];
    let mut column = 0;
    for block in band {
        for (line, part) in lines.iter_mut().zip(block.lines()) {
            *line = left(line, column);
            line.push_str(part);
        }
        column += widest(block) + BLOCK_GAP;
    }
    lines.iter().map(|l| l.trim_end()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_fits() {
        assert_eq!(["abc", "ab", "暗号"].map(|text| cut(text, 2)), ["ab", "ab", "暗"]);
        assert_eq!(cut("暗号", 3), "暗");
        assert_eq!(cut("a", 0), "");
    }

    #[test]
    fn blocks_stand_side_by_side_while_there_is_room() {
        let blocks = ["ab\ncde", "1\n2\n3", "xyz"].map(str::to_owned);
        assert_eq!(beside(&blocks, 15), "ab     1    xyz\ncde    2\n       3");
        assert_eq!(beside(&blocks, 14), "ab     1\ncde    2\n       3\n\nxyz");
        assert_eq!(beside(&blocks, 3), "ab\ncde\n\n1\n2\n3\n\nxyz");
        assert_eq!(beside(&[], 80), "");
    }
}
