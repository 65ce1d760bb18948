//! The kernel's dm-crypt opens, reads and writes what cryptbench creates.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::machine::{Guest, first_difference, noise, of_tier};
use crate::sandbox::{skipped, text};

/// The part of a volume that the guest overwrites: from the eighth sector to the middle of a page.
const PIECE: std::ops::Range<usize> = 4096..4096 + (65 << 10) + 512;

/// A volume: how cryptbench creates it, and how each side opens it.
struct Made {
    name: String,
    /// `cryptbench volume` commands; `V` stands for the volume.
    prepare: Vec<String>,
    /// How cryptbench opens it.
    ours: String,
    /// How `cryptsetup open` opens it, without the passphrase.
    theirs: String,
    /// The file with the passphrase.
    secret: &'static str,
    /// Commands that must succeed in the guest; `$D` is the device.
    before: Vec<&'static str>,
}

impl Made {
    fn new(name: &str, create: String, secret: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            prepare: vec![create],
            ours: String::new(),
            theirs: String::new(),
            secret,
            before: Vec::new(),
        }
    }

    /// Names the PRF on both sides, because trying all of them would take the guest half a minute for each volume.
    fn veracrypt(name: &str, cipher: &str, prf: &str, hash: &str) -> Self {
        let create = format!(
            "create V --size 2MiB --pim 1 --passphrase-file old --cipher {cipher} --prf {prf}"
        );
        Self {
            ours: format!("--pim 1 --prf {prf}"),
            theirs: format!("--type tcrypt --veracrypt-pim 1 --hash {hash}"),
            ..Self::new(name, create, "old")
        }
    }

    fn cascade(cipher: &str) -> Self {
        Self::veracrypt(cipher, cipher, "sha-512", "sha512")
    }

    fn truecrypt(name: &str, options: &str, prf: &str) -> Self {
        let create = format!(
            "create V --format truecrypt --size 2MiB --passphrase-file old --prf {prf} {options}"
        );
        Self {
            ours: format!("--format truecrypt --prf {prf}"),
            theirs: format!("--type tcrypt --disable-veracrypt --hash {}", prf.replace('-', "")),
            ..Self::new(name, create, "old")
        }
    }

    fn luks(name: &str, options: &str) -> Self {
        let size = if name.starts_with("luks1") { "4MiB" } else { "20MiB" };
        let version = &name[..5];
        let create = format!(
            "create V --format {version} --size {size} --unlock-time 1ms --passphrase-file old \
             {options}"
        );
        Self {
            theirs: "--key-file -".to_owned(),
            before: vec![
                "cryptsetup luksDump $D >$name.dump",
                "cryptsetup luksHeaderBackup $D --header-backup-file $name.header",
            ],
            ..Self::new(name, create, "old")
        }
    }

    /// The password is ASCII, because cryptsetup before 2.8.1 hashes too many bytes of others.
    fn bitlocker(name: &str, options: &str) -> Self {
        let create = format!(
            "create V --format bitlocker --size 4MiB --passphrase-file new \
             --recovery-password-file recovery {options}"
        );
        Self {
            theirs: "--type bitlk".to_owned(),
            before: vec![
                "opens --type bitlk $D <recovery",
                "refused --type bitlk $D <old",
                "cryptsetup bitlkDump $D >$name.dump",
            ],
            ..Self::new(name, create, "new")
        }
    }

    /// Adds a `cryptbench volume` command, after which `secret` opens the volume.
    fn then(mut self, command: &str, secret: &'static str) -> Self {
        self.prepare.push(command.to_owned());
        self.secret = secret;
        self
    }

    fn opened(mut self, ours: &str, theirs: &str) -> Self {
        ours.clone_into(&mut self.ours);
        theirs.clone_into(&mut self.theirs);
        self
    }

    fn before(mut self, command: &'static str) -> Self {
        self.before.push(command);
        self
    }

    /// The options that open it on the host.
    fn unlock(&self) -> String {
        format!("--passphrase-file {} {}", self.secret, self.ours)
    }
}

