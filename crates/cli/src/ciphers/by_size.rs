//! One cipher by request size: from single sectors, as in databases, to sizes that exceed the CPU caches.

use anyhow::bail;
use cryptbench_microbench::cipher::{SIZES, SpeedRequest, Speeds};
use cryptbench_view::columns::bare;
use cryptbench_view::wrap;

use super::{rate, size, threads};

/// The default cipher.
const USUAL: &str = "aes-256-xts";

/// Completes a request for one cipher with all sizes.
pub fn complete(request: &mut SpeedRequest) -> anyhow::Result<()> {
    match request.ciphers.len() {
        0 => request.ciphers.push(USUAL.to_owned()),
        1 => {}
        n => bail!(cryptbench_microbench::MicrobenchError::Usage(format!(
            "--by-size measures one cipher, but {n} were given: use --cipher once"
        ))),
    }
    if request.threads.is_empty() {
        request.threads.push(1);
    }
    request.buffers = SIZES.to_vec();
    Ok(())
}

/// One row per size, with the rates of encryption and decryption for each sector size and number of threads.
pub fn render(speeds: &Speeds, width: usize) -> String {
    let mut columns: Vec<(usize, u32)> = Vec::new();
    let mut sizes: Vec<usize> = Vec::new();
    for row in &speeds.rows {
        let column = (row.threads, row.data_unit);
        if !columns.contains(&column) {
            columns.push(column);
        }
        if !sizes.contains(&row.buffer) {
            sizes.push(row.buffer);
        }
    }
    columns.sort_unstable();
    sizes.sort_unstable();
    let several = columns.iter().any(|(threads, _)| *threads != columns[0].0);
    let mut headings = vec!["MB/s, RAM".to_owned()];
    for (count, unit) in &columns {
        let on = if several { format!(", {}", threads(*count)) } else { String::new() };
        headings.push(format!("{unit} B*{on}"));
    }
    let mut rows = Vec::new();
    for bytes in sizes {
        let mut fields = vec![size(bytes)];
        for (threads, unit) in &columns {
            let of = |r: &&_| is(r, *threads, *unit, bytes);
            fields.push(speeds.rows.iter().find(of).map_or_else(String::new, |row| {
                format!("{} / {}", rate(row.encrypt.mb_s), rate(row.decrypt.mb_s))
            }));
        }
        rows.push(fields);
    }
    let words = headings.len();
    let head = match speeds.rows.first() {
        Some(row) if !several => {
            format!("{} ({}) by request size, {}", row.label, row.kernel, threads(row.threads))
        }
        Some(row) => format!("{} ({}) by request size", row.label, row.kernel),
        None => "No request size is a multiple of this sector size.".to_owned(),
    };
    let notes = "Encryption / decryption. * sector size";
    [
        wrap(&head, "", "", width),
        String::new(),
        bare(headings, rows, words, width),
        notes.to_owned(),
    ]
    .join("\n")
}

fn is(row: &cryptbench_microbench::cipher::Speed, threads: usize, unit: u32, bytes: usize) -> bool {
    row.threads == threads && row.data_unit == unit && row.buffer == bytes
}
