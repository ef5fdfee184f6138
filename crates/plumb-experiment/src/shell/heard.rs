//! What a command says, heard for as long as it is at work.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::thread;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::wait_for;
use plumb_measure::{Clock as _, Span};
use rustix::io::ioctl_fionbio;

/// Bytes that are kept of what a command says.
const SAID_MAX: usize = 1 << 20;
/// Bytes that are read at once, at most.
const CHUNK: usize = 1 << 16;
/// Bytes that a pipe holds, at most, unless root has made it larger.
const PIPE_MAX: usize = 1 << 20;
/// Time for what a command passes its words through, such as `tee`, when its process is over.
const LAST_WORDS: Span = Span::from_ms(200);

/// What a command says on one of its pipes, read as it comes so that the command can go on.
pub(super) struct Heard {
    /// Never waited for in a read; `None` when nobody can say anything more.
    pipe: Option<File>,
    said: Vec<u8>,
}

impl Heard {
    pub(super) fn of(pipe: Option<OwnedFd>) -> Self {
        let pipe = pipe.filter(|pipe| ioctl_fionbio(pipe, true).is_ok());
        Self { pipe: pipe.map(File::from), said: Vec::new() }
    }

    /// What can be waited for; `None` when nobody can say anything more.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(File::as_fd)
    }

    /// Reads once of what is there; false where that is nothing.
    pub(super) fn read(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        let mut some = [0; CHUNK];
        match pipe.read(&mut some) {
            Ok(read @ 1..) => {
                let kept = read.min(SAID_MAX - self.said.len());
                self.said.extend_from_slice(&some[..kept]);
                true
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            // what cannot be read was not said
            Ok(_) | Err(_) => {
                self.pipe = None;
                false
            }
        }
    }

    /// All that a command said whose process is over.
    pub(super) fn end(mut self) -> String {
        // no more than the pipe can hold: what is still alive in the background may never be silent
        let mut reads = 0..PIPE_MAX / CHUNK;
        while reads.next().is_some() && self.read() {}
        let deadline_ns = MonotonicClock.now_ns() + LAST_WORDS.ns();
        while let Some(pipe) = self.pipe() {
            let left_ns = deadline_ns.saturating_sub(MonotonicClock.now_ns());
            if left_ns == 0 || wait_for([pipe], Span::from_ns(left_ns)).is_err() {
                break;
            }
            self.read();
        }
        if let Some(mut pipe) = self.pipe.filter(|pipe| ioctl_fionbio(pipe, false).is_ok()) {
            // what is still alive would be ended by a pipe that nobody reads
            thread::spawn(move || io::copy(&mut pipe, &mut io::sink()));
        }
        String::from_utf8_lossy(&self.said).into_owned()
    }
}
