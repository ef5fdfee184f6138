//! Network namespaces, and small disks, that end with the test.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{PLUMB, Program};

/// Addresses of the two ends.
pub(crate) const ENDS: [&str; 2] = ["10.91.0.1", "10.91.0.2"];

/// A network namespace, held by a process that waits for its standard input to end.
#[derive(Debug)]
pub(crate) struct Namespace {
    holder: Child,
}

impl Namespace {
    /// Two namespaces that a cable joins, with the addresses of [`ENDS`]; `Err` says why this
    /// machine does not allow that.
    pub(crate) fn pair() -> Result<[Self; 2], String> {
        let [one, other] = [Self::new()?, Self::new()?];
        let peer = other.holder.id().to_string();
        let cable = ["link", "add", "end", "type", "veth", "peer", "name", "end", "netns", &peer];
        one.ip(&cable)?;
        for (namespace, address) in [&one, &other].into_iter().zip(ENDS) {
            namespace.ip(&["address", "add", &format!("{address}/24"), "dev", "end"])?;
            namespace.ip(&["link", "set", "end", "up"])?;
            namespace.ip(&["link", "set", "lo", "up"])?; // the way to an address of its own
        }
        Ok([one, other])
    }

    fn new() -> Result<Self, String> {
        let mut holder = Command::new("unshare")
            .args(["--net", "sh", "-c", "echo ready; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start unshare: {error}"))?;
        let mut said = [0; 6];
        let ready = match &mut holder.stdout {
            Some(out) => io::Read::read_exact(out, &mut said),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let namespace = Self { holder };
        match ready {
            Ok(()) => Ok(namespace),
            Err(_) => Err("unshare makes no network namespace: are we root?".into()),
        }
    }

    /// Starts `plumb` within, in `folder`.
    pub(crate) fn start(&self, words: &[&str], folder: &Path) -> Program {
        self.start_as(PLUMB, words, folder)
    }

    /// Starts `program` within, in `folder`.
    pub(crate) fn start_as(&self, program: &str, words: &[&str], folder: &Path) -> Program {
        let net = self.net();
        Program::start_as(Path::new("nsenter"), &[&[net.as_str(), program], words].concat(), folder)
    }

    /// Takes the cable out of this end: what is sent from either side is lost without a word.
    pub(crate) fn cut_off(&self) {
        self.ip(&["link", "set", "end", "down"]).expect("it was up");
    }

    /// Starts `plumb` within, in `folder`, with something in its environment.
    pub(crate) fn start_told(
        &self,
        words: &[&str],
        folder: &Path,
        told: &[(&str, &str)],
    ) -> Program {
        let net = self.net();
        let words = [&[net.as_str(), PLUMB], words].concat();
        Program::start_told(Path::new("nsenter"), &words, folder, told)
    }

    /// Starts another program within, in `folder`.
    pub(crate) fn enter(&self, program: &str, words: &[&str], folder: &Path) -> Program {
        let net = self.net();
        let words = [&[net.as_str(), program], words].concat();
        Program::start_as(Path::new("nsenter"), &words, folder)
    }

    fn ip(&self, words: &[&str]) -> Result<(), String> {
        let asked = Command::new("nsenter").arg(self.net()).arg("ip").args(words).output();
        match asked {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => {
                let error = String::from_utf8_lossy(&ended.stderr).into_owned();
                Err(format!("`ip {}` fails: {error}", words.join(" ")))
            }
            Err(error) => Err(format!("cannot start nsenter: {error}")),
        }
    }

    fn net(&self) -> String {
        format!("--net={}", self.path())
    }

    /// Where a program finds it.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.holder.id())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A disk in memory, seen by whoever is started on it.
#[derive(Debug)]
pub(crate) struct SmallDisk {
    holder: Child,
    folder: String,
}

impl SmallDisk {
    /// A disk of `size`, as `mount` writes it, in place of `folder`; `Err` says why this machine
    /// does not allow that.
    pub(crate) fn new(folder: &Path, size: &str) -> Result<Self, String> {
        let folder = folder.display().to_string();
        let line = "mount -t tmpfs -o size=\"$1\" tmpfs \"$0\" && echo ready && exec cat";
        let mut holder = Command::new("unshare")
            .args(["--mount", "sh", "-c", line, &folder, size])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start unshare: {error}"))?;
        let mut said = [0; 6];
        let ready = match &mut holder.stdout {
            Some(out) => io::Read::read_exact(out, &mut said),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let disk = Self { holder, folder };
        match ready {
            Ok(()) => Ok(disk),
            Err(_) => Err("unshare makes no mount namespace: are we root?".into()),
        }
    }

    /// Starts `plumb` where the disk is seen, in `folder`.
    pub(crate) fn start(&self, words: &[&str], folder: &Path) -> Program {
        let mount = self.mount();
        let words = [&[mount.as_str(), PLUMB], words].concat();
        Program::start_as(Path::new("nsenter"), &words, folder)
    }

    /// Makes it larger.
    pub(crate) fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        let words = [&self.mount(), "mount", "-o", &options, &self.folder];
        let grown = Command::new("nsenter").args(words).status();
        assert!(grown.is_ok_and(|status| status.success()), "the disk cannot grow");
    }

    fn mount(&self) -> String {
        format!("--mount=/proc/{}/ns/mnt", self.holder.id())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
