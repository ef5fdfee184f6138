//! A password typed at the terminal, which does not show it.

use std::io::{self, IsTerminal as _};

use plumb_terminal::Terminal;

use super::Login;

/// Asks at the terminal; `None` where there is none, or when nothing was typed.
pub fn ask(login: &Login) -> Option<String> {
    if !io::stdin().is_terminal() {
        return None; // nobody sits there
    }
    let question = format!("Password of {} at {}", login.user, login.server());
    Terminal::open().ok()?.ask_unseen(&question).ok()
}
