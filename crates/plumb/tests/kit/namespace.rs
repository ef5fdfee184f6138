//! Network namespaces that end with the test.

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
        let net = self.net();
        Program::start_as(Path::new("nsenter"), &[&[net.as_str(), PLUMB], words].concat(), folder)
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
        format!("--net=/proc/{}/ns/net", self.holder.id())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
