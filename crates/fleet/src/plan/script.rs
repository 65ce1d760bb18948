//! Text of shell scripts, built from typed pieces, so that a value of a plan becomes a quoted word and never script
//! code.

use cryptbench_text::quoted;

/// A piece of a script, created only from literals of this program, words, numbers and templates filled with
/// pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Script(String);

impl Script {
    pub(super) fn literal(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn number(number: usize) -> Self {
        Self(number.to_string())
    }

    /// One word, whatever it contains.
    pub(super) fn word(text: &str) -> Self {
        Self(quoted(text))
    }

    pub(super) fn words(words: &[String]) -> Self {
        Self(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    }

    /// This script as one word, for another shell to run.
    pub(super) fn as_word(&self) -> Self {
        Self::word(&self.0)
    }

    /// Fills `template` with a piece for each placeholder `@NAME@`, in one pass: pieces are not searched for
    /// placeholders.
    ///
    /// # Panics
    /// If a placeholder of the template has no piece.
    pub(super) fn filled(template: &'static str, places: &[(&str, &Self)]) -> Self {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('@') {
            out.push_str(before);
            let name = after.split('@').next().unwrap_or_default();
            let is_place = !name.is_empty()
                && name.len() < after.len()
                && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
            rest = after;
            if is_place {
                let piece = places.iter().find(|(place, _)| *place == name);
                out.push_str(&piece.unwrap_or_else(|| panic!("@{name}@ has no piece")).1.0);
                rest = &after[name.len() + 1..];
            } else {
                out.push('@');
            }
        }
        Self(out + rest)
    }

    /// These pieces one after another.
    pub(super) fn joined(pieces: impl IntoIterator<Item = Self>) -> Self {
        Self(pieces.into_iter().map(|piece| piece.0).collect())
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_come_back_from_it() {
        let words = [
            "plain",
            "two words",
            "it's",
            "$(x)",
            "",
            "a\"b",
            "*",
            "~",
            r"a\",
            r"\'; x",
            "A=b",
            "@A@",
        ];
        let Script(line) = Script::words(&words.map(str::to_owned));
        let out = std::process::Command::new("sh")
            .arg("-c")
            .arg(format!("printf '%s\\n' {line}"))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), words.join("\n") + "\n");
    }

    #[test]
    fn a_piece_is_not_searched_for_places() {
        let [a, b] = ["@B@", "x y"].map(Script::word);
        let found = Script::filled("\"$@\" @A@ @@ @B@ a@b.c @", &[("A", &a), ("B", &b)]);
        assert_eq!(found.into_text(), "\"$@\" @B@ @@ 'x y' a@b.c @");
    }
}
