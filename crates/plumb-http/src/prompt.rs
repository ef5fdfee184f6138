//! A question on the terminal, whose answer is not shown.

use std::io::{self, IsTerminal as _};

use plumb_terminal::Terminal;

/// Asks for a user and a password; `None` without a terminal, or without an answer.
pub(crate) fn ask(question: &str) -> Option<(String, String)> {
    if !io::stdin().is_terminal() {
        return None; // nobody sits there
    }
    let mut terminal = Terminal::open().ok()?;
    terminal.show(question).ok()?;
    Some((terminal.ask("user").ok()?, terminal.ask_unseen("password").ok()?))
}
