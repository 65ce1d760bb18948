//! Every cipher, mode and hash with which the guest's cryptsetup can format: cryptbench either opens the volume and
//! reads all of it, or refuses it by its full name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::machine::{Guest, first_difference, noise};
use crate::sandbox::{nightly, text};

/// A cipher, and the size of its key in bits, without a key for tweaks.
const CIPHERS: [(&str, u32); 14] = [
    ("aes", 256),
    ("serpent", 256),
    ("twofish", 256),
    ("camellia", 256),
    ("cast6", 256),
    ("anubis", 256),
    ("seed", 128),
    ("cast5", 128),
    ("blowfish", 256),
    ("des3_ede", 192),
    ("des", 64),
    ("khazad", 128),
    ("xchacha12,aes", 256),
    ("xchacha20,aes", 256),
];

const CHAINS: [&str; 9] = ["xts", "cbc", "lrw", "ctr", "cfb", "ofb", "pcbc", "adiantum", "hctr2"];

const GENERATORS: [&str; 11] = [
    "plain",
    "plain64",
    "plain64be",
    "benbi",
    "null",
    "eboiv",
    "lmk",
    "tcw",
    "random",
    "essiv:sha256",
    "elephant",
];

/// Names of hashes in the kernel and in cryptsetup.
const HASHES: [&str; 22] = [
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha512-256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "blake2b-160",
    "blake2b-256",
    "blake2b-384",
    "blake2b-512",
    "blake2s-256",
    "sm3",
    "md5",
    "ripemd160",
    "whirlpool",
    "stribog256",
    "stribog512",
    "tiger",
];

const HASHES_OF_ESSIV: [&str; 8] =
    ["sha1", "sha224", "md5", "rmd160", "wp512", "sha3-256", "streebog256", "blake2s-256"];

/// Several keys that alternate from sector to sector, with and without loop-AES's seed; ciphers in the notation of
/// the kernel's crypto API; no cipher.
const OTHERS: [(&str, &str, u32); 14] = [
    ("aes:2", "cbc-lmk", 256),
    ("aes:2", "cbc-lmk", 512),
    ("aes:64", "cbc-lmk", 64 * 128),
    ("aes:64", "cbc-lmk", 65 * 128),
    ("aes:64", "cbc-lmk", 64 * 256),
    ("aes:64", "cbc-lmk", 65 * 256),
    ("aes:2", "xts-plain64", 1024),
    ("aes:2", "xts-eboiv", 512),
    ("aes:2", "cbc-eboiv", 512),
    ("aes:2", "cbc-essiv:sha256", 512),
    ("aes:16", "cbc-plain64", 16 * 256),
    ("aes:2", "lrw-benbi", 768),
    ("capi:cbc(aes)", "plain64", 256),
    ("cipher_null", "ecb", 128),
];

/// Number of lines for which one boot has time: each takes a second or two.
const A_BOOT: usize = 250;

/// Creates a volume of 64 KiB for each line of `all` that cryptsetup accepts, and lists the names in `made`.
/// Keyslots with many keys need more space.
const SCRIPT: &str = r#"
./modprobe -a adiantum anubis blowfish_generic camellia_generic cast5_generic cast6_generic cfb ctr des_generic \
    khazad lrw md4 ofb pcbc rmd160 seed serpent_generic sha3_generic streebog_generic twofish_generic wp512 xts || true
mkdir /run/v
while read -r number specification bits hash sector; do
    keyslots=512
    [ "$bits" -le 1024 ] || keyslots=9216
    rm -f /run/v/image
    truncate -s $((keyslots + 192))K /run/v/image
    cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 --hash "$hash" \
        --luks2-metadata-size 16k --luks2-keyslots-size ${keyslots}k --offset $((2 * keyslots + 256)) \
        --sector-size "$sector" \
        --cipher "$specification" --key-size "$bits" /run/v/image old 2>/dev/null >&2 || continue
    cryptsetup open --key-file old /run/v/image x 2>/dev/null >&2 || continue
    dd if=plain of=/dev/mapper/x bs=64k count=1 conv=fsync status=none
    cryptsetup close x
    cp --sparse=always /run/v/image "$number.img"
    echo "$number" >>made
done <all
"#;

#[derive(Clone)]
struct Line {
    cipher: String,
    mode: String,
    hash: String,
    bits: u32,
    sector: u32,
}

/// All generators for AES and CAST5, which represent the ciphers with their block length, and a few generators for
/// the others.
fn generators(cipher: &str, chain: &str) -> &'static [&'static str] {
    match (cipher, chain) {
        ("aes" | "cast5" | "xchacha12,aes", _) => &GENERATORS,
        (_, "xts" | "cbc" | "lrw" | "ctr") => &["plain64", "benbi", "null", "essiv:sha256"],
        _ => &["plain64"],
    }
}

