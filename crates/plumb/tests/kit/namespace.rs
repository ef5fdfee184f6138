//! Network namespaces, and small disks, that end with the test.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{PLUMB, Program, not_tried};

/// Addresses of the two ends.
pub(crate) const ENDS: [&str; 2] = ["10.91.0.1", "10.91.0.2"];

/// The address of the Nth namespace around the middle one of [`Namespace::star`].
pub(crate) fn around(number: u8) -> String {
    format!("10.91.{number}.2")
}

/// The address at which the Nth of them reaches the middle one.
pub(crate) fn middle_of(number: u8) -> String {
    format!("10.91.{number}.1")
}

/// What could be made; says why where this machine does not allow it.
pub(crate) fn allowed<T>(made: Result<T, String>) -> Option<T> {
    made.inspect_err(|reason| not_tried(reason)).ok()
}

/// A process in a namespace of its own; it waits until its standard input ends.
#[derive(Debug)]
struct Holder(Child);

impl Holder {
    /// In a new namespace of this `kind`, as `unshare` calls it, behind what the shell is to do
    /// first with `arguments`.
    fn start(kind: &str, first: &str, arguments: &[&str]) -> Result<Self, String> {
        let line = format!("{first} && echo ready && exec cat");
        let mut child = Command::new("unshare")
            .arg(format!("--{kind}"))
            .args(["sh", "-c", &line])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start unshare: {error}"))?;
        let mut said = [0; 6];
        let ready = match &mut child.stdout {
            Some(out) => io::Read::read_exact(out, &mut said),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let holder = Self(child);
        match ready {
            Ok(()) => Ok(holder),
            Err(_) => Err(format!("unshare makes no {kind} namespace: are we root?")),
        }
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    holder: Holder,
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
            namespace.join(address)?;
        }
        Ok([one, other])
    }

    /// A namespace in the middle, and `others` that each reach that one alone: it is [`middle_of`]
    /// the Nth of them, which is [`around`] it. `Err` says why this machine does not allow that.
    pub(crate) fn star(others: u8) -> Result<(Self, Vec<Self>), String> {
        let middle = Self::new()?;
        middle.ip(&["link", "set", "lo", "up"])?;
        let mut around = Vec::new();
        for number in 1..=others {
            let other = Self::new()?;
            let (near, pid) = (format!("to{number}"), middle.holder.id().to_string());
            let cable =
                ["link", "add", "end", "type", "veth", "peer", "name", &near, "netns", &pid];
            other.ip(&cable)?;
            middle.ip(&["address", "add", &format!("{}/24", middle_of(number)), "dev", &near])?;
            middle.ip(&["link", "set", &near, "up"])?;
            other.join(&self::around(number))?;
            around.push(other);
        }
        Ok((middle, around))
    }

    /// Gives its device `end` an address, and lets it be used.
    pub(super) fn join(&self, address: &str) -> Result<(), String> {
        self.ip(&["address", "add", &format!("{address}/24"), "dev", "end"])?;
        self.ip(&["link", "set", "end", "up"])?;
        self.ip(&["link", "set", "lo", "up"]) // the way to an address of its own
    }

    /// A namespace that reaches nothing; `Err` says why this machine does not allow that.
    pub(crate) fn new() -> Result<Self, String> {
        Holder::start("net", "true", &[]).map(|holder| Self { holder })
    }

    /// Starts `plumb` within, in `folder`.
    pub(crate) fn start(&self, words: &[&str], folder: &Path) -> Program {
        self.start_as(PLUMB, words, folder)
    }

    /// Starts `program` within, in `folder`.
    pub(crate) fn start_as(&self, program: &str, words: &[&str], folder: &Path) -> Program {
        self.start_as_told(program, words, folder, &[])
    }

    /// Starts `program` within, in `folder`, with something in its environment.
    pub(crate) fn start_as_told(
        &self,
        program: &str,
        words: &[&str],
        folder: &Path,
        told: &[(&str, &str)],
    ) -> Program {
        let net = self.net();
        let words = [&[net.as_str(), program], words].concat();
        Program::start_told(Path::new("nsenter"), &words, folder, told)
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
        self.start_as_told(PLUMB, words, folder, told)
    }

    pub(crate) fn ip(&self, words: &[&str]) -> Result<(), String> {
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

/// A disk in memory, seen by whoever is started on it.
#[derive(Debug)]
pub(crate) struct SmallDisk {
    holder: Holder,
    folder: String,
}

impl SmallDisk {
    /// A disk of `size`, as `mount` writes it, in place of `folder`; `Err` says why this machine
    /// does not allow that.
    pub(crate) fn new(folder: &Path, size: &str) -> Result<Self, String> {
        let folder = folder.display().to_string();
        let mount = "mount -t tmpfs -o size=\"$1\" tmpfs \"$0\"";
        let holder = Holder::start("mount", mount, &[&folder, size])?;
        Ok(Self { holder, folder })
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
