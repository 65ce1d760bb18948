//! cryptbench opens what cryptsetup and tcplay create.

use crate::machine::{Guest, first_difference, noise, of_tier};

/// A volume that the guest creates on `$D`, and how each side opens it.
struct Theirs {
    name: &'static str,
    megabytes: u64,
    /// How it is created.
    make: String,
    /// How the guest opens it as /dev/mapper/x, with the passphrase on standard input.
    theirs: String,
    /// The file with the passphrase.
    secret: &'static str,
    /// cryptbench can open it in each of these ways.
    ours: Vec<&'static str>,
}

/// A LUKS volume that cryptsetup creates with these options; unlocking it takes little time.
fn luks(name: &'static str, options: &str) -> Theirs {
    let (version, megabytes) = if name.starts_with("luks1") { ("luks1", 4) } else { ("luks2", 20) };
    let cost = if options.contains("--pbkdf argon2") {
        "--pbkdf-force-iterations 4 --pbkdf-memory 64 --pbkdf-parallel 2"
    } else {
        "--pbkdf-force-iterations 1000"
    };
    Theirs {
        name,
        megabytes,
        make: format!("cryptsetup -q luksFormat --type {version} {options} {cost} $D old"),
        theirs: "cryptsetup open --key-file - $D x".to_owned(),
        secret: "old",
        ours: vec!["--passphrase-file old"],
    }
}

fn all_luks() -> Vec<Theirs> {
    let mut all = vec![
        luks("luks1-xts", ""),
        luks("luks1-serpent", "--cipher serpent-xts-plain64 --key-size 256 --hash sha512"),
        luks("luks1-essiv", "--cipher twofish-cbc-essiv:sha256 --key-size 256 --hash ripemd160"),
        luks("luks1-cbc-plain", "--cipher aes-cbc-plain --key-size 128 --hash sha1"),
        luks("luks1-lrw", "--cipher aes-lrw-plain64 --key-size 256"),
        luks(
            "luks1-aligned",
            "--align-payload 5000 --hash whirlpool --cipher camellia-xts-plain64",
        ),
        luks("luks2-argon2id", "--pbkdf argon2id"),
        luks("luks2-argon2i", "--pbkdf argon2i --sector-size 4096"),
        luks("luks2-pbkdf2", "--pbkdf pbkdf2 --hash sha512 --sector-size 512"),
        luks("luks2-1024", "--pbkdf pbkdf2 --sector-size 1024 --cipher serpent-xts-plain64"),
        luks(
            "luks2-2048",
            "--pbkdf pbkdf2 --sector-size 2048 --cipher twofish-cbc-essiv:sha256 --key-size 256",
        ),
        luks(
            "luks2-sizes",
            "--pbkdf pbkdf2 --luks2-metadata-size 64k --luks2-keyslots-size 4m --offset 20000 \
             --label two",
        ),
    ];
    let mut detached = luks("luks2-detached", "--pbkdf pbkdf2 --header detached");
    detached.theirs = "cryptsetup open --key-file - --header detached $D x".to_owned();
    detached.ours = vec!["--passphrase-file old --header detached"];
    all.push(detached);
    for made in [luks("luks1-keys", ""), luks("luks2-keys", "--pbkdf pbkdf2")] {
        let make = made.make
            + "
cryptsetup luksAddKey --key-file old --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
    --new-key-slot 5 $D key
cryptsetup luksAddKey --key-file old --pbkdf-force-iterations 1000 --pbkdf pbkdf2 \
    --hash sha512 $D new
cryptsetup luksRemoveKey $D old";
        all.push(Theirs {
            make,
            secret: "key",
            ours: vec!["--passphrase-file new", "--keyfile key"],
            ..made
        });
    }
    all
}

