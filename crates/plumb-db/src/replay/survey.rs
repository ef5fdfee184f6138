//! A file is read twice: first to check it and to find out what there is, then to replay it.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::iter::Take;

use plumb_db_login::Product;
use plumb_sql_log::fingerprint;
use plumb_sql_log::{Entry, Logged, UnreadableLog};

use crate::DbError;
use crate::statement::{Given, Statement, language_of};

/// Different statements that are told from each other while a file is surveyed.
const FINGERPRINTS_MAX: usize = 10_000;
/// Sessions that are told from each other.
const SESSIONS_MAX: usize = 1 << 20;
/// Statements, and bytes of them, that wait to be put into the order in which they began: a log is in the
/// order in which they ended.
const WAITING_MAX: usize = 10_000;
const WAITING_BYTES_MAX: usize = 64 << 20;
/// How far a moment that a log names in milliseconds may lie before the true one, microseconds.
const CUT_US: i64 = 1_000;
/// Lines of a log come in the order in which they were logged, but for less than this, microseconds.
const STEP_BACK_US: i64 = 60_000_000;
/// The row of all statements without one of their own.
const OTHERS: &str = "all other statements";

/// What a statement is to a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Replayed,
    /// It is left out: it may write.
    MayWrite,
    /// It is left out: it begins, ends or sets what others run in.
    Control,
    /// It is left out: several are written as one, and the server takes one at a time.
    Several,
}

impl Fate {
    fn of(logged: &Logged, reading: Reading) -> Self {
        let statement = reading.statement(logged);
        let word = statement.first_word();
        if statement.is_control() || statement.may_end_transaction() {
            Self::Control
        } else if reading.takes_one_at_a_time(word)
            && fingerprint::holds_several(&logged.text, language_of(reading.product))
        {
            Self::Several
        } else if reading.writes_allowed || statement.only_asks() {
            Self::Replayed
        } else {
            Self::MayWrite
        }
    }
}

/// How statements of a file are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) product: Product,
    pub(super) writes_allowed: bool,
    /// Rows for statements of their own.
    pub(super) rows: usize,
}

impl Reading {
    /// True where a statement that begins with `word` is refused when another stands behind it. What
    /// makes a procedure or a rule may hold others.
    fn takes_one_at_a_time(self, word: &str) -> bool {
        matches!(self.product, Product::Postgres | Product::Mysql)
            && !word.eq_ignore_ascii_case("CREATE")
    }

    /// The statement without its values.
    fn fingerprint(self, logged: &Logged) -> String {
        fingerprint::of(&logged.text, language_of(self.product))
    }

    fn statement(self, logged: &Logged) -> Statement {
        let given = logged.parameters.iter().cloned().map(Given).collect();
        Statement::logged(&logged.text, given, self.product)
    }
}

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Entries of any kind.
    entries: usize,
    pub(super) replayed: u64,
    pub(super) may_write: u64,
    pub(super) control: u64,
    pub(super) several: u64,
    /// Lines that are not in English, in which no statement is found.
    pub(super) translated: u64,
    /// Where the clock of the log went back.
    pub(super) back: Option<StepBack>,
    pub(super) sessions: u64,
    /// When the first statement that is replayed began, and the last, microseconds.
    pub(super) first_us: i64,
    pub(super) last_us: i64,
    /// The longest series of one statement that one session asked.
    pub(super) series: Series,
    /// What the rows are called.
    pub(super) rows: Vec<String>,
    numbers: HashMap<u64, u16>,
}

/// A line that was logged long before the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepBack {
    pub(super) line: u64,
    pub(super) before: u64,
    /// How long, microseconds.
    pub(super) us: i64,
}

/// One statement that one session asked over and over, nothing else in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Series {
    /// The statement without its values.
    pub(super) name: String,
    pub(super) times: u64,
}

fn number_of(text: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(text)
}

impl Survey {
    /// Reads all of `entries`.
    ///
    /// # Errors
    /// Those of the entries.
    pub(super) fn of(
        entries: impl Iterator<Item = Result<Entry, UnreadableLog>>,
        reading: Reading,
    ) -> Result<Self, DbError> {
        let mut survey = Self { first_us: i64::MAX, last_us: i64::MIN, ..Self::default() };
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut sessions: HashMap<u64, (u64, u64)> = HashMap::new();
        let mut before = (0, i64::MIN);
        for entry in entries {
            let entry = entry?;
            survey.entries += 1;
            let logged = match entry {
                Entry::Statement(logged) => logged,
                Entry::Translated => {
                    survey.translated += 1;
                    continue;
                }
                Entry::Other => continue,
            };
            let us = before.1.saturating_sub(logged.logged_us);
            if us >= STEP_BACK_US {
                let step = StepBack { line: logged.line, before: before.0, us };
                survey.back.get_or_insert(step);
            }
            before = (logged.line, logged.logged_us);
            let fate = Fate::of(&logged, reading);
            let session = number_of(&logged.session);
            if fate != Fate::Replayed
                && let Some(so_far) = sessions.get_mut(&session)
            {
                *so_far = (0, 0); // it stands between statements of its session
            }
            match fate {
                Fate::MayWrite => survey.may_write += 1,
                Fate::Control => survey.control += 1,
                Fate::Several => survey.several += 1,
                Fate::Replayed => {
                    survey.replayed += 1;
                    survey.first_us = survey.first_us.min(logged.at_us);
                    survey.last_us = survey.last_us.max(logged.at_us);
                    let name = reading.fingerprint(&logged);
                    if sessions.len() < SESSIONS_MAX || sessions.contains_key(&session) {
                        survey.follow(sessions.entry(session).or_default(), &name);
                    }
                    if counts.len() < FINGERPRINTS_MAX || counts.contains_key(&name) {
                        *counts.entry(name).or_default() += 1;
                    }
                }
            }
        }
        survey.sessions = sessions.len() as u64;
        survey.name_rows(counts, reading.rows);
        Ok(survey)
    }

