//! What of a file was not carried over, by place and reason.

use std::fmt;

/// Where in a file something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(usize),
    /// An entry of a HAR, from 1, in the order of the file.
    Entry(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("the file"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Entry(entry) => write!(f, "entry {entry}"),
        }
    }
}

/// What it means that something was not carried over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The scenario does something else than the file.
    Changes,
    /// The load is the same: listeners, logs, addresses of consoles.
    NoPart,
}

/// Something that was not carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it stands.
    pub place: Place,
    /// Its kind and name, such as `JSR223Sampler "token"`.
    pub what: String,
    /// Why not, or what was done instead.
    pub why: String,
    /// Whether the load differs by it.
    pub weight: Weight,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, one_line(&self.what), one_line(&self.why))
    }
}

/// All of them, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    all: Vec<Note>,
}

impl Notes {
    /// Takes down what changes the load; the same is said once.
    pub fn add(&mut self, place: Place, what: impl Into<String>, why: impl Into<String>) {
        self.push(Note { place, what: what.into(), why: why.into(), weight: Weight::Changes });
    }

    /// Takes down what has no part in the load.
    pub fn add_no_part(&mut self, place: Place, what: impl Into<String>) {
        let why = "has no part in the load";
        self.push(Note { place, what: what.into(), why: why.into(), weight: Weight::NoPart });
    }

    /// Takes down what was settled by the file itself, and could have been told otherwise.
    pub fn add_taken(&mut self, place: Place, what: impl Into<String>, value: &str) {
        let why = format!("taken as `{value}`");
        self.push(Note { place, what: what.into(), why, weight: Weight::NoPart });
    }

    fn push(&mut self, note: Note) {
        if !self.all.contains(&note) {
            self.all.push(note);
        }
    }

    /// In the order of the file.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Note> {
        let mut sorted: Vec<&Note> = self.all.iter().collect();
        sorted.sort_by_key(|note| note.place);
        sorted
    }

    /// How many change the load.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.all.iter().filter(|note| note.weight == Weight::Changes).count()
    }
}

/// Text from a file as it may stand in a line: control characters become spaces.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_stand_in_the_order_of_the_file_and_once() {
        let mut notes = Notes::default();
        notes.add(Place::Line(9), "B \"x\"", "unknown");
        notes.add(Place::Line(2), "A\n", "unknown");
        notes.add(Place::Line(9), "B \"x\"", "unknown");
        notes.add_no_part(Place::File, "log");
        let lines: Vec<String> = notes.sorted().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "the file: log: has no part in the load",
                "line 2: A : unknown",
                "line 9: B \"x\": unknown"
            ]
        );
        assert_eq!(notes.changes(), 2);
    }
}
