//! The terminal of whoever sits there: how large it is, and what is answered on it.

mod signals;

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::fd::AsFd;

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use signals::Heard;

/// What the environment of a process names that another one started for itself, in a group of its own: the
/// terminal would stop it for good where it asks.
const STARTED: [&str; 2] = ["PLUMB_PARENT", "PLUMB_STARTER"];
/// Bytes of an answer at most: as many as the kernel keeps of a line.
const ANSWER_BYTES_MAX: usize = 4_096;
/// No terminal is taken for narrower or wider than people can read.
const COLUMNS_MIN: usize = 40;
const COLUMNS_MAX: usize = 160;

/// Columns and lines of the terminal `file`; `None` when it is none, or does not say.
pub fn size(file: impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(file).ok()?;
    let known = size.ws_col > 0 && size.ws_row > 0;
    known.then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Columns of text on the terminal `file`, as many as people can read: 40 to 160. `None` as for [`size`].
pub fn columns(file: impl AsFd) -> Option<usize> {
    size(file).map(|(columns, _)| columns.clamp(COLUMNS_MIN, COLUMNS_MAX))
}

/// The terminal from which the process was started, wherever its input and output go.
#[derive(Debug)]
pub struct Terminal {
    file: File,
}

impl Terminal {
    /// The terminal.
    ///
    /// # Errors
    /// When there is none, or it is that of the process which started this one for itself.
    pub fn open() -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        if STARTED.iter().any(|name| env::var_os(name).is_some()) {
            return Err(io::Error::other("the terminal is that of whoever started this"));
        }
        Ok(Self { file })
    }

    /// Shows a line, without what a terminal would obey.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn show(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.file, "{}", plain(line))
    }

    /// Asks `question`; what is typed is seen. Ctrl-C, and every other signal that ends the process or asks it
    /// to end, ends the question, and reaches the process once the terminal is as it was.
    ///
    /// # Errors
    /// When nothing is answered, or more than 4,096 bytes, and [`io::ErrorKind::Interrupted`] after a signal.
    pub fn ask(&mut self, question: &str) -> io::Result<String> {
        let heard = Heard::begin()?;
        write!(self.file, "{}: ", plain(question))?;
        let typed = read_line(&mut Keys { terminal: &self.file, heard: &heard });
        if heard.signal().is_some() {
            writeln!(self.file)?; // the line of the question is not ended
        }
        pass_on(heard, typed)
    }

    /// The same; nothing that is typed is shown.
    ///
    /// # Errors
    /// As those of [`ask`](Self::ask).
    pub fn ask_unseen(&mut self, question: &str) -> io::Result<String> {
        let heard = Heard::begin()?;
        // before the question: what answers it at once is not shown either
        let silence = Silence::over(&self.file)?;
        write!(self.file, "{}: ", plain(question))?;
        let typed = read_line(&mut Keys { terminal: &self.file, heard: &heard });
        drop(silence);
        writeln!(self.file)?;
        pass_on(heard, typed)
    }
}

/// Lets the process have the signal that ended the question, which was `heard` or, on a silent terminal, `typed`.
fn pass_on(heard: Heard, typed: io::Result<String>) -> io::Result<String> {
    let of_key = typed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted);
    let signal = heard.signal().and_then(Signal::from_named_raw);
    drop(heard);
    match signal.or(of_key.then_some(Signal::INT)) {
        Some(signal) => {
            kill_process(getpid(), signal)?;
            Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"))
        }
        None => typed,
    }
}

/// What is typed, until a signal comes.
struct Keys<'a> {
    terminal: &'a File,
    heard: &'a Heard,
}

impl Read for Keys<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.heard.wait_for(self.terminal)?;
        self.terminal.read(bytes)
    }
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A terminal that shows nothing and makes no signals, until this is dropped: an interruption
/// would otherwise leave it silent.
struct Silence {
    terminal: File,
    before: Termios,
}

