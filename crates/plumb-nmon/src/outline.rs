//! The first pass over a file: all that may stand anywhere in it.

use std::collections::HashMap;

use crate::cell::{Line, cut, letters, snapshot_id, text};
use crate::document::Documents;
use crate::facts::Facts;
use crate::input::Text;
use crate::process::TopLayout;
use crate::section::Draft;
use crate::stamp::{Clock, Timeline};
use crate::trouble::{TroubleKind, Troubles, excerpt};

/// Most recordings of one file, and most sections of one recording.
const PARTS_MAX: usize = 256;
const SECTIONS_MAX: usize = 2_000;
/// Most columns of all sections of a recording: ten sections of 20,000 disks.
const COLUMNS_MAX: usize = 200_000;

/// One recording as the first pass leaves it.
#[derive(Debug, Default)]
pub(crate) struct RecordingOutline {
    /// Its first line.
    pub(crate) line: u64,
    pub(crate) facts: Facts,
    pub(crate) documents: Documents,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) places: HashMap<Vec<u8>, usize>,
    pub(crate) top: TopLayout,
    pub(crate) timeline: Timeline,
    /// Columns of all sections.
    columns: usize,
    clock: Clock,
    /// True once anything but facts and documents was seen.
    begun: bool,
}

/// All recordings of a file.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) parts: Vec<RecordingOutline>,
    /// Lines read.
    pub(crate) lines: u64,
    /// The last line did not end.
    pub(crate) cut: bool,
    /// The first line, for a file that is none of nmon's.
    pub(crate) first: String,
}

impl Outline {
    /// Books a line.
    pub(crate) fn line(&mut self, line: Text<'_>, troubles: &mut Troubles) {
        self.lines = line.number;
        self.cut = !line.ended;
        let content = line.text.trim_ascii_end();
        if self.first.is_empty() {
            self.first = excerpt(content);
        }
        if content.is_empty() {
            return;
        }
        match Line::split(content) {
            Some(split) => self.dispatch(&split, line.number, troubles),
            None => troubles.add(line.number, TroubleKind::Garbage(excerpt(content))),
        }
    }

    fn dispatch(&mut self, line: &Line<'_>, number: u64, troubles: &mut Troubles) {
        if line.section == b"AAA" {
            return self.fact(line, number, troubles);
        }
        self.part(number).book(line, number, troubles);
    }

    /// The recording that lines belong to now.
    fn part(&mut self, number: u64) -> &mut RecordingOutline {
        if self.parts.is_empty() {
            self.parts.push(RecordingOutline { line: number, ..RecordingOutline::default() });
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }

    /// The program's name starts a recording, unless the one before has not begun.
    fn fact(&mut self, line: &Line<'_>, number: u64, troubles: &mut Troubles) {
        let (key, value) = line.first();
        let value = value.unwrap_or_default();
        let starts = key == b"progname" && self.part(number).begun;
        if starts && self.parts.len() < PARTS_MAX {
            self.parts.push(RecordingOutline { line: number, ..RecordingOutline::default() });
        } else if starts {
            troubles.add(number, TroubleKind::TooMany("recordings"));
        }
        let part = self.part(number);
        if key == b"host" {
            let host = text(cut(value, line.separator).0);
            match part.facts.host() {
                Some(known) if known != host => {
                    let kind = TroubleKind::HostsMixed(known.to_owned(), host.clone());
                    troubles.add(number, kind);
                }
                _ => {}
            }
            if part.line > 1 {
                troubles.add(number, TroubleKind::AnotherRecording(host));
            }
        }
        if !part.facts.add(key, value) {
            troubles.add(number, TroubleKind::TooMany("AAA lines"));
        }
    }

    /// Measures the intervals of all recordings.
    pub(crate) fn finish(&mut self, troubles: &mut Troubles) {
        for part in &mut self.parts {
            let clock = std::mem::take(&mut part.clock);
            part.timeline = clock.finish(part.facts.interval_s(), troubles);
        }
    }
}

impl RecordingOutline {
    /// Books a line that is no fact.
    fn book(&mut self, line: &Line<'_>, number: u64, troubles: &mut Troubles) {
        if line.section.starts_with(b"BBB") {
            if let Some(device) = Documents::late_device(line) {
                troubles.add(number, TroubleKind::CameLater(device));
            }
            if !self.documents.add(line) {
                troubles.add(number, TroubleKind::TooMany("BBB lines"));
            }
            return;
        }
        self.begun = true;
        match line.section {
            b"ZZZZ" => self.clock.add(line, number, self.facts.get("date"), troubles),
            b"TOP" => self.top = TopLayout::of(line).unwrap_or(self.top),
            b"UARG" => {}
            b"ERROR" => troubles.add(number, TroubleKind::Reported(excerpt(line.rest))),
            section if snapshot_id(line.first().0).is_none() => {
                self.header(section, line, number, troubles);
            }
            _ => {}
        }
    }

    fn header(&mut self, section: &[u8], line: &Line<'_>, number: u64, troubles: &mut Troubles) {
        // prose in capitals has no columns, and binary data is not text
        let rest = letters(line.rest);
        if rest.contains(char::is_control) || line.first().1.is_none() {
            return troubles.add(number, TroubleKind::Garbage(excerpt(line.rest)));
        }
        let line = &Line { rest: rest.as_bytes(), ..*line };
        if self.columns > COLUMNS_MAX {
            return troubles.add(number, TroubleKind::TooMany("columns"));
        }
        let Some(draft) = self.draft(section, number) else {
            return troubles.add(number, TroubleKind::TooMany("sections"));
        };
        let before = draft.section.columns.len();
        let (other, too_many) = draft.header(line, number);
        let more = draft.section.columns.len() - before;
        if too_many {
            troubles.add(number, TroubleKind::TooMany("columns"));
        }
        if let Some(other) = other {
            let kind = TroubleKind::HostsMixed(draft.section.title.clone(), other);
            troubles.add(number, kind);
        }
        self.columns += more;
    }

    /// The section of this name, made if need be; `None` when there are too many.
    pub(crate) fn draft(&mut self, section: &[u8], number: u64) -> Option<&mut Draft> {
        let at = match self.places.get(section) {
            Some(at) => *at,
            None if self.drafts.len() == SECTIONS_MAX => return None,
            None => {
                self.drafts.push(Draft::new(section, number));
                self.places.insert(section.to_vec(), self.drafts.len() - 1);
                self.drafts.len() - 1
            }
        };
        self.drafts.get_mut(at)
    }
}
