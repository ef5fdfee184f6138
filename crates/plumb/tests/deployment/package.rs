//! The Debian package: made twice, installed into an empty root, removed, purged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::units::FILES;
use super::{ran, sources};
use crate::kit::foreign::installed;
use crate::kit::namespace::allowed;
use crate::kit::{Ended, PLUMB};

/// What a package is made of here: the one static file, where `./test --full` has made it, or else
/// the program under test, without what only a debugger reads.
pub(super) fn program(folder: &Path) -> PathBuf {
    if let Some(file) = std::env::var_os("PLUMB_TEST_GUEST_PROGRAM") {
        return file.into();
    }
    let copy = folder.join("plumb");
    fs::copy(PLUMB, &copy).expect("the program can be copied");
    ran("strip", &["plumb"], folder, &[]).with(0);
    copy
}

/// The package in a folder below `folder`; `Err` says what is missing to make it.
pub(super) fn made(folder: &Path) -> Result<PathBuf, String> {
    installed("dpkg-deb", "dpkg")?;
    installed("dpkg-shlibdeps", "dpkg-dev")?;
    installed("strip", "binutils")?;
    let script = sources().join("scripts/deb.sh").canonicalize().expect("it is there");
    let words = [folder.display().to_string(), program(folder).display().to_string()];
    // a test has no time for a small file
    let told = [("DPKG_DEB_COMPRESSOR_TYPE", "gzip"), ("DPKG_DEB_COMPRESSOR_LEVEL", "1")];
    let words = words.each_ref().map(String::as_str);
    let said = ran(&script.display().to_string(), &words, folder, &told).with(0);
    Ok(PathBuf::from(said.stdout.trim()))
}

/// A root directory of dpkg with nothing in it.
pub(super) struct Root(TempDir);

impl Root {
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(root.path().join("var/lib/dpkg/info")).expect("a folder");
        fs::write(root.path().join("var/lib/dpkg/status"), "").expect("a file");
        Self(root)
    }

    pub(super) fn at(&self) -> &Path {
        self.0.path()
    }

    /// Runs dpkg on it, as root of a namespace where we are not. Nothing else is installed in it, so
    /// that what a program under test may need is not there, and no shell: scripts of the package run
    /// outside, and are told where.
    pub(super) fn dpkg(&self, words: &[&str]) -> Ended {
        let root = format!("--root={}", self.at().display());
        let words = [
            &["dpkg", &root, "--force-depends", "--force-script-chrootless", "--log=/dev/null"],
            words,
        ]
        .concat();
        if rustix::process::geteuid().is_root() {
            return ran(words[0], &words[1..], self.at(), &[]);
        }
        ran("unshare", &[&["--map-root-user"], &words[..]].concat(), self.at(), &[])
    }

    /// Every path below it, but those of dpkg itself, with what it is.
    fn content(&self) -> BTreeMap<String, fs::Metadata> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.at().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let about = fs::symlink_metadata(&path).expect("it is there");
                let name = path.strip_prefix(self.at()).expect("below it");
                if name.starts_with("var/lib/dpkg") {
                    continue;
                }
                if about.is_dir() {
                    folders.push(path.clone());
                }
                found.insert(name.display().to_string(), about);
            }
        }
        found
    }
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn the_same_sources_make_the_same_bytes_and_lintian_takes_them() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let packages = folders.each_ref().map(|folder| made(folder.path()));
    let [Some(one), Some(other)] = packages.map(allowed) else { return };
    let bytes = [&one, &other].map(|file| fs::read(file).expect("it was made"));
    assert!(bytes[0] == bytes[1], "{} and {} bytes", bytes[0].len(), bytes[1].len());

    let Some(()) = allowed(installed("lintian", "lintian")) else { return };
    let words = ["--fail-on", "error,warning", "--allow-root", &one.display().to_string()];
    let said = ran("lintian", &words, folders[0].path(), &[]);
    assert_eq!(said.code, Some(0), "{said:#?}");
}

