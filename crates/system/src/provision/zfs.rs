//! What ZFS reports about its encryption, which the kernel's list of mounts does not contain, and about its
//! cipher code.
#![expect(clippy::disallowed_methods, reason = "files of /proc and /sys, devices")]

use std::fs;
use std::time::Duration;

use crate::command::Invocation;
use crate::machine::Machine;

/// The program answers from memory; if it takes longer, it is assumed to hang.
const LIMIT: Duration = Duration::from_secs(10);

/// The cipher of `dataset` (zfsprops(7), `encryption`); `None` if it is not encrypted, or the program does not
/// report it.
pub fn zfs_encryption(dataset: &str) -> Option<String> {
    property(dataset, "encryption").filter(|value| !matches!(value.as_str(), "off" | "-"))
}

/// The compression of `dataset` (zfsprops(7), `compression`), `off` if it is not compressed; `None` if the
/// program does not report it.
pub fn zfs_compression(dataset: &str) -> Option<String> {
    property(dataset, "compression")
}

fn property(dataset: &str, name: &str) -> Option<String> {
    let asked = Invocation::new("zfs").args(["get", "-H", "-o", "value", name, dataset]);
    let said = asked.run(&Machine::this(), LIMIT).ok()?;
    Some(said.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The modules with ZFS's ciphers: `zfs` itself since OpenZFS 2.2, and before that a separate module.
const MODULES: [&str; 2] = ["zfs", "icp"];

/// The implementations of AES and GCM, fastest first: `fastest` selects the first that the machine supports
/// (OpenZFS, module/icp/algs/aes/aes_impl.c and algs/modes/gcm.c).
const AES: [&str; 3] = ["aesni", "x86_64", "generic"];
const GCM: [&str; 4] = ["avx2", "avx", "pclmulqdq", "generic"];

/// The code that encrypts `dataset`, such as `aes-aesni (ICP) + gcm-avx (ICP)`; `None` if it is not encrypted,
/// or the module does not report it. GCM with AVX includes AES.
pub(crate) fn zfs_driver(dataset: &str) -> Option<String> {
    zfs_code(&zfs_encryption(dataset)?)
}

/// The code that encrypts with `cipher`.
pub(crate) fn zfs_code(cipher: &str) -> Option<String> {
    let aes = in_use("icp_aes_impl", &AES)?;
    let aes = format!("aes-{aes} (ICP)");
    match cipher.contains("ccm") {
        true => Some(aes),
        false => Some(format!("{aes} + gcm-{} (ICP)", in_use("icp_gcm_impl", &GCM)?)),
    }
}

/// The value of a parameter, which must be one of `known`. The parameter's text is `cycle [fastest] generic
/// x86_64 aesni`.
fn in_use(parameter: &str, known: &[&str]) -> Option<String> {
    let loaded = Machine::this().loaded;
    let file = |module: &str| loaded.join(module).join("parameters").join(parameter);
    let text = MODULES.iter().find_map(|module| fs::read_to_string(file(module)).ok())?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let chosen = words.iter().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))?;
    match chosen {
        "fastest" => known.iter().find(|name| words.contains(name)).map(|name| (*name).to_owned()),
        other => Some(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_dataset_is_encrypted_if_its_program_names_a_cipher() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("zfs");
        let words = "#!/bin/sh\n[ \"$*\" = \"get -H -o value encryption $WANTED\" ] || exit 1\n";
        let said = |dataset: &str, value: &str| {
            let text = words.replace("$WANTED", dataset) + &format!("echo '{value}'\n");
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
            Machine::pretend(Some(Machine { path: place.path().into(), ..Machine::this() }));
            let found = zfs_encryption("tank/home");
            Machine::pretend(None);
            found
        };
        assert_eq!(said("tank/home", "aes-256-gcm").as_deref(), Some("aes-256-gcm"));
        assert_eq!((said("tank/home", "off"), said("tank/home", "-")), (None, None));
        assert_eq!(said("tank/other", "aes-256-gcm"), None, "the program failed");
    }
    #[test]
    fn the_code_in_use_is_the_one_that_the_module_chose() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("zfs");
        let says = |cipher: &str| {
            fs::write(&program, format!("#!/bin/sh\necho {cipher}\n")).unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        };
        let told = |module: &str, aes: &str, gcm: &str| {
            let loaded = tempfile::tempdir().unwrap();
            let parameters = loaded.path().join(module).join("parameters");
            fs::create_dir_all(&parameters).unwrap();
            fs::write(parameters.join("icp_aes_impl"), aes).unwrap();
            fs::write(parameters.join("icp_gcm_impl"), gcm).unwrap();
            let path = place.path().into();
            let loaded = loaded.path().into();
            Machine::pretend(Some(Machine { path, loaded, ..Machine::this() }));
            let found = zfs_driver("tank/home");
            Machine::pretend(None);
            found
        };
        let (aes, gcm) =
            ("cycle [fastest] generic x86_64 aesni\n", "cycle [fastest] avx generic pclmulqdq\n");
        says("aes-256-gcm");
        let fast = Some("aes-aesni (ICP) + gcm-avx (ICP)");
        assert_eq!(told("zfs", aes, gcm).as_deref(), fast);
        assert_eq!(told("icp", aes, gcm).as_deref(), fast, "as before OpenZFS 2.2");
        // As on kernels that reserve vector registers for GPL modules.
        let slow = told("zfs", "cycle [fastest] generic x86_64\n", "cycle [fastest] generic\n");
        assert_eq!(slow.as_deref(), Some("aes-x86_64 (ICP) + gcm-generic (ICP)"));
        let asked = told("zfs", "cycle fastest [generic] x86_64 aesni\n", gcm);
        assert_eq!(asked.as_deref(), Some("aes-generic (ICP) + gcm-avx (ICP)"));
        says("aes-128-ccm");
        assert_eq!(told("zfs", aes, gcm).as_deref(), Some("aes-aesni (ICP)"));
        says("off");
        assert_eq!(told("zfs", aes, gcm), None);
        says("aes-256-gcm");
        assert_eq!(told("other", aes, gcm), None);
    }
}
