//! Finds what a user means by a name: in upper or lower case, by any name that the program prints, or by a part
//! that is unique.

use std::collections::BTreeSet;
use std::fmt;

/// Something that can be named.
pub struct Named<T> {
    /// The object to find.
    pub it: T,
    /// The name that the user can type for it.
    pub key: String,
    /// Its other names.
    pub names: Vec<String>,
}

impl<T> Named<T> {
    /// The object `it`, with the name `key` and the other names `names`.
    pub fn new(it: T, key: &str, names: impl IntoIterator<Item = String>) -> Self {
        Self { it, key: key.to_owned(), names: names.into_iter().collect() }
    }

    fn all_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.key.as_str()).chain(self.names.iter().map(String::as_str))
    }
}

/// Names that are unknown or ambiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    kind: &'static str,
    unknown: Vec<Miss>,
    known: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Miss {
    /// The name, and the nearest known name.
    Nothing(String, Option<String>),
    /// The name, and its possible meanings.
    Several(String, Vec<String>),
}

impl Unknown {
    /// The error for `asked`, which is not among `all`.
    pub fn of<T>(kind: &'static str, asked: &str, all: &[Named<T>]) -> Self {
        let miss = Miss::Nothing(asked.to_owned(), nearest(&words(asked), all));
        Self { kind, unknown: vec![miss], known: keys(all) }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        let mut nothing: Vec<String> = Vec::new();
        for miss in &self.unknown {
            match miss {
                Miss::Nothing(asked, nearest) => nothing.push(match nearest {
                    Some(nearest) => format!("{asked:?} (did you mean {nearest}?)"),
                    None => format!("{asked:?}"),
                }),
                Miss::Several(asked, fits) => parts.push(format!(
                    "{asked:?} matches several {}s, choose one: {}",
                    self.kind,
                    fits.join(", ")
                )),
            }
        }
        if !nothing.is_empty() {
            let several = if nothing.len() > 1 { "s" } else { "" };
            let names = nothing.join(", ");
            parts.insert(0, format!("unknown {}{several} {names}", self.kind));
            if !self.known.is_empty() {
                parts.push(format!("known: {}", self.known));
            }
        }
        f.write_str(&parts.join("; "))
    }
}

impl std::error::Error for Unknown {}

/// Finds what each of `asked` means among `all`. `kind` describes these objects in an error message, and
/// `known` lists them.
///
/// # Errors
/// [`Unknown`], with all names that are unknown or ambiguous.
pub fn named<T: Copy>(
    kind: &'static str,
    asked: &[impl AsRef<str>],
    all: &[Named<T>],
    known: impl FnOnce() -> String,
) -> Result<Vec<T>, Unknown> {
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for name in asked {
        match one(name.as_ref(), all) {
            Ok(it) => found.push(it),
            Err(miss) => unknown.push(miss),
        }
    }
    match unknown.is_empty() {
        true => Ok(found),
        false => Err(Unknown { kind, unknown, known: known() }),
    }
}

/// The keys of `all`, as a list for an error message.
pub fn keys<T>(all: &[Named<T>]) -> String {
    all.iter().map(|named| named.key.as_str()).collect::<Vec<_>>().join(", ")
}

