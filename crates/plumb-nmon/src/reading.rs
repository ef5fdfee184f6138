//! The second pass over a recording: its figures.

use crate::cell::{Line, snapshot_id};
use crate::disk::Disks;
use crate::doubt::{Doubts, Questions, Read};
use crate::outline::RecordingOutline;
use crate::process::{Commands, snapshot_of};
use crate::recording::Recording;
use crate::role::{Gauges, Role};
use crate::section::{Notes, Row};
use crate::series::Series;
use crate::trouble::{TroubleKind, Troubles, excerpt};

/// One recording while its figures are read.
pub(crate) struct Reading {
    pub(crate) part: RecordingOutline,
    places: Vec<SectionState>,
    gauges: Gauges,
    doubts: Doubts,
    commands: Commands,
    /// Where the last snapshot stands in the timeline.
    hint: usize,
    /// The last snapshot without a time.
    untimed: Option<u64>,
}

/// What is known of a section beside its columns.
#[derive(Clone, Debug, Default)]
struct SectionState {
    role: Role,
    questions: Questions,
    series: bool,
    last: u64, // snapshot of its last row
    ragged: bool,
    strange: bool,
}

impl Reading {
    pub(crate) fn new(
        mut part: RecordingOutline,
        series: &Series,
        room: &mut usize,
        troubles: &mut Troubles,
    ) -> Self {
        let mut gauges = Gauges::new();
        let (system, snapshots) = (part.facts.system(), part.timeline.stamps().len());
        let single = |name: &str| {
            name.strip_prefix("CPU").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        };
        let counted = part.drafts.iter().filter(|draft| single(&draft.section.name)).count();
        let counted = u32::try_from(counted).ok().filter(|cpus| *cpus > 0);
        let cpus = part.facts.cpus().or(counted);
        let sections = || part.drafts.iter().map(|draft| &draft.section);
        let disks = Disks::of(sections());
        let roles: Vec<Role> = sections()
            .map(|section| Role::of(section, system, cpus, &disks, &mut gauges))
            .collect();
        let mut places = Vec::with_capacity(part.drafts.len());
        for (draft, role) in part.drafts.iter_mut().zip(roles) {
            let figures = draft.section.columns.len() * snapshots;
            let wanted = series.holds(&draft.section.name);
            if wanted && figures > *room {
                troubles.add(draft.line, TroubleKind::TooMany("figures of series"));
            }
            let kept = wanted && figures <= *room;
            if kept {
                *room -= figures;
                for column in &mut draft.section.columns {
                    column.series = vec![f64::NAN; snapshots];
                }
            }
            let questions = Questions::of(&draft.section, system);
            places.push(SectionState { role, questions, series: kept, ..SectionState::default() });
        }
        let commands = Commands::new(series != &Series::None);
        let doubts = Doubts::default();
        Self { part, places, gauges, doubts, commands, hint: 0, untimed: None }
    }

    /// The place of a snapshot in the timeline, and the seconds for which it stands; `None` when it
    /// is not within the part that is read.
    fn when(
        &mut self,
        id: u64,
        line: u64,
        troubles: &mut Troubles,
    ) -> Option<(Option<usize>, f64)> {
        let timeline = &self.part.timeline;
        if let Some(place) = timeline.find(id, self.hint) {
            self.hint = place;
            return Some((Some(place), f64::from(timeline.stamps()[place].seconds)));
        }
        if timeline.is_part() {
            return None;
        }
        if self.untimed.replace(id) != Some(id) {
            troubles.add(line, TroubleKind::NoTime(id));
        }
        Some((None, timeline.usual_s()))
    }

