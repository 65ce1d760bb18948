//! Lists of machines in the notation of clusters: `node[01-16,20],login`.

use crate::FleetError;

/// Maximum number of machines in a list, so that a typing error does not exhaust memory.
const MOST: usize = 1_000_000;

/// The machines of a list, in the order of the list. A name has at most one range in brackets, whose numbers keep
/// their leading zeros.
///
/// # Errors
/// [`FleetError::Unfit`] for unclosed brackets, a descending range, or an invalid name.
pub fn expand(list: &str) -> Result<Vec<String>, FleetError> {
    let mut found = Vec::new();
    for part in parts(list)? {
        let Some((before, rest)) = part.split_once('[') else {
            found.push(part.to_owned());
            continue;
        };
        let (ranges, after) = rest.split_once(']').expect("the brackets close");
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| {
                let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                text.parse::<usize>().ok().filter(|_| is_number)
            };
            let (Some(from), Some(to)) = (number(first), number(last)) else {
                return Err(unfit(
                    &part,
                    "its range does not consist of numbers, such as [01-16,20]",
                ));
            };
            if to < from || to - from >= MOST - found.len().min(MOST) {
                return Err(unfit(&part, "its range runs backwards or is too long"));
            }
            let digits = first.len();
            found.extend((from..=to).map(|n| format!("{before}{n:0digits$}{after}")));
        }
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part)
    };
    match found.iter().find(|name| !is_name(name)) {
        Some(name) => Err(unfit(name, "names consist of letters, digits, dots and hyphens")),
        None => Ok(found),
    }
}

/// The parts of the list, separated by commas and white space outside brackets.
fn parts(list: &str) -> Result<Vec<String>, FleetError> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for c in list.chars() {
        match c {
            '[' if inside => return Err(unfit(list, "has nested brackets")),
            ']' if !inside => return Err(unfit(list, "closes a bracket that is not open")),
            '[' | ']' => inside = c == '[',
            _ => {}
        }
        if !inside && (c == ',' || c.is_whitespace()) {
            parts.push(String::new());
        } else {
            parts.last_mut().expect("never empty").push(c);
        }
    }
    if inside {
        return Err(unfit(list, "has a bracket that is not closed"));
    }
    parts.retain(|part| !part.is_empty());
    match parts.iter().find(|part| part.matches('[').count() > 1) {
        Some(part) => Err(unfit(part, "has two ranges; write one list for each")),
        None => Ok(parts),
    }
}

fn unfit(what: &str, problem: &str) -> FleetError {
    let what: String = what.chars().take(80).collect();
    FleetError::Unfit(format!("list of nodes: {what:?}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_their_zeros_and_their_order() {
        let found = expand("login, node[08-11,20]-ib gpu[9-10]").unwrap();
        let expected = [
            "login",
            "node08-ib",
            "node09-ib",
            "node10-ib",
            "node11-ib",
            "node20-ib",
            "gpu9",
            "gpu10",
        ];
        assert_eq!(found, expected);
        assert!(expand("").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for bad in [
            "n[1-",
            "n]1",
            "n[[1]]",
            "n[2-1]",
            "n[a-b]",
            "n[1][2]",
            "n[]",
            "n[+1-2]",
            "n[1-9999999999]",
            "a;b",
            "$(x)",
            "-o",
        ] {
            assert!(expand(bad).is_err(), "{bad}");
        }
    }
}
