//! Checks that markup is created with `html!`, which escapes text. Text that bypasses it must come from a
//! constant or a drawing.

use std::path::Path;

/// The module in which text created at run time becomes markup.
const DRAWING: &str = "crates/view/src/drawing";

/// Other files in which this happens, each with a reason.
const ELSEWHERE: &[(&str, &str)] = &[(
    "crates/view/src/html/trials.rs",
    "JSON, which entities would spoil; its brackets are escaped",
)];

/// Finds text in `text`, a file of a crate, that becomes markup without being escaped.
pub fn check(file: &Path, text: &str, faults: &mut Vec<String>) {
    if file.starts_with(DRAWING) || ELSEWHERE.iter().any(|(place, _)| file == Path::new(place)) {
        return;
    }
    for (number, line) in text.lines().enumerate() {
        let made = line.split("PreEscaped(").skip(1).filter(|argument| !is_constant(argument));
        if made.count() > 0 {
            let (name, line) = (file.display(), number + 1);
            faults.push(format!(
                "{name}:{line}: PreEscaped of text that is no constant: make markup with html!"
            ));
        }
    }
}

/// Whether an argument list is empty or starts with only the name of a constant.
fn is_constant(argument: &str) -> bool {
    let name = argument.split(')').next().unwrap_or("");
    name == "\"\"" || !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_constants_and_drawings_go_past_escaping() {
        let faults = |file: &str, line: &str| {
            let mut faults = Vec::new();
            check(Path::new(file), line, &mut faults);
            faults.len()
        };
        let page = "crates/view/src/html/mod.rs";
        assert_eq!(faults(page, "style { (PreEscaped(STYLE)) (PreEscaped(&title)) }"), 1);
        assert_eq!(
            faults(page, "use maud::{Markup, PreEscaped, html};\nstyle: PreEscaped(MORE_STYLE),"),
            0
        );
        assert_eq!(faults(page, "style: PreEscaped(\"\"),"), 0);
        assert_eq!(faults(page, "PreEscaped(format!(\"<b>{name}</b>\"))"), 1);
        assert_eq!(faults(&format!("{DRAWING}/svg.rs"), "PreEscaped(out)"), 0);
        assert_eq!(faults(ELSEWHERE[0].0, "(PreEscaped(safe))"), 0);
    }
}
