//! A fleet over ssh: a real server on the loopback address, and the script that `fleet plan` writes for it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::disk::did;
use crate::sandbox::{Sandbox, skipped, text};

/// A server; dropping it stops it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_fleet_by_ssh_measures_fetches_and_names_what_cannot_be_reached() {
    if !["/usr/sbin/sshd", "/usr/bin/ssh"].iter().all(|file| fs::exists(file).unwrap_or(false)) {
        return skipped(
            "a fleet by ssh: no sshd or ssh (apt install openssh-server openssh-client)",
        );
    }
    if !rustix::process::geteuid().is_root() {
        return skipped("a fleet by ssh: only root's server may ask for no password file");
    }
    let s = Sandbox::new();
    let dir = s.out().join("ssh");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    let at = |name: &str| dir.join(name).display().to_string();
    for key in ["host", "user"] {
        assert!(did("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]));
    }
    fs::copy(at("user.pub"), at("authorized")).unwrap();
    // sshd drops its privileges in a directory that Debian creates when the service starts.
    let _ = fs::create_dir_all("/run/sshd");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::write(
        at("sshd_config"),
        format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n\
             Subsystem sftp internal-sftp\n",
            at("host"),
            at("authorized"),
        ),
    )
    .unwrap();
    // The nodes are several names of one machine; `away` has an address at which nothing answers.
    fs::write(
        at("config"),
        format!(
            "Host node*\n HostName 127.0.0.1\n Port {port}\nHost away\n HostName 127.0.0.1\n Port 1\nHost *\n User root\n \
             IdentityFile {}\n IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile {}\n LogLevel ERROR\n",
            at("user"),
            at("known"),
        ),
    )
    .unwrap();
    let server = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f", &at("sshd_config")])
        .stdin(Stdio::null())
        .stderr(fs::File::create(at("log")).unwrap())
        .spawn()
        .unwrap();
    let _server = Server(server);
    let ssh = ["-F", &at("config"), "-o", "BatchMode=yes", "node1", "true"];
    let deadline = Instant::now() + Duration::from_secs(20);
    while !did("ssh", &ssh) {
        let log = fs::read_to_string(at("log")).unwrap();
        assert!(Instant::now() < deadline, "no answer: {log}");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The location of ssh's configuration is up to the user, so the script does not contain it.
    let programs = dir.join("programs");
    fs::create_dir(&programs).unwrap();
    let text_of = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", at("config"));
    fs::write(programs.join("ssh"), text_of).unwrap();
    fs::set_permissions(programs.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    // The home directory on the server is also different.
    let program = programs.join("bench");
    let text_of = format!(
        "#!/bin/sh\nHOME={0} XDG_STATE_HOME={0}/state TMPDIR={0} exec {1} \"$@\"\n",
        at(""),
        env!("CARGO_BIN_EXE_cryptbench")
    );
    fs::write(&program, text_of).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let plan = format!(
        "nodes = [\"node[1-3]\", \"away\"]\nsystems = [\"builtin\"]\nprofile = {:?}\nbudget = \"1m\"\ntarget = {:?}\n\
         fleet = {:?}\nfetch_to = {:?}\nconcurrency = 2\nprogram = {:?}\n\
         options = [\"--size\", \"4MiB\", \"--trial\", \"10ms\", \"--trials\", \"3\", \"--data-unit\", \"512\"]\n",
        s.profile(),
        s.target().display().to_string(),
        at("over there"),
        at("fetched"),
        program.display().to_string(),
    );
    fs::write(at("fleet.toml"), plan).unwrap();
    let script = s.run(&["fleet", "plan", &at("fleet.toml"), "--for", "ssh"]);
    assert!(script.status.success(), "{}", text(&script.stderr));
    fs::write(at("fleet.sh"), &script.stdout).unwrap();
    let start = || {
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.arg(at("fleet.sh")).env("PATH", path).stdin(Stdio::null());
        command.output().unwrap()
    };
    let done = start();
    let said = text(&done.stderr);
    // One machine could not be reached, so this is not a success.
    assert!(!done.status.success() && said.contains("away failed"), "{said}");
    assert!(!said.contains("node"), "{said}");
    assert_eq!(text(&done.stdout).matches(" measured: ").count(), 3, "{}", text(&done.stdout));
    let args = ["fleet", "report", &at("fetched"), "--plan", &at("fleet.toml")];
    let report = s.run(&args);
    let said = text(&report.stdout);
    assert!(said.starts_with("3 machines, 3 records."), "{said}{}", text(&report.stderr));
    assert!(said.contains("1 machine missing: away"), "{said}");
    // Running it again measures nothing.
    let again = text(&start().stdout);
    assert_eq!(again.matches("has already measured this plan").count(), 3, "{again}");
}
