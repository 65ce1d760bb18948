//! Directories that the guest's kernel writes with eCryptfs and cryptbench reads on the host.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::{Guest, of_tier};

const PROGRAMS: &[(&str, &str)] = &[
    ("/usr/bin/ecryptfs-add-passphrase", "ecryptfs-utils"),
    ("/usr/bin/ecryptfs-wrap-passphrase", "ecryptfs-utils"),
    ("/usr/bin/keyctl", "keyutils"),
];

/// Files of every length close to an extent's, which are written in pieces, truncated and extended, and the longest
/// possible names and links.
const SCRIPT: &str = r#"
./modprobe -a encrypted-keys ecryptfs md5 twofish_generic cast5_generic cast6_generic blowfish_generic des_generic
keyctl link @u @s
printf 'mount pass\nlogin pass' | ecryptfs-wrap-passphrase wrapped -
seq 1 200000 >/tmp/numbers
for name in $NAMES; do
    cipher=${name%-*} bytes=${name#*-}
    mkdir -p /run/$name/lower /run/$name/upper
    keys=$(printf 'mount pass' | ecryptfs-add-passphrase --fnek - | grep -o '\[[0-9a-f]*\]' | tr -d '[]')
    set -- $keys
    options=ecryptfs_sig=$1,ecryptfs_fnek_sig=$2,ecryptfs_cipher=$cipher,ecryptfs_key_bytes=$bytes
    options=$options,ecryptfs_fn_key_bytes=$bytes
    mount -i -t ecryptfs -o $options /run/$name/lower /run/$name/upper
    (
        cd /run/$name/upper
        for n in 0 1 4095 4096 4097 8191 8192 8193 300000 1000000; do head -c $n /tmp/numbers >"$n"; done
        mkdir -p deep/er/and/deeper "with spaces"
        head -c 9000 /tmp/numbers >deep/er/cut; truncate -s 5000 deep/er/cut
        head -c 10 /tmp/numbers >deep/er/grown; truncate -s 20000 deep/er/grown
        dd if=/tmp/numbers of=deep/er/and/pieces bs=1000 seek=7 count=20 status=none
        dd if=/tmp/numbers of=deep/er/and/pieces bs=1000 seek=3 count=2 conv=notrunc status=none
        for n in 1 15 16 17 31 32 33 100 143; do echo $n >"with spaces/$(printf "%${n}s" '' | tr ' ' x)"; done
        ln -s "/$(printf 'y%.0s' $(seq 1 600))" long-link; ln -s . deep/here; ln -s ../0 deep/up
        printf 'ä\n' >"ümläut und € $(printf '\001\177')"
    )
    umount /run/$name/upper
    mount -i -t ecryptfs -o $options /run/$name/lower /run/$name/upper
    tar --format=pax -C /run/$name -cf $name.tar upper lower
    umount /run/$name/upper
done
"#;

/// The files and links below a directory.
fn contents(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let content = if path.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if path.is_dir() {
                directories.push(path.clone());
                b"/".to_vec()
            } else {
                fs::read(&path).unwrap()
            };
            all.insert(path.strip_prefix(root).unwrap().to_owned(), content);
        }
    }
    all
}

#[test]
fn what_the_kernel_writes_is_read_without_it() {
    let all = vec![
        "aes-16",
        "aes-24",
        "aes-32",
        "twofish-16",
        "twofish-32",
        "cast5-16",
        "cast6-32",
        "blowfish-16",
        "blowfish-56",
        "des3_ede-24",
    ];
    let names = of_tier(all, |name| name, &["aes-16", "aes-32", "twofish-32", "blowfish-56"]);
    let Some(guest) = Guest::new(PROGRAMS) else { return };
    guest.boot(&[], &format!("NAMES='{}'\n{SCRIPT}", names.join(" ")));
    guest.write("login", "login pass");
    for name in names {
        let place = guest.path(name);
        fs::create_dir(&place).unwrap();
        let tar = guest.path(&format!("{name}.tar"));
        let done = Command::new("tar").arg("-xf").arg(tar).current_dir(&place).status().unwrap();
        assert!(done.success());
        let words = "--passphrase-file login --wrapped-passphrase wrapped";
        guest.volume(&format!("dump {name}/lower {name}/ours {words}"));
        let (theirs, ours) = (contents(&place.join("upper")), contents(&place.join("ours")));
        assert_eq!(theirs.len(), 31, "{name}");
        let same = theirs.keys().eq(ours.keys());
        assert!(same, "{name}: {:?} and {:?}", theirs.keys(), ours.keys());
        for (path, content) in &theirs {
            assert!(ours[path] == *content, "{name}: {}", path.display());
        }
    }
}