fn veracrypt() -> Vec<Made> {
    let mut made = vec![
        Made::veracrypt("aes", "aes-256-xts", "sha-512", "sha512")
            .before("refused --type tcrypt --veracrypt-pim 1 --hash sha512 $D <new")
            .before("opens --type tcrypt --veracrypt-pim 1 --hash sha512 --tcrypt-backup $D <old"),
        Made::veracrypt("serpent-sha-256", "serpent-256-xts", "sha-256", "sha256"),
        Made::veracrypt("twofish-whirlpool", "twofish-256-xts", "whirlpool", "whirlpool"),
        // The cryptsetup of Debian 12 supports neither BLAKE2s nor Streebog.
        Made::veracrypt("camellia", "camellia-256-xts", "sha-512", "sha512"),
        Made::veracrypt("key-changed", "serpent-256-xts", "sha-512", "sha512")
            .then(
                "key change V --passphrase-file old --pim 1 --prf sha-512 --new-passphrase-file new \
                 --new-pim 2 --new-prf sha-256",
                "new",
            )
            .opened("--pim 2 --prf sha-256", "--type tcrypt --veracrypt-pim 2 --hash sha256")
            .before("opens --type tcrypt --veracrypt-pim 2 --hash sha256 --tcrypt-backup $D <new")
            .before("refused --type tcrypt --veracrypt-pim 1 --hash sha512 $D <old"),
        Made::veracrypt("hidden", "aes-256-xts", "sha-512", "sha512")
            .then(
                "create V --hidden --size 1MiB --pim 1 --passphrase-file new \
                 --cipher twofish-256-xts --outer-passphrase-file old --outer-pim 1 --destroy V",
                "new",
            )
            .opened(
                "--pim 1 --prf sha-512 --hidden",
                "--type tcrypt --veracrypt-pim 1 --hash sha512 --tcrypt-hidden",
            ),
    ];
    let mut keyfile = Made::veracrypt("key-file", "aes-256-xts", "sha-512", "sha512");
    keyfile.prepare[0].push_str(" --keyfile key");
    keyfile.ours.push_str(" --keyfile key");
    keyfile.theirs.push_str(" --key-file key");
    made.push(keyfile);
    made.extend(
        [
            "aes-twofish-xts",
            "aes-twofish-serpent-xts",
            "serpent-aes-xts",
            "serpent-twofish-aes-xts",
            "twofish-serpent-xts",
            "camellia-serpent-xts",
        ]
        .map(Made::cascade),
    );
    made
}

fn truecrypt() -> Vec<Made> {
    vec![
        Made::truecrypt("truecrypt", "", "ripemd-160"),
        Made::truecrypt("truecrypt-cascade", "--cipher twofish-serpent-xts", "sha-512"),
        Made::truecrypt("truecrypt-hidden", "--cipher serpent-256-xts", "sha-512")
            .then(
                "create V --format truecrypt --hidden --size 1MiB --prf whirlpool \
                 --passphrase-file new --cipher serpent-twofish-aes-xts \
                 --outer-passphrase-file old --destroy V",
                "new",
            )
            .opened(
                "--format truecrypt --prf whirlpool --hidden",
                "--type tcrypt --disable-veracrypt --hash whirlpool --tcrypt-hidden",
            ),
    ]
}

fn luks1() -> Vec<Made> {
    vec![
        Made::luks("luks1-aes", ""),
        Made::luks("luks1-aes-128", "--cipher aes-128-xts --prf sha-512"),
        Made::luks("luks1-serpent", "--cipher serpent-256-xts --prf ripemd-160"),
        Made::luks("luks1-twofish", "--cipher twofish-256-xts --prf sha-1"),
        Made::luks("luks1-cbc-essiv", "--cipher aes-cbc-essiv:sha256 --prf whirlpool"),
        Made::luks("luks1-camellia-cbc", "--cipher camellia-cbc-plain64"),
        Made::luks("luks1-adiantum", "--cipher adiantum-12 --prf sha3-512"),
        Made::luks("luks1-lmk", "--cipher serpent-cbc-lmk --prf sm3"),
        Made::luks("luks1-keys", "")
            .then("key add V --passphrase-file old --new-keyfile key --unlock-time 1ms", "old")
            .then(CHANGE, "new")
            .before("opens --key-file key $D")
            .before("refused --key-file old $D"),
    ]
}

