//! The installed units under a systemd of their own, in a container of this machine's programs.

use std::fs;
use std::path::Path;

use super::package::{Root, made};
use super::ran;
use crate::kit::foreign::installed;
use crate::kit::namespace::allowed;

/// What runs in it: it starts the units, uses each, and writes down what it saw.
const SCRIPT: &str = r#"
exec >/seen/log 2>&1
set -x
echo booted >/seen/booted
ip link set lo up
systemctl start plumb-net@a plumb-lock@a plumb-app@a plumb-flow@a plumb-host-record || exit
# what listens says so in the journal
for unit in net lock app flow; do
    for turn in $(seq 1200); do
        journalctl --unit=plumb-$unit@a --output=cat | grep --quiet "^listening on" && break
        sleep 0.05
    done
done
cd /tmp
plumb net ping 127.0.0.1 --count 100 --json --out /tmp/net >/seen/net.json
plumb http ping http://127.0.0.1:8000/sap/bc/bsp/it03/image4kb.gif --count 10 --json >/seen/app.json
plumb flow load http://127.0.0.1:50000 --transaction hello --count 10 --warmup 0s --json >/seen/flow.json
plumb lock status 127.0.0.1:3200 >/seen/without-password
PLUMB_LOCK_PASSWORD=secret plumb lock status 127.0.0.1:3200 >/seen/lock
for unit in plumb-net@a plumb-lock@a plumb-app@a plumb-flow@a plumb-host-record; do
    systemctl show --property=MainPID --value $unit | {
        read -r pid
        grep -E '^(Uid|NoNewPrivs|CapBnd|Seccomp):' /proc/$pid/status | tr -s '\t\n' ' ' >/seen/$unit.status
    }
done
# what dpkg runs: the second argument is the version before an update
systemctl show --property=MainPID plumb-net@a >/seen/before-update
/var/lib/dpkg/info/plumb.postinst configure 0.0.1
systemctl show --property=MainPID plumb-net@a >/seen/after-update
/var/lib/dpkg/info/plumb.prerm remove
systemctl list-units --plain --no-legend --state=active 'plumb-*.service' >/seen/active
systemctl list-units --failed --plain --no-legend >/seen/failed
cp --recursive /var/lib/private/plumb-host-record/plumb-runs /seen/recordings
ls /var/lib/private/plumb-lock/a/journal >/seen/journal
echo done >/seen/done
"#;

const UNIT: &str = "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\n\
    ExecStart=/bin/sh /seen/script\nExecStopPost=systemctl exit 0\n";

/// Boots systemd from `root`, with the programs of this machine beneath its own, and waits until
/// [`SCRIPT`] has ended; `seen` is what that writes. `Err` says why this machine does not allow it.
fn boot(root: &Path, seen: &Path) -> Result<(), String> {
    installed("systemd-nspawn", "systemd-container")?;
    if !rustix::process::geteuid().is_root() {
        return Err("only root may boot a container".into());
    }
    let put = |name: &str, text: &str| fs::write(root.join(name), text).expect("a file");
    for folder in ["run", "tmp", "proc", "sys", "dev", "root", "seen", "etc/systemd/system"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        std::os::unix::fs::symlink(format!("usr/{name}"), root.join(name)).expect("a link");
    }
    put("etc/passwd", "root:x:0:0::/root:/bin/sh\n");
    put("etc/group", "root:x:0:\n");
    put("etc/machine-id", "");
    put("etc/os-release", "");
    put("etc/systemd/system/try.service", UNIT);
    fs::write(seen.join("script"), SCRIPT).expect("a file");

    let root_option = format!("--directory={}", root.display());
    let machine = format!("--machine=plumb-{}", std::process::id());
    let programs = format!("--overlay-ro=/usr:{}:/usr", root.join("usr").display());
    let seen_option = format!("--bind={}:/seen", seen.display());
    let words = [
        "--quiet",
        "--register=no",
        "--keep-unit",
        "--private-network",
        "--console=pipe",
        &root_option,
        &machine,
        &programs,
        &seen_option,
        "--boot",
        "systemd.unit=try.service",
    ];
    let said = ran("systemd-nspawn", &words, seen, &[]);
    if seen.join("booted").exists() {
        Ok(())
    } else {
        Err(format!("systemd does not boot here: {said:?}"))
    }
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn units_start_and_serve_and_are_confined() {
    let [folder, seen] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let Some(package) = allowed(made(folder.path())) else { return };
    let root = Root::new();
    root.dpkg(&["--install", &package.display().to_string()]).with(0);
    let put = |name: &str, text: &str| {
        let file = root.at().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    };
    put("etc/plumb/net-a.toml", "quiet = true\n");
    put("etc/plumb/app-a.toml", "");
    put("etc/plumb/flow-a.toml", "");
    put("etc/plumb/flow-a/hello.toml", "[[action]]\nrespond = \"hello\"\n");
    let password =
        "password-file = \"/run/credentials/plumb-lock@a.service/plumb-lock-a.password\"\n";
    put("etc/plumb/lock-a.toml", password);
    put("etc/credstore/plumb-lock-a.password", "secret\n");
    if allowed(boot(root.at(), seen.path())).is_none() {
        return;
    }
    let said = |name: &str| fs::read_to_string(seen.path().join(name)).unwrap_or_default();
    let log = said("log");
    assert_eq!(said("done"), "done\n", "{log}");
    for (name, operations) in [("net.json", 100), ("app.json", 10), ("flow.json", 10)] {
        let run: serde_json::Value = serde_json::from_str(&said(name)).expect("a run");
        assert_eq!(run["results"][0]["operations"], operations, "{name}: {log}");
    }
    assert_eq!(said("without-password"), "", "{log}");
    assert_ne!(said("lock"), "", "{log}");
    assert_eq!(said("failed"), "", "{log}");
    assert_eq!(said("active"), "", "{log}");
    assert_ne!(said("before-update"), said("after-update"), "{log}");
    assert!(said("journal").contains(".journal"), "{log}");
    for unit in ["plumb-net@a", "plumb-lock@a", "plumb-app@a", "plumb-flow@a", "plumb-host-record"]
    {
        let status = said(&format!("{unit}.status"));
        assert!(!status.contains("Uid: 0 "), "{unit}: {status}");
        assert!(status.contains("CapBnd: 0000000000000000"), "{unit}: {status}");
        assert!(status.contains("NoNewPrivs: 1"), "{unit}: {status}");
        assert!(status.contains("Seccomp: 2"), "{unit}: {status}");
    }
    let recordings = fs::read_dir(seen.path().join("recordings")).expect("recordings");
    let recordings: Vec<_> = recordings.map(|run| run.expect("an entry").path()).collect();
    assert!(recordings.iter().any(|run| run.join("host.json").is_file()), "{recordings:?}");
}