    /// A session asks the statement called `name`, behind so many of the same in `so_far`.
    fn follow(&mut self, so_far: &mut (u64, u64), name: &str) {
        let number = number_of(name);
        let times = if so_far.0 == number { so_far.1 + 1 } else { 1 };
        *so_far = (number, times);
        if times > self.series.times {
            self.series = Series { name: name.into(), times };
        }
    }

    /// The statements that came most often have a row each, all others one.
    fn name_rows(&mut self, counts: HashMap<String, u64>, rows: usize) {
        let named: u64 = counts.values().sum();
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
        let has_others = counts.len() > rows || named < self.replayed;
        counts.truncate(rows);
        self.rows = counts.into_iter().map(|(name, _)| name).collect();
        let numbered = (0_u16..).zip(&self.rows);
        self.numbers = numbered.map(|(number, name)| (number_of(name), number)).collect();
        if has_others {
            self.rows.push(OTHERS.into());
        }
    }

    /// The row of a statement called `name`.
    fn row(&self, name: &str) -> u16 {
        let others = u16::try_from(self.rows.len().saturating_sub(1)).unwrap_or(u16::MAX);
        self.numbers.get(&number_of(name)).copied().unwrap_or(others)
    }
}

/// A statement that is replayed, without its values.
pub(super) fn name_of(statement: &Statement) -> String {
    fingerprint::of(&statement.text, language_of(statement.product))
}

/// A statement to be replayed.
#[derive(Debug)]
pub(super) struct Due {
    /// Microseconds after the first.
    pub(super) after_us: u64,
    /// Its session, by a number.
    pub(super) session: u64,
    pub(super) row: u16,
    pub(super) statement: Statement,
}

/// The statements of a file that are replayed, in the order in which they began.
#[derive(Debug)]
pub(super) struct Replayed<'a, I> {
    /// Those that were surveyed: a file that is still written to would never end, least of all by what is
    /// replayed.
    entries: Take<I>,
    survey: &'a Survey,
    reading: Reading,
    /// When the last statement of each session began, in the order of the log.
    began: HashMap<u64, i64>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    bytes: usize,
    number: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Waiting {
    logged: Logged,
    number: u64,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.logged.at_us, self.number).cmp(&(other.logged.at_us, other.number))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a, I: Iterator<Item = Result<Entry, UnreadableLog>>> Replayed<'a, I> {
    pub(super) fn of(entries: I, survey: &'a Survey, reading: Reading) -> Self {
        let (began, waiting) = (HashMap::new(), BinaryHeap::new());
        let entries = entries.take(survey.entries);
        Self { entries, survey, reading, began, waiting, bytes: 0, number: 0 }
    }

    /// Reads on until enough wait, or nothing more comes.
    fn read_on(&mut self) -> Result<(), DbError> {
        while self.waiting.len() < WAITING_MAX && self.bytes < WAITING_BYTES_MAX {
            let Some(entry) = self.entries.next() else { return Ok(()) };
            let Entry::Statement(mut logged) = entry? else { continue };
            self.keep_order(&mut logged);
            if Fate::of(&logged, self.reading) == Fate::Replayed {
                self.bytes += size(&logged);
                self.number += 1;
                self.waiting.push(Reverse(Waiting { logged, number: self.number }));
            }
        }
        Ok(())
    }

    /// Lets a statement begin no earlier than the one that its session had ended before: its beginning is taken
    /// from the moment of its end, which is cut, and its duration, which is not, so that of two short ones the
    /// longer would come first.
    fn keep_order(&mut self, logged: &mut Logged) {
        let session = number_of(&logged.session);
        if self.began.len() >= SESSIONS_MAX && !self.began.contains_key(&session) {
            return;
        }
        let before_us = self.began.entry(session).or_insert(logged.at_us);
        let is_reckoned = logged.at_us < logged.logged_us;
        // further back, somebody set the clock
        if is_reckoned && *before_us - logged.at_us < CUT_US {
            logged.at_us = logged.at_us.max(*before_us);
        }
        *before_us = logged.at_us;
    }
}

fn size(logged: &Logged) -> usize {
    let values = logged.parameters.iter().flatten().map(String::len).sum::<usize>();
    logged.text.len() + logged.session.len() + values
}

impl<I: Iterator<Item = Result<Entry, UnreadableLog>>> Iterator for Replayed<'_, I> {
    type Item = Result<Due, DbError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.read_on() {
            self.waiting.clear();
            return Some(Err(error));
        }
        let Reverse(Waiting { logged, .. }) = self.waiting.pop()?;
        self.bytes -= size(&logged);
        let name = self.reading.fingerprint(&logged);
        Some(Ok(Due {
            after_us: u64::try_from(logged.at_us - self.survey.first_us).unwrap_or(0),
            session: number_of(&logged.session),
            row: self.survey.row(&name),
            statement: self.reading.statement(&logged),
        }))
    }
}