const CHANGE: &str =
    "key change V --passphrase-file old --new-passphrase-file new --unlock-time 1ms";

fn luks2() -> Vec<Made> {
    vec![
        Made::luks("luks2-512", "--sector-size 512 --label one"),
        Made::luks("luks2-4096", "--sector-size 4096 --prf sha-512"),
        Made::luks("luks2-1024-essiv", "--sector-size 1024 --cipher twofish-cbc-essiv:sha256"),
        Made::luks("luks2-serpent", "--cipher serpent-256-xts --prf sha-256"),
        Made::luks("luks2-camellia", "--cipher camellia-256-xts --sector-size 2048"),
        Made::luks("luks2-adiantum", "--cipher adiantum --sector-size 4096 --prf blake2b-512"),
        Made::luks("luks2-keys", "")
            .then(
                "key add V --passphrase-file old --new-keyfile key --new-prf sha-512 \
                 --unlock-time 1ms",
                "old",
            )
            .then(CHANGE, "new")
            .before("opens --key-file key $D")
            .before("refused --key-file old $D"),
    ]
}

#[test]
fn dm_crypt_reads_and_writes_our_veracrypt_and_truecrypt_volumes() {
    let mut made = veracrypt();
    made.extend(truecrypt());
    through_the_kernel(&of_tier(
        made,
        |made| &made.name,
        &[
            "aes",
            "twofish-whirlpool",
            "key-changed",
            "hidden",
            "key-file",
            "serpent-twofish-aes-xts",
            "truecrypt",
            "truecrypt-hidden",
        ],
    ));
}

#[test]
fn dm_crypt_reads_and_writes_our_luks_volumes() {
    let mut made = luks1();
    made.extend(luks2());
    through_the_kernel(&of_tier(
        made,
        |made| &made.name,
        &[
            "luks1-serpent",
            "luks1-cbc-essiv",
            "luks1-keys",
            "luks1-lmk",
            "luks2-adiantum",
            "luks2-512",
            "luks2-1024-essiv",
            "luks2-keys",
        ],
    ));
}

#[test]
fn dm_crypt_reads_and_writes_our_bitlocker_volumes() {
    let made = vec![
        Made::bitlocker("bitlocker-xts-128", ""),
        Made::bitlocker("bitlocker-xts-256", "--cipher aes-256-xts --sector-size 4096"),
        Made::bitlocker("bitlocker-cbc-128", "--cipher aes-128-cbc --sector-size 4096"),
        Made::bitlocker("bitlocker-cbc-256", "--cipher aes-256-cbc"),
        Made::bitlocker("bitlocker-elephant-128", "--cipher aes-128-cbc-elephant"),
        Made::bitlocker("bitlocker-elephant-256", "--cipher aes-256-cbc-elephant"),
    ];
    through_the_kernel(&of_tier(
        made,
        |made| &made.name,
        &["bitlocker-xts-256", "bitlocker-cbc-128", "bitlocker-elephant-128"],
    ));
}

/// Functions of the guest's script.
const SCRIPT: &str = r#"
opens() { cryptsetup open --test-passphrase "$@" || { echo "$name: not opened: $*"; return 1; }; }
refused() {
    local code=0
    cryptsetup open --test-passphrase "$@" 2>/dev/null || code=$?
    # 2: no permission, that is, a wrong passphrase.
    [ $code = 2 ] || { echo "$name: exit code $code instead of 2: $*"; return 1; }
}
through() {
    cryptsetup open "$@" "$D" x <"$secret"
    cat /dev/mapper/x >"$name.plain"
    dd if=piece of=/dev/mapper/x bs=512 seek=8 conv=notrunc,fsync status=none
    cryptsetup close x
}
"#;