fn lines() -> Vec<Line> {
    let line = |cipher: &str, mode: &str, hash: &str, bits| Line {
        cipher: cipher.to_owned(),
        mode: mode.to_owned(),
        hash: hash.to_owned(),
        bits,
        sector: 512,
    };
    let mut all = Vec::new();
    for (cipher, key) in &CIPHERS {
        let wide = cipher.contains(',');
        for chain in CHAINS.iter().filter(|chain| (**chain == "adiantum") == wide) {
            for generator in generators(cipher, chain) {
                let bits = match (*chain, *generator) {
                    // cryptsetup uses the whole key for the IVs of keyslots.
                    ("xts" | "lrw", "eboiv") => *key,
                    ("xts", _) | (_, "elephant") => 2 * key,
                    ("lrw", _) => key + 128,
                    (_, "tcw") => key + 256,
                    _ => *key,
                };
                all.push(line(cipher, &format!("{chain}-{generator}"), "sha256", bits));
            }
        }
        if !wide {
            all.push(line(cipher, "ecb", "sha256", *key));
        }
    }
    let hashes = HASHES.iter().map(|hash| line("aes", "xts-plain64", hash, 512));
    all.extend(hashes);
    for hash in HASHES_OF_ESSIV {
        // The digest must have the length of a key.
        all.extend(
            [128, 192, 256].map(|bits| line("aes", &format!("cbc-essiv:{hash}"), "sha256", bits)),
        );
    }
    for (cipher, mode, bits) in OTHERS {
        all.push(line(cipher, mode, "sha256", bits));
    }
    // In these cases, too, numbers count sectors of 512 bytes, and one generator multiplies them by the larger
    // size.
    let every = |line: &&Line| matches!(line.cipher.as_str(), "aes" | "cast5" | "xchacha12,aes");
    let keyslots = |line: &&Line| line.hash != "sha256";
    let large =
        all.iter().filter(|line| every(line) && !keyslots(line) || line.cipher.contains(':'));
    let large: Vec<_> = large.map(|line| Line { sector: 4096, ..line.clone() }).collect();
    all.extend(large);
    all.into_iter().step_by(if nightly() { 1 } else { 25 }).collect()
}

#[test]
fn whatever_cryptsetup_formats_is_opened_or_refused_by_its_name() {
    let Some(guest) = Guest::new(&[]) else { return };
    let all = lines();
    let plain = noise(5, 64 << 10);
    guest.write("plain", &plain);
    guest.write("old", "old secret");
    guest.write("made", "");
    let listed: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(number, line)| {
            let Line { cipher, mode, hash, bits, sector } = line;
            format!("{number} {cipher}-{mode} {bits} {hash} {sector}\n")
        })
        .collect();
    for part in listed.chunks(A_BOOT) {
        guest.write("all", part.concat());
        guest.boot(&[], SCRIPT);
    }
    let made = String::from_utf8(guest.read("made")).unwrap();
    let made: BTreeSet<usize> = made.lines().map(|line| line.parse().unwrap()).collect();
    let mut cells = BTreeMap::new();
    for (number, line) in all.iter().enumerate() {
        let Line { cipher, mode, hash, .. } = line;
        let what = format!("{cipher}-{mode}, {} bits, {hash}, {}", line.bits, line.sector);
        let cell = if made.contains(&number) {
            let Output { status, stdout, stderr } =
                guest.tried(&format!("dump {number}.img - --passphrase-file old"));
            match status.code() {
                Some(0) => {
                    assert_eq!(first_difference(&stdout, &plain), None, "{what}");
                    "yes"
                }
                code => {
                    let said = text(&stderr);
                    assert_eq!(code, Some(5), "{what}: {said}");
                    assert!(said.contains(&format!("{cipher}-{mode}")), "{what}: {said}");
                    assert!(said.contains("cannot be opened"), "{what}: {said}");
                    "no"
                }
            }
        } else {
            "-"
        };
        let row = match mode.as_str() {
            "xts-plain64" if hash != "sha256" => format!("{mode}, keyslot {hash}"),
            mode => mode.to_owned(),
        };
        let was: &mut &str = cells.entry((row, cipher.clone())).or_insert("-");
        if cell != "-" && *was != "no" {
            *was = cell;
        }
    }
    let opened = cells.values().filter(|cell| **cell == "yes").count();
    assert!(opened > 5, "{opened}");
    cryptbench_prove::count(opened as u64, "ciphers, modes and hashes of the guest's cryptsetup");
    if nightly() {
        held(&table(&cells));
    }
}

/// Modes and hashes that cryptsetup can format with, by cipher.
fn table(cells: &BTreeMap<(String, String), &str>) -> String {
    let made = |cipher: &str| cells.iter().any(|((_, of), cell)| of == cipher && *cell != "-");
    let mut ciphers: Vec<&String> = cells.keys().map(|(_, cipher)| cipher).collect();
    ciphers.sort();
    ciphers.dedup();
    ciphers.retain(|cipher| made(cipher));
    let rows: BTreeSet<&String> = cells.keys().map(|(row, _)| row).collect();
    let mut text = "\n| |".to_owned();
    ciphers.iter().for_each(|cipher| write!(text, " `{cipher}` |").unwrap());
    text += "\n|---|";
    text += &"---|".repeat(ciphers.len());
    for row in rows {
        let of =
            |cipher: &&String| cells.get(&(row.clone(), (*cipher).clone())).copied().unwrap_or("-");
        if ciphers.iter().all(|cipher| of(cipher) == "-") {
            continue;
        }
        write!(text, "\n| `{row}` |").unwrap();
        ciphers.iter().for_each(|cipher| write!(text, " {} |", of(cipher)).unwrap());
    }
    text + "\n\n"
}

/// Compares the page with the table, or writes the page.
fn held(table: &str) {
    const MARK: &str = "<!-- generated: what cryptsetup formats, by the guest's nightly test -->\n";
    const END: &str = "<!-- end of generated -->";
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/luks.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, block) = text.split_once(MARK).expect("the mark");
    let (_, after) = block.split_once(END).expect("the end of the block");
    let made = format!("{before}{MARK}{table}{END}{after}");
    if std::env::var_os("CRYPTBENCH_WRITE").is_some() {
        fs::write(page, made).unwrap();
    } else {
        assert_eq!(text, made, "CRYPTBENCH_WRITE=1 writes it");
    }
}
