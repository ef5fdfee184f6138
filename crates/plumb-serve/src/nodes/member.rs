//! The side of a node.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use plumb_engine::{Listener, Stop};
use plumb_measure::Span;

use super::group::memory_limit_reached;
use super::handover;
use super::parent::{GROUP_VARIABLE, PROGRAM};

/// A node's connection with the process that started it.
#[derive(Debug)]
pub struct Member(UnixStream);

impl Member {
    /// The node that this process is, and the listeners that it shares with the others.
    ///
    /// # Errors
    /// When standard input is not the socket of a process that starts nodes.
    pub fn join() -> io::Result<(Self, Vec<Listener>)> {
        let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let listeners = handover::take(&control)?;
        Ok((Self(control), listeners))
    }

    /// Says that connections are taken from now on.
    ///
    /// # Errors
    /// When the process that started it is gone.
    pub fn ready(&self) -> io::Result<()> {
        (&self.0).write_all(b"R")
    }

    /// Asks `stop` once the process that started it is gone or says so; returns once it is asked.
    pub fn watch(&self, stop: &Stop) {
        while !stop.asked() {
            let waited = stop.wait_for(self.0.as_fd(), Span::from_ms(60_000));
            let ended = waited.is_err() || self.ended();
            if ended {
                stop.ask();
            }
        }
    }

    /// True at the end of what the other side says, without waiting for it.
    fn ended(&self) -> bool {
        let _ = self.0.set_nonblocking(true);
        match (&self.0).read(&mut [0; 16]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// Goes into the memory group that the process which started this one names, if any, and begins
/// anew there, so that all memory of the node counts; where it stands in it, the count of
/// [`memory_limit_reached`] begins.
///
/// # Errors
/// When the group cannot be entered or the program not be started again.
pub fn enter_memory_group() -> io::Result<()> {
    let Some(group) = std::env::var_os(GROUP_VARIABLE) else {
        let _ = memory_limit_reached(); // what it was before is that of a node before this one
        return Ok(());
    };
    std::fs::write(Path::new(&group).join("cgroup.procs"), "0")?;
    let mut words = std::env::args_os();
    let mut again = Command::new(PROGRAM);
    again.arg0(words.next().unwrap_or_default()).args(words);
    Err(again.env_remove(GROUP_VARIABLE).exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_stops_when_nobody_is_there_any_more() {
        let (mine, theirs) = UnixStream::pair().unwrap();
        let member = Member(theirs);
        member.ready().unwrap();
        let mut said = [0];
        (&mine).read_exact(&mut said).unwrap();
        assert_eq!(&said, b"R");
        let stop = Stop::new().unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| member.watch(&stop));
            drop(mine);
            assert!(stop.wait_until(u64::MAX).unwrap());
        });
    }

    #[test]
    fn a_node_that_is_told_to_stop_waits_for_nobody() {
        let (_mine, theirs) = UnixStream::pair().unwrap();
        let stop = Stop::new().unwrap();
        stop.ask();
        Member(theirs).watch(&stop);
    }
}