/// Ciphers, modes and IV generators that are rarely used.
fn rare_luks() -> Vec<Theirs> {
    vec![
        luks("luks1-adiantum-12", "--cipher xchacha12,aes-adiantum-plain64 --key-size 256"),
        luks(
            "luks2-adiantum-20",
            "--pbkdf pbkdf2 --cipher xchacha20,aes-adiantum-plain64 --key-size 256 --sector-size 4096",
        ),
        luks("luks1-benbi", "--cipher aes-xts-benbi --key-size 256 --hash sha3-256"),
        luks(
            "luks2-benbi",
            "--pbkdf pbkdf2 --cipher aes-cbc-benbi --key-size 256 --sector-size 4096",
        ),
        luks("luks1-null", "--cipher serpent-cbc-null --key-size 128"),
        luks("luks1-lmk", "--cipher aes-cbc-lmk --key-size 256"),
        luks("luks1-lmk-narrow", "--cipher blowfish-cbc-lmk --key-size 128"),
        luks("luks1-lmk-two", "--cipher aes:2-cbc-lmk --key-size 512"),
        large(luks("luks1-lmk-seed", "--cipher aes:64-cbc-lmk --key-size 8320"), 50),
        large(
            luks(
                "luks2-lmk-seed",
                "--pbkdf pbkdf2 --sector-size 512 --cipher aes:64-cbc-lmk --key-size 16640",
            ),
            36,
        ),
        luks("luks1-eboiv", "--cipher anubis-pcbc-eboiv --key-size 320"),
        in_the_clear(),
        luks("luks1-tomb", "--cipher aes-xts-plain64:sha256 --key-size 512"),
        luks("luks1-capi", "--cipher 'capi:xts(ecb(aes-generic))-plain64' --key-size 256"),
        luks(
            "luks2-ctr",
            "--pbkdf pbkdf2 --cipher aes-ctr-plain64be --key-size 256 --sector-size 512",
        ),
        luks("luks1-cfb", "--cipher cast5-cfb-plain64 --key-size 128"),
        luks("luks1-ofb", "--cipher camellia-ofb-essiv:sha256 --key-size 256"),
        luks("luks1-pcbc", "--cipher aes-pcbc-plain --key-size 192 --hash sm3"),
        luks("luks1-ecb", "--cipher aes-ecb --key-size 256 --hash blake2b-512"),
    ]
}

/// The same for a volume whose keyslots need more space.
fn large(theirs: Theirs, megabytes: u64) -> Theirs {
    Theirs { megabytes, ..theirs }
}

/// LUKS1 without encryption. cryptsetup opens it only with the empty passphrase.
fn in_the_clear() -> Theirs {
    let null = luks("luks1-cipher-null", "--cipher cipher_null-ecb --key-size 128");
    // If this command opened the volume, the volume could not be opened again.
    let refused = "cryptsetup open --key-file old $D x || true";
    Theirs {
        make: format!("{}\n{refused}", null.make.replace("$D old", "$D empty")),
        theirs: "cryptsetup open --key-file empty $D x".to_owned(),
        secret: "empty",
        ours: vec!["--passphrase-file empty"],
        ..null
    }
}

/// A TrueCrypt volume that tcplay creates. The PRF is named, because trying all of them would take the guest 7 s
/// for each volume.
fn tcplay(name: &'static str, cipher: &str, prf: &str) -> Theirs {
    created(name, &format!("-b {cipher} -a {prf}"), ONCE, prf)
}

fn created(name: &'static str, options: &str, answers: &str, prf: &str) -> Theirs {
    let hash = prf.to_lowercase();
    Theirs {
        name,
        megabytes: 4,
        make: format!("answer {answers} '(y/n) ' y -- tcplay -c -d $D -w -z {options}"),
        theirs: format!("cryptsetup open --type tcrypt --disable-veracrypt --hash {hash} $D x"),
        secret: "old",
        ours: vec!["--passphrase-file old --format truecrypt"],
    }
}

/// The questions that tcplay asks when it creates a volume.
const ONCE: &str = "'phrase: ' old 'phrase: ' old";
const WITH_HIDDEN: &str =
    "'phrase: ' old 'phrase: ' old 'volume: ' new 'phrase: ' new '127M): ' 1M";

/// An outer and a hidden volume. Either is opened with its own PRF.
fn with_hidden(name: &'static str, prf: &str) -> Theirs {
    let options = "-g -b SERPENT-256-XTS -a SHA512 -y TWOFISH-256-XTS,AES-256-XTS -x whirlpool";
    created(name, options, WITH_HIDDEN, prf)
}

fn all_tcplay() -> Vec<Theirs> {
    let mut keyfile = created("key-file", "-k key -a SHA512", ONCE, "SHA512");
    keyfile.theirs.push_str(" --key-file key");
    keyfile.ours = vec!["--passphrase-file old --keyfile key --format truecrypt"];
    let mut hidden = with_hidden("hidden", "whirlpool");
    hidden.theirs.push_str(" --tcrypt-hidden");
    hidden.secret = "new";
    hidden.ours = vec!["--passphrase-file new --hidden --format truecrypt"];
    let mut changed = created("key-changed", "-a RIPEMD160", ONCE, "SHA512");
    changed.make.push_str(
        "\nanswer 'phrase: ' old 'phrase: ' new 'phrase: ' new \
         -- tcplay --modify -d $D --new-pbkdf-prf=SHA512 -w",
    );
    changed.secret = "new";
    changed.ours = vec![
        "--passphrase-file new --format truecrypt",
        "--passphrase-file new --format truecrypt --backup-header",
    ];
    vec![
        tcplay("aes", "AES-256-XTS", "RIPEMD160"),
        tcplay("serpent", "SERPENT-256-XTS", "SHA512"),
        tcplay("twofish", "TWOFISH-256-XTS", "whirlpool"),
        tcplay("aes-twofish-serpent", "AES-256-XTS,TWOFISH-256-XTS,SERPENT-256-XTS", "SHA512"),
        tcplay("serpent-twofish-aes", "SERPENT-256-XTS,TWOFISH-256-XTS,AES-256-XTS", "RIPEMD160"),
        tcplay("twofish-aes", "TWOFISH-256-XTS,AES-256-XTS", "SHA512"),
        tcplay("aes-serpent", "AES-256-XTS,SERPENT-256-XTS", "whirlpool"),
        tcplay("serpent-twofish", "SERPENT-256-XTS,TWOFISH-256-XTS", "RIPEMD160"),
        keyfile,
        with_hidden("outer", "SHA512"),
        hidden,
        changed,
    ]
}

