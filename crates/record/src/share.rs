//! A record to send to others: without the names of people, machines, files and devices, and without serial numbers.

use serde_json::Value;

use crate::Record;

/// Placeholders for a path, and for a number that identifies something outside the record.
const PATH: &str = "PATH";
const NUMBER: &str = "ID";

/// The identifier of every shared record.
pub const SHARED: &str = "shared";

/// The record with its figures, models and versions, without anything that identifies its owner: the node and
/// the title are removed, and in every text absolute paths, network shares, UUIDs and the node's name are
/// replaced. The seconds of its start and its identifier, which is derived from them, are also removed.
///
/// # Panics
/// Never: a record is plain data.
pub fn to_share(record: &Record) -> Record {
    let names: Vec<String> = record.node.iter().map(|node| node.name.clone()).collect();
    let mut record = record.clone();
    record.node = None;
    record.title = None;
    record.run_id = SHARED.to_owned();
    // Its day is enough.
    record.started = record.day().unwrap_or_default().to_owned();
    let places = std::iter::once(&mut record.target.directory)
        .chain(record.target.paired.iter_mut().map(|paired| &mut paired.directory))
        .chain(record.target.also_paired.iter_mut().map(|paired| &mut paired.directory));
    places.for_each(|directory| PATH.clone_into(directory));
    record.target.backing_file = record.target.backing_file.take().map(|_| PATH.to_owned());
    // Works on the JSON text, because records are read and written as text anyway; otherwise each type would need
    // separate code.
    let text = serde_json::to_string(&record).expect("plain data");
    let mut value = serde_json::from_str(&text).expect("JSON");
    scrub(&mut value, &names);
    serde_json::from_str(&value.to_string()).expect("only texts have changed")
}

impl Record {
    /// The day on which the run began, such as `2026-11-27`; `None` if the record, which may come from another person,
    /// has no date.
    pub fn day(&self) -> Option<&str> {
        let day = self.started.get(..10)?;
        let is_there = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        day.bytes().enumerate().all(is_there).then_some(day)
    }
}

fn scrub(value: &mut Value, names: &[String]) {
    match value {
        Value::String(text) => *text = scrubbed(text, names),
        Value::Array(all) => all.iter_mut().for_each(|one| scrub(one, names)),
        Value::Object(all) => all.values_mut().for_each(|one| scrub(one, names)),
        _ => {}
    }
}

/// A text with its paths, shares, UUIDs and names replaced.
fn scrubbed(text: &str, names: &[String]) -> String {
    let mut out = String::new();
    for word in text.split_inclusive([' ', ',', '"', '\'', '(', ')', '=', '“', '”']) {
        let end =
            word.char_indices().next_back().filter(|(_, c)| !c.is_alphanumeric() && *c != '/');
        let (body, after) = word.split_at(end.map_or(word.len(), |(at, _)| at));
        // A slash by itself is a separator between two words.
        let is_path = (body.starts_with('/') && body.len() > 1)
            || body.starts_with("~/")
            || body.contains(":/")
            || body.contains("//");
        out.push_str(match body {
            _ if is_path => PATH,
            _ if names.iter().any(|name| name == body) => NUMBER,
            _ if body.split(['-', '_', '/']).count() >= 5 && has_uuid(body) => NUMBER,
            _ => body,
        });
        out.push_str(after);
    }
    out
}

/// Whether `word` contains a UUID: 8, 4, 4, 4 and 12 hexadecimal digits.
fn has_uuid(word: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_hexdigit();
    let lengths: Vec<usize> = word
        .split('-')
        .map(|part| part.chars().rev().take_while(|c| is_digit(*c)).count().min(part.len()))
        .collect();
    lengths.windows(5).any(|w| w[0] >= 8 && w[1..4] == [4, 4, 4] && w[4] >= 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_stranger_has_a_day_or_none() {
        let mut record: Record =
            serde_json::from_str(include_str!("../../cli/tests/fixtures/builtin-only.json"))
                .unwrap();
        for (started, day) in [
            ("2026-11-27T02:21:00Z", Some("2026-11-27")),
            ("", None),
            ("27 November", None),
            ("2026-11-2é7", None),
            ("2026/11/27", None),
        ] {
            started.clone_into(&mut record.started);
            assert_eq!(record.day(), day, "{started}");
            assert_eq!(to_share(&record).started, day.unwrap_or_default());
        }
    }

    #[test]
    fn paths_shares_and_numbers_go_and_the_rest_stays() {
        let names = ["node-7".to_owned()];
        for (text, expected) in [
            ("builtin/aes-256-xts/4096", "builtin/aes-256-xts/4096"),
            ("/home/ann/secret plans", "PATH plans"),
            ("cannot open \"/dev/sda1\": busy", "cannot open \"PATH\": busy"),
            ("rw,relatime,upperdir=/home/ann/up", "rw,relatime,upperdir=PATH"),
            ("nas.example:/export/ann", "PATH"),
            ("//server/share", "PATH"),
            ("on node-7, as before", "on ID, as before"),
            ("luks-0a1b2c3d-0000-4000-8000-0123456789ab", "ID"),
            ("12 MB/s / 4 cores", "12 MB/s / 4 cores"),
        ] {
            assert_eq!(scrubbed(text, &names), expected);
        }
    }
}
