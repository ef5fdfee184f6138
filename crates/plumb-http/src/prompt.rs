//! A question on the terminal, whose answer is not shown.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

/// Asks for a user and a password; `None` without a terminal, or without an answer.
pub(crate) fn ask(question: &str) -> Option<(String, String)> {
    if !isatty(std::io::stdin()) {
        return None; // nobody sits there
    }
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    // a server chose some of the words
    let question: String = question.chars().filter(|c| !c.is_control()).collect();
    write!(terminal, "{question}\nuser: ").ok()?;
    let mut answers = BufReader::new(terminal.try_clone().ok()?);
    let user = line(&mut answers)?;
    write!(terminal, "password: ").ok()?;
    let hidden = Hidden::begin(&terminal)?;
    let password = line(&mut answers);
    drop(hidden);
    writeln!(terminal).ok()?;
    Some((user, password?))
}

fn line(answers: &mut BufReader<File>) -> Option<String> {
    let mut text = String::new();
    let count = answers.read_line(&mut text).ok()?;
    let text = text.trim_end_matches(['\r', '\n']);
    (count > 0 && !text.is_empty()).then(|| text.to_owned())
}

/// While it lives the terminal does not show what is typed.
struct Hidden<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn begin(terminal: &'a File) -> Option<Self> {
        let before = tcgetattr(terminal).ok()?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &hidden).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // a terminal that is gone needs no mode
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}