    pub(crate) fn row(
        &mut self,
        line: &Line<'_>,
        number: u64,
        figures: &mut Vec<f64>,
        troubles: &mut Troubles,
    ) {
        let (first, rest) = line.first();
        let Some(id) = snapshot_id(first) else { return }; // a header
        let Some((place, seconds)) = self.when(id, number, troubles) else { return };
        let at = match self.part.places.get(line.section) {
            Some(at) => *at,
            None => match self.without_header(line.section, number, troubles) {
                Some(at) => at,
                None => return,
            },
        };
        let (draft, about) = (&mut self.part.drafts[at], &mut self.places[at]);
        let is_first = self.part.timeline.is_first(id);
        let zero_is_missing = if is_first { about.role.unknown_at_first() } else { &[] };
        let (separator, decimal) = (line.separator, line.decimal());
        let row = Row { line: number, id, rest, separator, decimal, seconds, zero_is_missing };
        let notes = draft.row(row, figures);
        about.note(&draft.section.name, draft.has_header, notes, number, troubles);
        about.last = id;
        if about.series
            && let Some(place) = place
        {
            for (column, figure) in draft.section.columns.iter_mut().zip(&*figures) {
                if let Some(kept) = column.series.get_mut(place) {
                    *kept = *figure;
                }
            }
        }
        about.role.row(figures, id, seconds, &mut self.gauges);
        let section = &draft.section;
        self.doubts
            .row(&about.questions, Read { section, figures, line: number, id, place, seconds });
    }

    fn without_header(
        &mut self,
        section: &[u8],
        number: u64,
        troubles: &mut Troubles,
    ) -> Option<usize> {
        let Some(draft) = self.part.draft(section, number) else {
            troubles.add(number, TroubleKind::TooMany("sections"));
            return None;
        };
        troubles.add(number, TroubleKind::DataWithoutHeader(draft.section.name.clone()));
        self.places.push(SectionState::default());
        Some(self.places.len() - 1)
    }

    pub(crate) fn process(&mut self, line: &Line<'_>, number: u64, troubles: &mut Troubles) {
        let Some(id) = snapshot_of(line) else { return };
        let Some(when) = self.when(id, number, troubles) else { return };
        if !self.commands.add(line, self.part.top, when) {
            troubles.add(number, TroubleKind::TooMany("commands in TOP"));
        }
    }

    /// Says what the recording as a whole lacks.
    pub(crate) fn judge(&self, lines: u64, troubles: &mut Troubles) {
        if self.part.timeline.is_part() {
            return; // what is lacking may be in the rest
        }
        let stamps = self.part.timeline.stamps();
        let drafts = || self.part.drafts.iter().zip(&self.places);
        for (draft, _) in drafts().filter(|(draft, _)| draft.section.rows == 0) {
            let name = draft.section.name.clone();
            troubles.add(draft.line, TroubleKind::HeaderWithoutData(name));
        }
        if let [.., before, last] = stamps {
            let always = stamps.len() as u64 - 1;
            let lacking: Vec<&str> = drafts()
                .filter(|(draft, place)| place.last == before.id && draft.section.rows >= always)
                .map(|(draft, _)| draft.section.name.as_str())
                .collect();
            if !lacking.is_empty() {
                let what = format!("snapshot T{:04} lacks {}", last.id, lacking.join(" "));
                troubles.add(lines, TroubleKind::Truncated(what));
            }
        }
        let found = stamps.len() as u64;
        if let Some(announced) = self.part.facts.snapshots().filter(|announced| *announced > found)
        {
            troubles.add(lines, TroubleKind::EndedEarly { announced, found });
        }
    }

    pub(crate) fn finish(mut self) -> Option<Recording> {
        self.gauges.close();
        let mut sections = self.part.drafts.iter().map(|draft| &draft.section);
        self.doubts.close(sections.find(|section| section.name == "CPU_ALL"));
        let rows: u64 = self.part.drafts.iter().map(|draft| draft.section.rows).sum();
        let facts = self.part.facts.entries().next().is_some();
        (facts || rows > 0 || !self.part.timeline.stamps().is_empty())
            .then(|| Recording::of(self.part, self.gauges, self.commands, self.doubts))
    }
}

impl SectionState {
    /// Says once what is remarkable about the rows of a section.
    fn note(
        &mut self,
        section: &str,
        has_header: bool,
        notes: Notes<'_>,
        line: u64,
        troubles: &mut Troubles,
    ) {
        if notes.header != notes.cells && has_header && !self.ragged {
            self.ragged = true;
            let (header, row) = (notes.header, notes.cells);
            troubles.add(line, TroubleKind::Ragged { section: section.to_owned(), header, row });
        }
        if let Some(cell) = notes.strange.filter(|_| !self.strange) {
            self.strange = true;
            let (section, cell) = (section.to_owned(), excerpt(cell));
            troubles.add(line, TroubleKind::NotAFigure { section, cell });
        }
        if !notes.fits {
            troubles.add(line, TroubleKind::TooMany("columns"));
        }
    }
}
