//! The identity of a machine in the fleet: its name, its installation, its boot, and its task.

use std::fmt::Write as _;

use cryptbench_os::machine::{boot_id, host_name, machine_id};
use cryptbench_record::Node;
use sha2::{Digest as _, Sha256};

/// The key of the hash, so that a machine's ID is not revealed: machine-id(5) requires a hash with an
/// application-specific key.
const KEY: &str = "cryptbench fleet\n";

/// Maximum length of a machine's name in a file name; a DNS name has at most 253 characters.
const LONGEST_NAME: usize = 120;

/// This machine. The machine's name is `name`, or else the host name; `asked` is its task in any stable serialisation.
pub fn node(name: Option<&str>, asked: &str) -> Node {
    let name = name.map_or_else(host_name, str::to_owned);
    let digits = |id: String| id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    Node {
        name: if name.is_empty() { "unnamed".to_owned() } else { name },
        machine: machine_id().map(|id| hex(&format!("{KEY}{id}"))).unwrap_or_default(),
        boot: boot_id().map(digits).unwrap_or_default(),
        plan: hex(asked),
        at_once: None,
    }
}

/// The name of a machine's file without its extension: `node17-MACHINE-BOOT-PLAN`.
///
/// The name is included because cloned machines have the same machine ID, and several nodes may run on the same
/// kernel.
pub fn file_stem(node: &Node) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = node.name.chars().map(fit).take(LONGEST_NAME).collect();
    let or_none = |part: &str| if part.is_empty() { "none".to_owned() } else { part.to_owned() };
    let parts = [&node.machine, &node.boot, &node.plan].map(|part| or_none(part));
    // Files that begin with a dot are not read.
    format!("{}-{}", name.trim_start_matches('.'), parts.join("-"))
}

/// The first 16 hexadecimal digits of the SHA-256.
pub(crate) fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_request_on_the_same_machine_has_the_same_name() {
        let [a, b, c] = ["one", "one", "two"].map(|asked| node(Some("n1"), asked));
        assert_eq!(a, b);
        assert_ne!(file_stem(&a), file_stem(&c));
        assert_ne!(file_stem(&a), file_stem(&node(Some("n2"), "one")));
        assert_eq!(a.plan.len(), 16);
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let hostile = Node { name: "../../etc/x y".to_owned(), ..Node::default() };
        assert_eq!(file_stem(&hostile), "_.._etc_x_y-none-none-none");
        let long = Node { name: "x".repeat(4000), ..Node::default() };
        assert!(file_stem(&long).len() < 200);
    }
}