#[test]
fn everything_is_installed_and_nothing_stays_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(package) = allowed(made(folder.path())) else { return };
    let root = Root::new();
    let empty: BTreeSet<String> = root.content().into_keys().collect();
    root.dpkg(&["--install", &package.display().to_string()]).with(0);
    assert_eq!(root.dpkg(&["--verify", "plumb"]).with(0).stdout, "");

    let content = root.content();
    modes_are_sensible(&content);
    let units = FILES.map(|unit| format!("usr/lib/systemd/system/{unit}"));
    let others = [
        "etc/plumb/remote.env",
        "usr/bin/plumb",
        "usr/lib/systemd/system/plumb-.service.d/hardening.conf",
        "usr/lib/tmpfiles.d/plumb.conf",
        "usr/share/bash-completion/completions/plumb",
        "usr/share/doc/plumb/changelog.gz",
        "usr/share/doc/plumb/copyright",
        "usr/share/doc/plumb/examples/Containerfile",
        "usr/share/doc/plumb/examples/compose/compose.yaml",
        "usr/share/doc/plumb/examples/compose/remote.toml",
        "usr/share/doc/plumb/examples/kubernetes/controller.yaml",
        "usr/share/doc/plumb/examples/kubernetes/remotes.yaml",
        "usr/share/doc/plumb/examples/nats/credentials.sh",
        "usr/share/doc/plumb/examples/nats/nats.conf",
        "usr/share/doc/plumb/libraries.gz",
        "usr/share/doc/plumb/ten-machines.md",
        "usr/share/fish/vendor_completions.d/plumb.fish",
        "usr/share/lintian/overrides/plumb",
        "usr/share/zsh/vendor-completions/_plumb",
    ]
    .map(String::from);
    let pages = pages(folder.path());
    assert!(pages.len() > 50, "{pages:?}");
    let expected: BTreeSet<String> = units.into_iter().chain(others).chain(pages).collect();
    let files: BTreeSet<String> =
        content.iter().filter(|(_, about)| about.is_file()).map(|(name, _)| name.clone()).collect();
    assert_eq!(files, expected);

    used(&root);
    root.dpkg(&["--remove", "plumb"]).with(0);
    let kept = root.content();
    for (name, stays) in [
        ("usr/bin/plumb", false),
        ("etc/plumb/remote.env", true),
        ("etc/plumb/lock-orders.toml", true),
        ("var/lib/private/plumb-lock/orders/journal", true),
    ] {
        assert_eq!(kept.contains_key(name), stays, "{name}");
    }
    root.dpkg(&["--purge", "plumb"]).with(0);
    let left: BTreeSet<String> = root.content().into_keys().collect();
    let ours = |name: &&String| name.contains("plumb");
    assert_eq!(left.iter().find(ours), None);
    // what the administrator had made stays, without what was ours in it
    let file = left.difference(&empty).find(|name| !root.at().join(name).is_dir());
    assert_eq!(file, None);
}

/// Leaves behind what units and an administrator leave.
fn used(root: &Root) {
    if allowed(installed("systemctl", "systemd")).is_some() {
        let at = format!("--root={}", root.at().display());
        let words = [&at, "enable", "plumb-remote.service", "plumb-lock@orders.service"];
        ran("systemctl", &words, root.at(), &[]).with(0);
        let wanted = root.at().join("etc/systemd/system/multi-user.target.wants");
        assert_eq!(fs::read_dir(wanted).expect("two are enabled").count(), 2);
    }
    let kept = root.at().join("var/lib/private/plumb-lock/orders/journal");
    fs::create_dir_all(kept).expect("a folder");
    std::os::unix::fs::symlink("private/plumb-lock", root.at().join("var/lib/plumb-lock"))
        .expect("as systemd makes it");
    fs::write(root.at().join("etc/plumb/lock-orders.toml"), "").expect("a file");
}

fn modes_are_sensible(content: &BTreeMap<String, fs::Metadata>) {
    let runs = ["usr/bin/plumb", "usr/share/doc/plumb/examples/nats/credentials.sh"];
    // inside a namespace we are its root
    let owner = rustix::process::geteuid().as_raw();
    for (name, about) in content {
        if name.starts_with("var") {
            continue; // ours, for dpkg
        }
        let mode = about.permissions().mode() & 0o7777;
        let expected = if about.is_dir() || runs.contains(&name.as_str()) { 0o755 } else { 0o644 };
        assert_eq!(format!("{mode:o}"), format!("{expected:o}"), "{name}");
        assert_eq!(about.uid(), owner, "{name}");
        assert!(about.is_dir() || about.len() > 0, "{name} is empty");
    }
}

/// Where the manual pages of all commands should be.
fn pages(folder: &Path) -> Vec<String> {
    let at = folder.join("pages");
    ran(PLUMB, &["man", "--out", &at.display().to_string()], folder, &[]).with(0);
    let pages = fs::read_dir(at).expect("pages");
    let names = pages.map(|page| page.expect("an entry").file_name().into_string().expect("UTF-8"));
    names.map(|name| format!("usr/share/man/man1/{name}.gz")).collect()
}

#[test]
fn shells_read_the_completions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for shell in ["bash", "zsh", "fish"] {
        let Some(()) = allowed(installed(shell, shell)) else { continue };
        let script = ran(PLUMB, &["complete", shell], folder.path(), &[]).with(0).stdout;
        let file = format!("./completions.{shell}");
        fs::write(folder.path().join(&file), script).expect("a file");
        assert_eq!(ran(shell, &["-n", &file], folder.path(), &[]).with(0).stderr, "");
    }
    let Some(()) = allowed(installed("bash", "bash")) else { return };
    let line = "source ./completions.bash && COMP_WORDS=(plumb net pi) COMP_CWORD=2 && _plumb plumb pi net \
                && echo \"${COMPREPLY[@]}\"";
    assert_eq!(ran("bash", &["-c", line], folder.path(), &[]).with(0).stdout, "ping\n");
}
