//! The table of docs/formats.md: the formats that are opened, created and changed, generated from the
//! registries of the crates.

use std::fmt::Write as _;

use cryptbench_cipher::{dm_crypt_ciphers, dm_crypt_modes, essiv_hashes, legacy_ciphers};
use cryptbench_kdf::Function;
use cryptbench_kdf::pim::{self, VolumeKind};
use cryptbench_volume::format::{bitlocker, ecryptfs, filevault, freeotfe, luks, tcrypt};

use crate::generated::check;

const MARK: &str = "<!-- generated: formats of volumes, by cargo xtask readme -->\n";

/// A row: format, variant, and whether it can be opened, created and changed.
type Row = (&'static str, String, bool, bool, bool);

/// Modes, and whether volumes in these modes can be created, not only opened.
type Modes = (Vec<&'static str>, bool);

fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Each set of modes, with the ciphers that support it.
fn luks_ciphers() -> Vec<Row> {
    let mut sets: Vec<(Modes, Vec<&str>)> = Vec::new();
    for cipher in dm_crypt_ciphers() {
        for created in [true, false] {
            let modes = dm_crypt_modes(cipher).iter().copied();
            let makes_new = |mode: &&str| luks::makes_cipher(cipher) && luks::makes_new(mode);
            let modes: Vec<_> = modes.filter(|mode| makes_new(mode) == created).collect();
            if modes.is_empty() {
                continue;
            }
            let set = (modes, created);
            match sets.iter_mut().find(|(known, _)| *known == set) {
                Some((_, ciphers)) => ciphers.push(cipher),
                None => sets.push((set, vec![cipher])),
            }
        }
    }
    let row = |((modes, created), ciphers): (Modes, Vec<&'static str>)| {
        let mut chains: Vec<(&str, Vec<&str>)> = Vec::new();
        for mode in modes {
            let (chain, generator) = mode.split_once('-').unwrap_or((mode, ""));
            match chains.iter_mut().find(|(known, _)| *known == chain) {
                Some((_, generators)) => generators.push(generator),
                None => chains.push((chain, vec![generator])),
            }
        }
        let mut alike: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for (chain, generators) in chains {
            match alike.iter_mut().find(|(known, _)| *known == generators) {
                Some((_, all)) => all.push(chain),
                None => alike.push((generators, vec![chain])),
            }
        }
        let alike = alike.iter().map(|(generators, all)| match generators.as_slice() {
            [""] => listed(all.iter().copied()),
            some => {
                format!("{} with {}", listed(all.iter().copied()), listed(some.iter().copied()))
            }
        });
        let text = format!("{}: {}", listed(ciphers), alike.collect::<Vec<_>>().join("; "));
        ("LUKS", text, true, created, true)
    };
    sets.into_iter().map(row).collect()
}

/// The KDFs of a kind of volume: those for new volumes, and those that only old volumes use.
fn functions(format: &'static str, kind: VolumeKind) -> Vec<Row> {
    let known = |function: &Function| pim::derivation(kind, *function, None).is_ok();
    let (new, old): (Vec<_>, Vec<_>) =
        Function::all().filter(known).partition(|function| kind.makes_new(*function));
    let row = |all: Vec<Function>, created| {
        (
            format,
            format!("PRF: {}", listed(all.into_iter().map(Function::name))),
            true,
            created,
            true,
        )
    };
    vec![row(new, true), row(old, false)]
}

fn rows() -> Vec<Row> {
    let mut rows = luks_ciphers();
    let several =
        "several alternating keys, such as `aes:64`, with `lmk` for loop-AES versions 2 and 3";
    rows.push(("LUKS", several.to_owned(), true, false, true));
    rows.push(("LUKS", format!("`HASH` of ESSIV: {}", listed(essiv_hashes())), true, true, true));
    rows.push(("LUKS", format!("hashes: {}", listed(luks::hashes())), true, true, true));
    rows.push(("LUKS2", "Argon2i; Argon2id".to_owned(), true, true, true));
    let schemes = tcrypt::schemes();
    let labels = |both: bool| {
        listed(schemes.iter().filter(|scheme| scheme.in_truecrypt || !both).map(|s| s.label))
    };
    rows.push(("VeraCrypt", format!("XTS: {}", labels(false)), true, true, true));
    rows.extend(functions("VeraCrypt", VolumeKind::VeraCrypt { system: false }));
    rows.push(("TrueCrypt 5 to 7", format!("XTS: {}", labels(true)), true, true, true));
    rows.extend(functions("TrueCrypt", VolumeKind::TrueCrypt { system: false }));
    let mut modes: Vec<(String, Vec<&str>)> = Vec::new();
    for cipher in legacy_ciphers() {
        let mode = cipher.mode.to_string();
        match modes.iter_mut().find(|(known, _)| *known == mode) {
            Some((_, ciphers)) => ciphers.push(cipher.name),
            None => modes.push((mode, vec![cipher.name])),
        }
    }
    for (mode, ciphers) in modes {
        rows.push(("TrueCrypt 1 to 4", format!("{mode}: {}", listed(ciphers)), true, false, true));
    }
    let methods = bitlocker::Method::all().map(bitlocker::Method::name);
    rows.push(("BitLocker", listed(methods), true, true, false));
    rows.push(("FileVault 2", listed([filevault::CIPHER_NAME]), true, false, false));
    let (ciphers, hashes) = freeotfe::tried();
    let ciphers: Vec<_> = ciphers.collect();
    let tried = (listed(ciphers.iter().map(String::as_str)), listed(hashes));
    rows.push(("FreeOTFE", format!("{}; PRF: {}", tried.0, tried.1), true, false, false));
    let ciphers = listed(ecryptfs::ciphers());
    rows.push(("eCryptfs", format!("CBC: {ciphers}; also names"), true, false, false));
    rows
}

fn table() -> String {
    let mut made =
        "\n| format | | opened | created | keys changed |\n|---|---|---|---|---|\n".to_owned();
    for (format, what, opened, created, changed) in rows() {
        let told = |yes: bool| if yes { "yes" } else { "no" };
        let (opened, created, changed) = (told(opened), told(created), told(changed));
        writeln!(made, "| {format} | {what} | {opened} | {created} | {changed} |").unwrap();
    }
    made + "\n"
}

#[test]
fn docs_have_the_formats_as_the_registries_do() {
    check("formats.md", MARK, &table());
}
