//! Signals that would end the process, heard while a question stands on the terminal: it must be as it was
//! before anything comes of them.

#![expect(unsafe_code, reason = "no safe crate puts back what was done about a signal before")]

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{mem, ptr};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

/// What ends a process that does nothing about it, and comes from outside.
const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// What the handler writes to; [`NOBODY`] while no question stands.
static WAKER: AtomicI32 = AtomicI32::new(NOBODY);
const NOBODY: i32 = -1;
/// The last of the signals that came while a question stood; 0: none.
static CAME: AtomicI32 = AtomicI32::new(0);

/// One question at a time: the handlers are those of the process.
static ASKING: Mutex<()> = Mutex::new(());

/// Hears the signals, until this is dropped. Then everything is done about them that was done before.
#[derive(Debug)]
pub(crate) struct Heard {
    before: Vec<Before>,
    /// Readable from the first signal on.
    woken: PipeReader,
    _waker: PipeWriter,
    _asking: MutexGuard<'static, ()>,
}

/// What is done about a signal.
struct Before {
    signal: i32,
    action: libc::sigaction,
}

impl std::fmt::Debug for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Before").field("signal", &self.signal).finish_non_exhaustive()
    }
}

impl Heard {
    /// Hears them from now on, but for those that the process ignores.
    ///
    /// # Errors
    /// When no descriptors are left, or the kernel takes no handler.
    pub(crate) fn begin() -> io::Result<Self> {
        let asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        let (woken, waker) = io::pipe()?;
        CAME.store(0, Ordering::Relaxed);
        WAKER.store(waker.as_raw_fd(), Ordering::Relaxed);
        let mut heard = Self { before: Vec::new(), woken, _waker: waker, _asking: asking };
        for signal in ENDING {
            let action = handle(signal, &noting())?;
            let before = Before { signal, action };
            if action.sa_sigaction == libc::SIG_IGN {
                handle(signal, &action)?;
            } else {
                heard.before.push(before);
            }
        }
        Ok(heard)
    }

    /// The signal that has come, if one has.
    pub(crate) fn signal(&self) -> Option<i32> {
        Some(CAME.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// Waits until something was typed on the terminal `keys`.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`] when a signal comes before.
    pub(crate) fn wait_for(&self, keys: &std::fs::File) -> io::Result<()> {
        let mut events =
            [PollFd::new(keys, PollFlags::IN), PollFd::new(&self.woken, PollFlags::IN)];
        retry_on_intr(|| poll(&mut events, None::<&Timespec>))?;
        match self.signal() {
            Some(_) => Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")),
            None => Ok(()),
        }
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        for Before { signal, action } in &self.before {
            // the kernel took it before
            let _ = handle(*signal, action);
        }
        WAKER.store(NOBODY, Ordering::Relaxed);
    }
}

/// Has `action` done about `signal`; what was done before.
fn handle(signal: i32, action: &libc::sigaction) -> io::Result<libc::sigaction> {
    // SAFETY: all of the structure is numbers, addresses and sets of numbers, for which zero is a value.
    let mut before = unsafe { mem::zeroed() };
    // SAFETY: both are structures of this function and its caller, and the handler in `action` is `note`, or
    // one that stood there before.
    match unsafe { libc::sigaction(signal, ptr::from_ref(action), &raw mut before) } {
        0 => Ok(before),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Notes the signal.
fn noting() -> libc::sigaction {
    // SAFETY: as in `handle`; the empty set of signals is zero as well.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = note as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    action
}

extern "C" fn note(signal: i32) {
    CAME.store(signal, Ordering::Relaxed);
    let waker = WAKER.load(Ordering::Relaxed);
    if waker != NOBODY {
        // SAFETY: `write` may be called in a handler; one byte of a static is read. Its error is nobody's: a
        // pipe that is full has woken whoever waits, and the number of the error is put back.
        unsafe {
            let error = *libc::__errno_location();
            libc::write(waker, c"x".as_ptr().cast(), 1);
            *libc::__errno_location() = error;
        }
    }
}
