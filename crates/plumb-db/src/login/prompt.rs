//! A password typed at the terminal, which does not show it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::Login;

/// Asks at the terminal; `None` where there is none, or when nothing was typed.
pub(crate) fn ask(login: &Login) -> Option<String> {
    if !io::stdin().is_terminal() {
        return None;
    }
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let before = tcgetattr(&terminal).ok()?;
    let _quiet = Quiet::from(&terminal, before)?;
    write!(terminal, "Password of {} at {}: ", login.user, login.server()).ok()?;
    let mut line = String::new();
    BufReader::new(&terminal).read_line(&mut line).ok()?;
    writeln!(terminal).ok()?;
    let typed = line.trim_end_matches(['\r', '\n']);
    (!typed.is_empty()).then(|| typed.to_owned())
}

/// A terminal that does not show what is typed, until this is dropped.
struct Quiet {
    terminal: File,
    before: Termios,
}

impl Quiet {
    fn from(terminal: &File, before: Termios) -> Option<Self> {
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &quiet).ok()?;
        Some(Self { terminal: terminal.try_clone().ok()?, before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // a terminal that has gone needs no echo
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}
