//! An error message states what failed, and its `source()` states why. Refuses messages that contain both,
//! because printing the chain would repeat the cause.

use std::path::Path;

/// Finds error messages in `text` that repeat their source.
pub fn check(file: &Path, text: &str, faults: &mut Vec<String>) {
    for (start, opening) in text.match_indices("#[error(") {
        let rest = &text[start + opening.len()..];
        let Some((words, after)) = rest.split_once(")]\n") else { continue };
        // Up to the next variant, or to the end of the type.
        let ends = ["#[error(", "\n}"].map(|end| after.find(end).unwrap_or(after.len()));
        let fields = &after[..ends.into_iter().min().unwrap_or(0)];
        if let Some(field) = sources(fields).find(|field| says(words, field)) {
            let line = text[..start].lines().count() + usize::from(text[..start].ends_with('\n'));
            faults.push(format!(
                "{}:{line}: #[error] repeats its source {{{field}}}: whoever shows the error shows its causes \
                 (cryptbench_text::chain)",
                file.display()
            ));
        }
    }
}

/// The fields that `source()` returns according to thiserror: the field of that name, and marked fields.
fn sources(fields: &str) -> impl Iterator<Item = &str> {
    let marked = ["#[source]", "#[from]"].into_iter().flat_map(move |mark| {
        fields.match_indices(mark).map(move |(at, _)| {
            let field = fields[at + mark.len()..].trim_start().trim_start_matches("pub ");
            // A field without a name is the only one.
            let end = field.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
            let named = field[end..].starts_with(':') && !field[end..].starts_with("::");
            if named { &field[..end] } else { "0" }
        })
    });
    marked.chain(["source"])
}

/// Whether a message contains this field, as `{field}`, `{field:?}` or an argument.
fn says(words: &str, field: &str) -> bool {
    let end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let within = |opening: &str| {
        let asked = format!("{opening}{field}");
        words.match_indices(&asked).any(|(at, found)| end(&words[at + found.len()..]))
    };
    // As an argument, a tuple field is written as `.0`; a named field may be used directly.
    within("{") || within("\", ") || within("(") || within("&") || (field == "0" && within("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        check(Path::new("e.rs"), text, &mut faults);
        faults
    }

    #[test]
    fn a_message_with_its_source_is_refused() {
        for bad in [
            "#[error(\"{path}: {source}\")]\nIo { path: PathBuf, source: io::Error },",
            "#[error(\"failed: {source:?}\")]\nIo { source: io::Error },",
            "#[error(\"failed: {}\", source)]\nIo { source: io::Error },",
            "#[error(\"cannot draw: {0}\")]\nSvg(#[from] usvg::Error),",
            "#[error(\"cannot draw: {}\", .0)]\nSvg(#[source] Error),",
            "#[error(\"cannot draw: {why}\")]\nSvg {\n    #[source]\n    why: usvg::Error,\n},",
            "#[error(\n    \"cannot draw: {0}\"\n)]\nSvg(#[from] Error),",
        ] {
            let text = format!("enum E {{\n    {bad}\n}}\n");
            let found = faults(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].starts_with("e.rs:2: "), "{found:?}");
        }
    }

    #[test]
    fn a_message_of_its_own_is_not() {
        let text = "enum E {\n\
            #[error(\"cannot read {path}\")]\nIo { path: PathBuf, source: io::Error },\n\
            #[error(transparent)]\nLoad(#[from] LoadError),\n\
            #[error(\"cannot serve\")]\nRuntime(#[source] io::Error),\n\
            #[error(\"{0} of {source_name}\")]\nSize(u32, String),\n\
            #[error(\"{path}: {what}\")]\nOther { path: PathBuf, what: String },\n}\n\
            fn shown(source: &str) -> String { format!(\"{source}\") }\n";
        assert_eq!(faults(text), [""; 0]);
    }
}