fn through_the_kernel(made: &[Made]) {
    let Some(guest) = Guest::new(&[]) else { return };
    guest.write("old", b"old \xc3\xa4 secret");
    guest.write("new", b"new secret");
    guest.write("key", noise(1, 300));
    guest.write("recovery", "471207-278498-422125-177177-561902-537405-468006-693451");
    let piece = noise(2, PIECE.len());
    guest.write("piece", &piece);
    let mut script = SCRIPT.to_owned();
    let mut expected = Vec::new();
    for (made, disk) in made.iter().zip('a'..) {
        let Made { name, theirs, secret, .. } = made;
        for command in &made.prepare {
            let words: Vec<_> =
                command.split(' ').map(|w| if w == "V" { name } else { w }).collect();
            guest.volume(&words.join(" "));
        }
        expected.push(write_all(&guest, made));
        script.push_str(&format!("name={name} secret={secret} D=/dev/ubd{disk}\n"));
        script.extend(made.before.iter().map(|command| format!("{command}\n")));
        script.push_str(&format!("through {theirs}\n"));
    }
    let disks: Vec<_> = made.iter().map(|made| made.name.as_str()).collect();
    guest.boot(&disks, &script);
    for (made, mut plain) in made.iter().zip(expected) {
        let name = &made.name;
        let there = guest.read(&format!("{name}.plain"));
        assert_eq!(first_difference(&there, &plain), None, "{name}: read through dm-crypt");
        plain[PIECE].copy_from_slice(&piece);
        let here = guest.volume(&format!("dump {name} - {}", made.unlock()));
        assert_eq!(first_difference(&here, &plain), None, "{name}: written through dm-crypt");
        if name.starts_with("luks") {
            same_header(&guest, made);
        }
    }
}

/// If this user may mount, fills a volume with known bytes through cryptbench. Returns the contents of the volume.
fn write_all(guest: &Guest, made: &Made) -> Vec<u8> {
    let Made { name, .. } = made;
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        skipped("writing through cryptbench needs root and /dev/fuse");
        return guest.volume(&format!("dump {name} - {}", made.unlock()));
    }
    // Nobody else reads it while it is mounted.
    let usable = usable(guest, name);
    let mountpoint = guest.path("mnt");
    fs::create_dir_all(&mountpoint).unwrap();
    guest.volume(&format!("mount {name} mnt --raw {}", made.unlock()));
    // `fs::write` would truncate the file.
    let mut file = fs::File::options().write(true).open(mountpoint.join("volume")).unwrap();
    let whole = file.metadata().unwrap().len() as usize;
    let usable = usable.unwrap_or(whole);
    let mut plain = noise(name.len() as u64, usable);
    file.write_all(&plain).unwrap();
    drop(file);
    guest.volume("umount mnt");
    if usable < whole {
        let all = guest.volume(&format!("dump {name} - {}", made.unlock()));
        plain.extend_from_slice(&all[usable..]);
    }
    plain
}

/// Number of bytes before BitLocker's metadata, which cannot be overwritten.
fn usable(guest: &Guest, name: &str) -> Option<usize> {
    if !name.starts_with("bitlocker") {
        return None;
    }
    let info: serde_json::Value =
        serde_json::from_slice(&guest.volume(&format!("info {name} --json"))).unwrap();
    Some(info["bitlocker"]["copies"][0][0].as_u64().unwrap() as usize)
}

/// cryptsetup and cryptbench see the same header, and their backups are identical.
fn same_header(guest: &Guest, made: &Made) {
    let Made { name, .. } = made;
    guest.volume(&format!("header-backup {name} {name}.ours"));
    let mut theirs = guest.read(&format!("{name}.header"));
    let mut ours = guest.read(&format!("{name}.ours"));
    assert_eq!(theirs.len(), ours.len(), "{name}: header backups");
    if name.starts_with("luks1") {
        // From the end of the last keyslot, cryptsetup fills the last page with zeros.
        let page = ours.len() - 4096;
        theirs.truncate(page);
        ours.truncate(page);
    }
    assert_eq!(first_difference(&theirs, &ours), None, "{name}: header backups");
    let info: serde_json::Value =
        serde_json::from_slice(&guest.volume(&format!("info {name} --json"))).unwrap();
    let uuid = info["luks"]["uuid"].as_str().unwrap();
    let dump = text(&guest.read(&format!("{name}.dump")));
    assert!(dump.contains(uuid), "{name}: no UUID {uuid} in {dump}");
}
