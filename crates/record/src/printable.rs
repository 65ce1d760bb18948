//! Makes the strings of a record safe to print on a terminal and a page, because whoever created the record
//! controls them.

use std::borrow::Cow;

use cryptbench_text::printable;

use crate::Record;

/// Makes every string and key in a JSON text printable, and keeps everything else unchanged,
/// including errors.
pub fn printable_document(json: &str) -> Cow<'_, str> {
    let mut changed: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    while let Some(open) = json[at..].find('"').map(|found| at + found) {
        let Some(end) = end_of_string(json.as_bytes(), open + 1) else { break };
        if let Some(shown) = printable_string(&json[open..end]) {
            let out = changed.get_or_insert_default();
            out.push_str(&json[copied..open]);
            out.push_str(&shown);
            copied = end;
        }
        at = end;
    }
    match changed {
        Some(out) => Cow::Owned(out + &json[copied..]),
        None => Cow::Borrowed(json),
    }
}

/// Makes a new record's strings printable, as readers will see them; names of directories and
/// workloads may come from others.
pub fn printable_record(record: Record) -> Record {
    let text = serde_json::to_string(&record).expect("a record is plain data");
    match printable_document(&text) {
        Cow::Owned(text) => serde_json::from_str(&text).unwrap_or(record),
        Cow::Borrowed(_) => record,
    }
}

/// The index after the quote that ends the string whose content begins at `at`.
fn end_of_string(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The printable form of a quoted string; `None` if it is already printable.
fn printable_string(quoted: &str) -> Option<String> {
    if !quoted.contains('\\') && matches!(printable(quoted), Cow::Borrowed(_)) {
        return None;
    }
    // JSON forbids unescaped control characters; the parser reports them later.
    let text: String = serde_json::from_str(quoted).ok()?;
    match printable(&text) {
        Cow::Owned(shown) => serde_json::to_string(&shown).ok(),
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_keys_are_printable_and_all_else_is_the_same() {
        let json = r#"{ "a\u001b[2J":["\u009b31m\r\n",{"b":"\u202e"}], "n":0.12345678901234567890,
  "quotes": "\"\\", "end": "x\\"}"#;
        let expected = r#"{ "a\\u{1b}[2J":["\\u{9b}31m\\u{d}\\u{a}",{"b":"\\u{202e}"}], "n":0.12345678901234567890,
  "quotes": "\"\\", "end": "x\\"}"#;
        assert_eq!(printable_document(json), expected);
        assert_eq!(printable_document("{\"a\":\"\u{9b}\"}"), r#"{"a":"\\u{9b}"}"#);
        let clean = r#"{ "a": "Größe \"4\" KiB" }"#;
        assert!(matches!(printable_document(clean), Cow::Borrowed(_)));
        for broken in ["{\"a", "{\"a\\", "\"", "{\"\u{1b}\"}", r#"{"\x"}"#] {
            assert_eq!(printable_document(broken), broken);
        }
    }
}
