//! The files distributed for Windows: a static program, a zip file with the program and all licences, and a manifest
//! for winget.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};

use super::{date_of_sources, said, sha256, tell};
use crate::cross::System;

/// Libraries that every Windows version since 10 has.
const OF_WINDOWS: &[&str] = &[
    "advapi32.dll",
    "api-ms-win-",
    "bcrypt.dll",
    "bcryptprimitives.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "ole32.dll",
    "shell32.dll",
    "user32.dll",
    "userenv.dll",
    "ws2_32.dll",
];

/// Licences of the code that Debian's compilers link into every program.
const OF_COMPILERS: [(&str, &str); 2] = [
    ("rust", "/usr/share/doc/rust-web-src/copyright"),
    ("mingw-w64", "/usr/share/doc/mingw-w64-x86-64-dev/copyright"),
];

/// Packs `program` into `out`. `url` is the future location of the zip file; without it, no manifest is
/// written.
pub(super) fn pack(program: &Path, out: &Path, url: Option<&str>) -> anyhow::Result<()> {
    needs_windows_alone(program)?;
    let (version, triple) = (env!("CARGO_PKG_VERSION"), System::Windows.triple());
    let mut files = vec![("cryptbench.exe".to_owned(), program.to_owned())];
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/windows.md"] {
        files.push((name.to_owned(), name.into()));
    }
    let licences = licences()?;
    println!("licences of {} crates and compilers", licences.len());
    for (name, of_one) in licences {
        for file in of_one {
            let called = file.file_name().context("a licence without a name")?.to_string_lossy();
            files.push((format!("licences/{name}/{called}"), file));
        }
    }
    let packed = out.join(format!("cryptbench-{version}-{triple}.zip"));
    let seconds = date_of_sources()?.trim().parse()?;
    zip(&files, UNIX_EPOCH + Duration::from_secs(seconds), &packed)?;
    tell(&packed)?;
    let hash = sha256(&packed)?.to_uppercase();
    println!("SHA-256 {hash}");
    let Some(url) = url else {
        println!("no manifest for winget: --url says where the zip will lie");
        return Ok(());
    };
    let directory = out.join("winget");
    fs::create_dir_all(&directory)?;
    for (name, text) in manifest(version, url, &hash) {
        fs::write(directory.join(&name), text)?;
        tell(&directory.join(name))?;
    }
    Ok(())
}

/// Packs files under new names with the same timestamp, so that the archive is reproducible.
fn zip(files: &[(String, PathBuf)], time: SystemTime, packed: &Path) -> anyhow::Result<()> {
    let stage = tempfile::tempdir()?;
    for (name, file) in files {
        let staged = stage.path().join(name);
        fs::create_dir_all(staged.parent().unwrap_or(stage.path()))?;
        fs::copy(file, &staged).with_context(|| format!("cannot read {}", file.display()))?;
        fs::set_permissions(&staged, Permissions::from_mode(0o644))?;
        File::options().write(true).open(&staged)?.set_modified(time)?;
    }
    let _ = fs::remove_file(packed);
    // Without owners and directories, and with times that do not depend on the time zone.
    let mut command = Command::new("zip");
    command.args(["-9", "-X", "-D", "-q"]).arg(packed).args(files.iter().map(|(name, _)| name));
    let done = command.env("TZ", "UTC").current_dir(&stage).output();
    let done = done.context("cannot start zip (apt install zip)")?;
    ensure!(done.status.success(), "zip: {}", String::from_utf8_lossy(&done.stdout).trim());
    Ok(())
}

/// Checks that a program needs only the libraries of Windows itself.
fn needs_windows_alone(program: &Path) -> anyhow::Result<()> {
    let said = said("x86_64-w64-mingw32-objdump", &["-p", &program.display().to_string()])?;
    let needed = libraries(&said);
    let of_windows =
        |name: &&String| OF_WINDOWS.iter().any(|known| name.to_lowercase().starts_with(known));
    let others: Vec<_> = needed.iter().filter(|name| !of_windows(name)).collect();
    if needed.is_empty() || !others.is_empty() {
        bail!("{} needs {needed:?}; of these Windows lacks {others:?}", program.display());
    }
    println!("it needs {} libraries, all of Windows", needed.len());
    Ok(())
}

fn libraries(said: &str) -> BTreeSet<String> {
    said.lines()
        .filter_map(|line| Some(line.trim().strip_prefix("DLL Name: ")?.to_owned()))
        .collect()
}