impl Silence {
    fn over(terminal: &File) -> io::Result<Self> {
        let terminal = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // a terminal that is gone needs no echo
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}

/// What is typed up to the end of the line, with the usual keys to take it back.
fn read_line(keys: &mut impl Read) -> io::Result<String> {
    const INTERRUPT: u8 = 0x03;
    const END: u8 = 0x04;
    const BACKSPACE: u8 = 0x08;
    const CLEAR: u8 = 0x15;
    const DELETE: u8 = 0x7f;
    let mut typed: Vec<u8> = Vec::new();
    let mut key = [0];
    // byte by byte: what follows the line is for whoever reads next
    while keys.read(&mut key)? > 0 {
        match key[0] {
            b'\r' | b'\n' => break,
            INTERRUPT => return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")),
            END if typed.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            END => break,
            CLEAR => typed.clear(),
            BACKSPACE | DELETE => {
                // a character of several bytes goes as a whole
                while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            byte if typed.len() < ANSWER_BYTES_MAX => typed.push(byte),
            _ => return Err(io::Error::other("an answer has at most 4096 bytes")),
        }
    }
    match String::from_utf8(typed) {
        Ok(text) if !text.is_empty() && !text.contains('\0') => Ok(text),
        _ => Err(io::Error::other("nothing was typed")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{FromRawFd as _, OwnedFd};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn keys_can_be_taken_back() {
        let typed = |mut keys: &[u8]| read_line(&mut keys).ok();
        assert_eq!(typed(b"hush\n"), Some("hush".into()));
        assert_eq!(typed(b"hu\xc3\xa4\x7fsh\r"), Some("hush".into()));
        assert_eq!(typed(b"wrong\x15right\n"), Some("right".into()));
        assert_eq!(typed(b"half\x03"), None);
        assert_eq!(typed(b"\n"), None);
        assert_eq!(typed(b"\x04"), None);
        assert_eq!(typed(&[b'x'; ANSWER_BYTES_MAX + 1]), None);
    }

    /// A terminal of nobody, with the end at which somebody would sit.
    #[expect(unsafe_code, reason = "no safe function that is built in makes one")]
    fn terminal() -> (Terminal, File) {
        let (mut person, mut program) = (0, 0);
        let none = std::ptr::null_mut();
        // SAFETY: both numbers are of this function, and the rest may be null.
        let made = unsafe {
            libc::openpty(&raw mut person, &raw mut program, none, none.cast(), none.cast())
        };
        assert_eq!(made, 0, "{}", io::Error::last_os_error());
        // SAFETY: both are open, and nobody else has them.
        let [person, program] = [person, program].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        (Terminal { file: program.into() }, person.into())
    }

    #[test]
    #[expect(unsafe_code, reason = "the process of the tests is not to end")]
    fn a_signal_ends_the_question_and_finds_the_terminal_as_it_was() {
        static HANDED_ON: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn count(_: i32) {
            HANDED_ON.fetch_add(1, Ordering::Relaxed);
        }
        let (mut terminal, _person) = terminal();
        let seen = terminal.file.try_clone().unwrap();
        let shows = move || {
            let modes = tcgetattr(&seen).unwrap().local_modes;
            modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
        };
        // SAFETY: the handler does what a handler may do.
        unsafe { libc::signal(libc::SIGTERM, count as *const () as usize) };
        assert!(shows());
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| terminal.ask_unseen("password"));
            while shows() {
                std::thread::yield_now();
            }
            assert_eq!(HANDED_ON.load(Ordering::Relaxed), 0);
            kill_process(getpid(), Signal::TERM).unwrap();
            let told = asked.join().unwrap().unwrap_err();
            assert_eq!(told.kind(), io::ErrorKind::Interrupted);
        });
        assert!(shows());
        while HANDED_ON.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now(); // another thread may be the one that gets it
        }
        assert_eq!(HANDED_ON.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn nothing_that_a_terminal_would_obey_is_shown() {
        assert_eq!(plain("a\x1b[2Jb\r\n"), "a[2Jb");
    }

    #[test]
    fn what_is_no_terminal_has_no_size() {
        assert_eq!(size(File::open("/dev/null").unwrap()), None);
    }
}
