//! Text on standard output, its verdicts in colour where a terminal shows it.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};

use plumb_page::paint::painted;

/// `text` as standard output takes it: in colour on a terminal that has any, unless NO_COLOR is set.
pub fn for_stdout(text: &str) -> Cow<'_, str> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let plain = set("NO_COLOR").is_some() || set("TERM").is_none_or(|term| term == "dumb");
    if plain || !io::stdout().is_terminal() { Cow::Borrowed(text) } else { painted(text).into() }
}