#[test]
fn we_read_the_luks_volumes_of_cryptsetup() {
    let Some(guest) = Guest::new(&[]) else { return };
    let quick = [
        "luks1-serpent",
        "luks1-essiv",
        "luks1-lrw",
        "luks2-argon2id",
        "luks2-1024",
        "luks2-sizes",
        "luks2-detached",
        "luks2-keys",
    ];
    from_the_kernel(&guest, &of_tier(all_luks(), |theirs| theirs.name, &quick));
}

#[test]
fn we_read_what_few_volumes_of_cryptsetup_have() {
    let Some(guest) = Guest::new(&[]) else { return };
    let quick = [
        "luks2-adiantum-20",
        "luks1-benbi",
        "luks1-lmk",
        "luks1-lmk-seed",
        "luks1-eboiv",
        "luks1-cipher-null",
        "luks1-capi",
    ];
    // A guest has 16 disks.
    for part in of_tier(rare_luks(), |theirs| theirs.name, &quick).chunks(16) {
        from_the_kernel(&guest, part);
    }
}

#[test]
fn we_read_the_truecrypt_volumes_of_tcplay() {
    let Some(guest) = Guest::new(&[("/usr/sbin/tcplay", "tcplay")]) else { return };
    let quick = ["aes", "serpent-twofish-aes", "twofish-aes", "key-file", "hidden", "key-changed"];
    from_the_kernel(&guest, &of_tier(all_tcplay(), |theirs| theirs.name, &quick));
}

/// Functions of the guest's script.
const SCRIPT: &str = r#"
# answer PROMPT FILE ... -- PROGRAM ...: gives the content of each file, or the word where there is no such
# file, once the program has printed the prompt. tcplay wants its lines one by one, each in a read of its own.
answer() {
    local answers=() said character
    while [ "$1" != -- ]; do answers+=("$1"); shift; done
    shift
    coproc TALK { setsid "$@" 2>&1; }
    local process=$TALK_PID from to line
    # bash closes its own as soon as the program ends.
    exec {from}<&"${TALK[0]}" {to}>&"${TALK[1]}"
    set -- "${answers[@]}"
    while [ $# -gt 0 ]; do
        said=
        while [[ $said != *"$1" ]]; do
            IFS= read -r -t 60 -n 1 -d '' -u "$from" character || { echo "said: $said"; return 1; }
            said=$said$character
        done
        if [ -f "$2" ]; then line=$(cat "$2"); else line=$2; fi
        echo "$line" >&"$to"
        shift 2
    done
    cat <&"$from" >"$name.said" || true
    exec {from}<&- {to}>&-
    wait "$process"
}
fill() {
    local bytes
    bytes=$(blockdev --getsize64 /dev/mapper/x)
    echo "$bytes" >"$name.size"
    head -c "$bytes" plain | dd of=/dev/mapper/x bs=64k iflag=fullblock conv=fsync status=none
    cryptsetup close x
}
"#;

fn from_the_kernel(guest: &Guest, all: &[Theirs]) {
    guest.write("old", b"old secret");
    guest.write("new", b"new secret");
    guest.write("empty", b"");
    guest.write("key", noise(3, 300));
    let plain = noise(4, 21 << 20);
    guest.write("plain", &plain);
    let mut script = SCRIPT.to_owned();
    for (Theirs { name, megabytes, make, theirs, secret, .. }, disk) in all.iter().zip('a'..) {
        guest.disk(name, megabytes << 20);
        script
            .push_str(&format!("name={name} D=/dev/ubd{disk}\n{make}\n{theirs} <{secret}\nfill\n"));
    }
    let disks: Vec<_> = all.iter().map(|theirs| theirs.name).collect();
    guest.boot(&disks, &script);
    for Theirs { name, ours, .. } in all {
        let size = String::from_utf8(guest.read(&format!("{name}.size"))).unwrap();
        let expected = &plain[..size.trim().parse().unwrap()];
        for unlock in ours {
            let here = guest.volume(&format!("dump {name} - {unlock}"));
            assert_eq!(first_difference(&here, expected), None, "{name} {unlock}");
        }
    }
}
