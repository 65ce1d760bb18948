//! The commands in the README for a newcomer.

use anyhow::Context as _;

/// The blocks with shell commands.
fn blocks(readme: &str) -> impl Iterator<Item = &str> {
    readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// The commands that install packages: the block that follows the name of the system.
pub fn for_packages(readme: &str, system: &str) -> anyhow::Result<String> {
    let after = readme.split_once(system).map(|(_, rest)| rest).unwrap_or_default();
    let block = blocks(after).next();
    let block = block.with_context(|| format!("README.md has no commands for {system}"))?;
    Ok(block.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; "))
}

/// The cargo commands: one for a run, and one for the tests.
pub fn commands(readme: &str) -> anyhow::Result<[String; 2]> {
    let lines = blocks(readme).flat_map(str::lines).filter(|line| line.starts_with("cargo "));
    let mut commands = lines.map(|line| line.split(" # ").next().unwrap_or(line).trim().to_owned());
    let mut next = || commands.next().context("README.md lacks one of its two commands");
    Ok([next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_tells_what_to_type() {
        let readme = std::fs::read_to_string(crate::root().join("README.md")).unwrap();
        let packages = for_packages(&readme, "Debian 12").unwrap();
        assert!(packages.contains("build-essential") && packages.contains("cargo-web"));
        assert!(!packages.contains("rustup"), "{packages}");
        for system in ["Debian 13", "Ubuntu"] {
            assert!(for_packages(&readme, system).unwrap().contains("rustup"), "{system}");
        }
        assert_eq!(commands(&readme).unwrap(), ["cargo run --release -- run", "cargo xtask test"]);
    }

    #[test]
    fn blocks_for_other_systems_are_left_out() {
        let readme = "Debian 13:\n```sh\nz\n```\nDebian 12:\n```sh\nx y\n\nw\n```\nb\n```sh\ncargo a    # all\nrest\n```\n```sh\ncargo b\n```\n";
        assert_eq!(for_packages(readme, "Debian 12").unwrap(), "x y; w");
        assert_eq!(commands(readme).unwrap(), ["cargo a", "cargo b"]);
        assert!(for_packages("", "Debian 12").is_err() && commands("```sh\na\n```").is_err());
    }
}
