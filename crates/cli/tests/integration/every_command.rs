//! The list of all commands, with their arguments that take a path. A unit test compares it with the command line.

const LIST: &str = include_str!("../commands.txt");

/// Each command.
pub fn commands() -> Vec<&'static str> {
    LIST.lines().filter(|line| !line.starts_with(' ')).collect()
}

/// Each command with each argument that takes a path: options with their dashes, other arguments by name.
pub fn paths() -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let mut command = "";
    for line in LIST.lines() {
        match line.strip_prefix("    ") {
            Some(argument) => found.push((command, argument)),
            None => command = line,
        }
    }
    found
}
