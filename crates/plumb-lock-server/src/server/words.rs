//! The words of one command.

use plumb_lock_table::table::{Element, Elements, Mode};
use plumb_wire::resp::Words;

use super::refusal::Refusal;

/// A command: its words, and the bytes they are in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) words: &'a Words,
}

impl<'a> Command<'a> {
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// A command of `words` words, its name among them.
    pub(super) fn exactly(&self, words: usize, name: &'static str) -> Result<(), Refusal> {
        if self.len() == words { Ok(()) } else { Err(Refusal::Arity(name)) }
    }

    /// A command of `words` words or more, its name among them.
    pub(super) fn at_least(&self, words: usize, name: &'static str) -> Result<(), Refusal> {
        if self.len() >= words { Ok(()) } else { Err(Refusal::Arity(name)) }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> &'a [u8] {
        self.words.get(self.bytes, at)
    }

    /// True when the word at `at` is `word`, which is in capitals, however it is written.
    pub(super) fn is(&self, at: usize, word: &str) -> bool {
        self.get(at).eq_ignore_ascii_case(word.as_bytes())
    }

    pub(super) fn text(&self, at: usize) -> String {
        const SHOWN: usize = 64;
        let word = self.get(at);
        String::from_utf8_lossy(&word[..word.len().min(SHOWN)]).into_owned()
    }

    pub(super) fn number(&self, at: usize, remedy: &'static str) -> Result<u64, Refusal> {
        let word = std::str::from_utf8(self.get(at)).ok();
        let number = word.and_then(|word| word.parse::<u64>().ok());
        number.ok_or_else(|| Refusal::Number(self.text(at), remedy))
    }

    /// The locks that are named from word `first` on, three words each.
    pub(super) fn locks(self, first: usize, name: &'static str) -> Result<Locks<'a>, Refusal> {
        let count = self.len().saturating_sub(first);
        if count == 0 || !count.is_multiple_of(3) {
            return Err(Refusal::Arity(name));
        }
        let one = self.lock(first)?;
        for at in (first + 3..self.len()).step_by(3) {
            self.lock(at)?;
        }
        Ok(Locks { command: self, first, words: 3, count: count / 3, one })
    }

    fn lock(self, at: usize) -> Result<Element<'a>, Refusal> {
        let Some(mode) = Mode::parse(self.get(at)) else {
            let remedy = "a lock is MODE NAME ARGUMENT, with a mode of S E X O R U V W C";
            return Err(Refusal::Word(self.text(at), remedy));
        };
        let (name, argument) = (self.get(at + 1), self.get(at + 2));
        if name.is_empty() {
            return Err(Refusal::NoName);
        }
        Ok(Element { mode, name, argument })
    }
}

/// The locks of a command, read from its words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locks<'a> {
    command: Command<'a>,
    first: usize,
    /// Of each lock: three, or two without the mode, where each is a promotion.
    words: usize,
    count: usize,
    /// The first, which most often is the only one.
    one: Element<'a>,
}

impl<'a> Locks<'a> {
    /// Names and arguments that are to be promoted, two words each. The word `LOCK` may come first,
    /// so that no name is taken for a term.
    pub(super) fn promotions(command: Command<'a>, first: usize) -> Result<Self, Refusal> {
        let words = command.len().saturating_sub(first);
        let is_marked = !words.is_multiple_of(2) && command.is(first, "LOCK");
        let (first, count) = if is_marked { (first + 1, words - 1) } else { (first, words) };
        if count == 0 || !count.is_multiple_of(2) {
            return Err(Refusal::Arity("promote"));
        }
        let one = promotion(command, first);
        Ok(Self { command, first, words: 2, count: count / 2, one })
    }
}

fn promotion(command: Command<'_>, at: usize) -> Element<'_> {
    Element { mode: Mode::R, name: command.get(at), argument: command.get(at + 1) }
}

impl Elements for Locks<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn at(&self, index: usize) -> Element<'_> {
        let at = self.first + self.words * index;
        match self.words {
            _ if index == 0 => self.one,
            2 => promotion(self.command, at),
            _ => self.command.lock(at).unwrap_or(self.one), // looked at before
        }
    }
}
