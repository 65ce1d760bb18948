//! The list of all commands and of their arguments that take a path, which a unit test holds against the command line.

const LIST: &str = include_str!("../commands.txt");

/// Each command.
pub fn commands() -> Vec<&'static str> {
    LIST.lines().filter(|line| !line.starts_with(' ')).collect()
}

/// Each command with each of its arguments that take a path: options with their dashes, others by name.
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