/// The licences of all crates from which the program is built, by name, and of the compilers.
fn licences() -> anyhow::Result<Vec<(String, Vec<PathBuf>)>> {
    let triple = System::Windows.triple();
    let tree = said(
        env!("CARGO"),
        &[
            "tree",
            "--locked",
            "--offline",
            "--package=cryptbench",
            "--edges=normal,build",
            "--prefix=none",
            "--format={p}",
            "--target",
            triple,
        ],
    )?;
    let linked: BTreeSet<(&str, &str)> = tree.lines().filter_map(package).collect();
    let metadata =
        said(env!("CARGO"), &["metadata", "--locked", "--offline", "--format-version=1"])?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let mut all = Vec::new();
    for found in metadata["packages"].as_array().context("no packages")? {
        let text = |name: &str| found[name].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        // The crates of this repository have its own licences.
        if found["source"].is_null() || !linked.contains(&(name, version)) {
            continue;
        }
        let directory = Path::new(text("manifest_path")).parent().context("no directory")?;
        let mut files: Vec<PathBuf> = fs::read_dir(directory)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_file() && is_licence(path))
            .collect();
        files.sort();
        if files.is_empty() {
            println!("{name} {version} comes without the text of its licence, {}", text("license"));
        }
        all.push((format!("{name}-{version}"), files));
    }
    all.sort();
    let of_compilers = OF_COMPILERS.map(|(name, file)| (name.to_owned(), vec![file.into()]));
    all.extend(of_compilers);
    Ok(all)
}

/// Name and version in a line such as `serde v1.0.229 (proc-macro)`.
fn package(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
        .iter()
        .any(|begins| name.starts_with(begins))
}

/// The three files of a package in winget's repository (schema 1.6.0), with their names.
fn manifest(version: &str, url: &str, hash: &str) -> [(String, String); 3] {
    const ID: &str = "cryptbench.cryptbench";
    let file = |kind: &str, schema: &str, body: &str| {
        let text = format!(
            "# yaml-language-server: $schema=https://aka.ms/winget-manifest.{schema}.1.6.0.schema.json\n\n\
             PackageIdentifier: {ID}\nPackageVersion: {version}\n{body}ManifestType: {schema}\n\
             ManifestVersion: 1.6.0\n"
        );
        (format!("{ID}{kind}.yaml"), text)
    };
    [
        file("", "version", "DefaultLocale: en-US\n"),
        file(
            ".installer",
            "installer",
            &format!(
                "InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n\
                 - RelativeFilePath: cryptbench.exe\n  PortableCommandAlias: cryptbench\n\
                 Installers:\n- Architecture: x64\n  InstallerUrl: {url}\n  InstallerSha256: {hash}\n"
            ),
        ),
        file(
            ".locale.en-US",
            "defaultLocale",
            "PackageLocale: en-US\nPublisher: The cryptbench maintainers\nPackageName: cryptbench\n\
             License: MIT OR Apache-2.0\nShortDescription: Measures what disk encryption costs, beside plain storage\n",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_objdump_and_cargo_print_them() {
        let said = "\tDLL Name: KERNEL32.dll\n\tvma:  Hint/Ord\n\tDLL Name: libgcc_s_seh-1.dll\n";
        assert_eq!(Vec::from_iter(libraries(said)), ["KERNEL32.dll", "libgcc_s_seh-1.dll"]);
        assert_eq!(
            package("serde_derive v1.0.229 (proc-macro)"),
            Some(("serde_derive", "1.0.229"))
        );
        assert_eq!(package("libc v0.2.1 (*)"), Some(("libc", "0.2.1")));
        assert_eq!(package(""), None);
        assert!(is_licence(Path::new("/x/LICENSE-MIT")) && !is_licence(Path::new("/x/lib.rs")));
    }

    #[test]
    fn an_archive_of_the_same_files_is_the_same() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("x");
        fs::write(&file, "hello").unwrap();
        let files = [("d/a.txt".to_owned(), file.clone()), ("b".to_owned(), file)];
        let made = |name: &str| {
            let packed = place.path().join(name);
            let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
            zip(&files, time, &packed).map(|()| fs::read(packed).unwrap())
        };
        if !Path::new("/usr/bin/zip").exists() {
            return eprintln!("SKIPPED: there is no zip");
        }
        let (one, two) = (made("1.zip").unwrap(), made("2.zip").unwrap());
        assert!(one == two && one.starts_with(b"PK\x03\x04"));
    }

    #[test]
    fn the_manifest_names_the_zip_by_its_hash() {
        let files = manifest("1.2.3", "https://example.org/x.zip", "ABC");
        let names = files.each_ref().map(|(name, _)| name.as_str());
        assert_eq!(names[1], "cryptbench.cryptbench.installer.yaml");
        assert!(
            files[1]
                .1
                .contains("InstallerUrl: https://example.org/x.zip\n  InstallerSha256: ABC\n")
        );
        for (name, text) in &files {
            assert!(
                text.contains("PackageVersion: 1.2.3\n") && text.ends_with("1.6.0\n"),
                "{name}"
            );
        }
    }
}