fn one<T: Copy>(asked: &str, all: &[Named<T>]) -> Result<T, Miss> {
    if let Some(exact) = all.iter().find(|named| named.key == asked.trim()) {
        return Ok(exact.it);
    }
    let wanted = words(asked);
    let joined = wanted.concat();
    // A number or a date is never accepted as a part of a name.
    let is_word = joined.chars().any(char::is_alphabetic);
    let is_part = |name: &str| {
        let own = words(name);
        let begun = |word: &String| own.iter().any(|w| begins(w, word));
        let has_digit = joined.contains(|c: char| c.is_numeric());
        wanted.iter().all(begun) || joined.len() > 2 && !has_digit && own.concat().contains(&joined)
    };
    // A part is accepted only if no other name contains it in any form.
    let ways: [&dyn Fn(&str) -> bool; 2] =
        [&|name| !joined.is_empty() && words(name).concat() == joined, &|name| {
            is_word && is_part(name)
        }];
    for way in ways {
        let fits: Vec<&Named<T>> = all.iter().filter(|one| one.all_names().any(way)).collect();
        match fits[..] {
            [] => {}
            [one] => return Ok(one.it),
            _ => {
                let keys = fits.iter().map(|one| one.key.clone());
                return Err(Miss::Several(asked.to_owned(), keys.collect()));
            }
        }
    }
    Err(Miss::Nothing(asked.to_owned(), is_word.then(|| nearest(&wanted, all)).flatten()))
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// Whether a word starts with the typed text; numbers and single letters must match completely.
fn begins(word: &str, typed: &str) -> bool {
    match typed.len() < 2 || typed.chars().all(char::is_numeric) {
        true => word == typed,
        false => word.starts_with(typed),
    }
}

/// The key of the name that differs from the typed text by the fewest letters or, failing that, contains the most of
/// its words.
fn nearest<T>(wanted: &[String], all: &[Named<T>]) -> Option<String> {
    let joined: Vec<char> = wanted.concat().chars().collect();
    let far = |named: &Named<T>| {
        let names = named
            .all_names()
            .map(|name| distance(&words(name).concat().chars().collect::<Vec<_>>(), &joined));
        names.min().unwrap_or(usize::MAX)
    };
    let spelled = all.iter().min_by_key(|named| far(named));
    if let Some(close) = spelled.filter(|named| far(named) <= (joined.len() / 3).max(1)) {
        return Some(close.key.clone());
    }
    let typed: BTreeSet<&String> = wanted.iter().filter(|word| word.len() > 2).collect();
    let shared = |named: &Named<T>| {
        let of = |name: &str| words(name).iter().filter(|word| typed.contains(word)).count();
        named.all_names().map(of).max().unwrap_or(0)
    };
    let most = all.iter().map(shared).max().filter(|shared| *shared > 0)?;
    let mut best = all.iter().filter(|named| shared(named) == most);
    let first = best.next()?;
    best.next().is_none().then(|| first.key.clone())
}

/// Number of letters that are inserted, omitted, changed or swapped with the next letter.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = rows[i][j] + usize::from(x != y);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn systems() -> Vec<Named<usize>> {
        let all: [(&str, &[&str]); 6] = [
            ("dm-crypt", &["LUKS2 (dm-crypt)", "LUKS2"]),
            ("qemu-luks", &["QEMU (LUKS1)"]),
            ("nbdkit-luks", &["nbdkit (LUKS1)"]),
            ("veracrypt", &["VeraCrypt"]),
            ("aes-256-xts", &["AES-256"]),
            ("aes-128-xts", &["AES-128"]),
        ];
        let of = |(i, (key, names)): (usize, &(&str, &[&str]))| {
            Named::new(i, key, names.iter().map(|n| (*n).to_owned()))
        };
        all.iter().enumerate().map(of).collect()
    }

    fn find(asked: &[&str]) -> Result<Vec<usize>, String> {
        named("system", asked, &systems(), || "all of them".to_owned()).map_err(|e| e.to_string())
    }

    #[test]
    fn any_name_in_any_case_and_a_part_that_one_has() {
        for (asked, expected) in [
            ("dm-crypt", 0),
            ("DM-Crypt", 0),
            ("luks2", 0),
            ("luks2 (dm-crypt)", 0),
            ("QEMU", 1),
            ("nbd", 2),
            ("vera", 3),
            ("aes256", 4),
            ("AES 256 XTS", 4),
        ] {
            assert_eq!(find(&[asked]), Ok(vec![expected]), "{asked}");
        }
    }

    #[test]
    fn nothing_is_chosen_between_two_and_numbers_are_no_part() {
        let said = [
            find(&["luks"]),
            find(&["aes"]),
            find(&["256"]),
            find(&["2024-02-29"]),
            find(&["aes-2"]),
            find(&[""]),
            find(&["verycrypt"]),
            find(&["plain dm-crypt"]),
            find(&["vera", "x", "lusk2", "luks1"]),
        ];
        let said = said.map(|found| found.expect_err("not one"));
        insta::assert_snapshot!(said.join("\n"), @r#"
            "luks" matches several systems, choose one: dm-crypt, qemu-luks, nbdkit-luks
            "aes" matches several systems, choose one: aes-256-xts, aes-128-xts
            unknown system "256"; known: all of them
            unknown system "2024-02-29"; known: all of them
            unknown system "aes-2"; known: all of them
            unknown system ""; known: all of them
            unknown system "verycrypt" (did you mean veracrypt?); known: all of them
            unknown system "plain dm-crypt" (did you mean dm-crypt?); known: all of them
            unknown systems "x", "lusk2" (did you mean dm-crypt?); "luks1" matches several systems, choose one: qemu-luks, nbdkit-luks; known: all of them
            "#);
    }

    #[test]
    fn swapped_letters_are_one_step() {
        let far = |a: &str, b: &str| {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            distance(&letters(a), &letters(b))
        };
        assert_eq!((far("luks", "lusk"), far("", "abc"), far("kitten", "sitting")), (1, 3, 3));
    }
}
