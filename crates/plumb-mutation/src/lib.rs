//! Texts that were right, and have been changed by chance.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What a change puts in: pieces of all languages that are read here.
const PIECES: [&str; 34] = [
    "\"",
    "'",
    "'''",
    "\n",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "${",
    "}}",
    "=",
    ",",
    ".",
    "/",
    "../",
    "#",
    "-1",
    "0",
    "99999999999999999999",
    "1e400",
    "true",
    "\"5s\"",
    "\\u0000",
    "\u{0}",
    "\u{feff}",
    "<",
    ">",
    "</",
    "<![CDATA[",
    "<!DOCTYPE a>",
    "&#0;",
    "&lt;",
    "\u{1f600}",
];

#[derive(Clone, Debug)]
enum Change {
    /// Characters are left out.
    Cut(Index, Index),
    /// Something is put in.
    Put(Index, String),
    /// Characters stand there once more.
    Double(Index, Index, Index),
    /// Two lines change places.
    Swap(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), at()).prop_map(|(from, to)| Change::Cut(from, to)),
        (at(), select(&PIECES[..])).prop_map(|(at, piece)| Change::Put(at, piece.into())),
        (at(), any::<char>()).prop_map(|(at, char)| Change::Put(at, char.into())),
        (at(), at(), at()).prop_map(|(from, to, at)| Change::Double(from, to, at)),
        (at(), at()).prop_map(|(one, other)| Change::Swap(one, other)),
    ]
}

/// One of `texts` with one to five changes.
#[must_use = "it is a strategy"]
pub fn mutated(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    (select(texts), vec(change(), 1..6)).prop_map(|(text, changes)| {
        changes.iter().fold(text.to_owned(), |text, change| changed(&text, change))
    })
}

/// A piece of at most 20 of `count` characters.
fn piece(count: usize, from: Index, to: Index) -> std::ops::Range<usize> {
    let start = from.index(count + 1);
    start..(start + to.index(20)).min(count)
}

fn changed(text: &str, change: &Change) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    match change {
        Change::Cut(from, to) => drop(chars.drain(piece(chars.len(), *from, *to))),
        Change::Put(at, what) => {
            let at = at.index(chars.len() + 1);
            chars.splice(at..at, what.chars());
        }
        Change::Double(from, to, at) => {
            let taken = chars[piece(chars.len(), *from, *to)].to_vec();
            let at = at.index(chars.len() + 1);
            chars.splice(at..at, taken);
        }
        Change::Swap(one, other) => {
            let mut lines: Vec<&str> = text.split('\n').collect();
            let (one, other) = (one.index(lines.len()), other.index(lines.len()));
            lines.swap(one, other);
            return lines.join("\n");
        }
    }
    chars.into_iter().collect()
}
