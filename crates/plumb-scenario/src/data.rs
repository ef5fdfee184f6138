//! Files whose lines give variables to users.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_measure::LoadPart;

use crate::csv::{self, CsvError, Quotes, Record, Records};
use crate::file::{self, AtEnd, Take};
use crate::variables::{Names, NoName, Slot, Value, Variables};
use crate::{OutOfReach, Reach};

/// Bytes and cells of a data file at most: they are kept in memory.
const FILE_BYTES_MAX: u64 = 64 << 20;
const CELLS_MAX: usize = 4_000_000;

/// The lines of a data file, and which comes next. All users share one.
#[derive(Debug)]
pub struct Lines {
    slots: Box<[Slot]>,
    /// Line after line, each with a cell for each slot.
    cells: Vec<Arc<str>>,
    take: Take,
    at_end: AtEnd,
    /// Which of all lines are those of this process.
    part: LoadPart,
    /// Lines that were taken, those that were not there included.
    taken: AtomicU64,
    ran_dry: AtomicU64,
}

/// How far one user is in lines of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLine(u64);

/// There is no further line, and it does not begin again: the user is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanDry;

/// A data file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct DataError {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub cause: DataProblem,
}

/// Why a data file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataProblem {
    /// It cannot be read.
    #[error(transparent)]
    NotRead(#[from] io::Error),
    /// It is not there, or lies where the scenario may not name files.
    #[error(transparent)]
    OutOfReach(OutOfReach),
    /// It is larger than is kept.
    #[error(
        "more than {} MiB or {CELLS_MAX} cells are not kept in memory; cut the file",
        FILE_BYTES_MAX >> 20
    )]
    TooLarge,
    /// It is no UTF-8.
    #[error("line {line} is not UTF-8; convert the file, for example with iconv")]
    NotUtf8 {
        /// From 1.
        line: usize,
    },
    /// It is no CSV.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// A line with too few or too many cells.
    #[error("line {line} has {cells} cells, expected {expected}")]
    Cells {
        /// From 1.
        line: usize,
        /// As many as it has.
        cells: usize,
        /// As many as there are names.
        expected: usize,
    },
    /// A name that no variable can have.
    #[error("{cause}; name the variables with names = [...]")]
    Name {
        /// Which one.
        cause: NoName,
    },
    /// The same name twice.
    #[error("two columns are called `{name}`")]
    NameTwice {
        /// Which one.
        name: String,
    },
    /// No line with values.
    #[error("there is no line with values")]
    Empty,
    /// A character that cannot stand between cells.
    #[error("the delimiter cannot be a quote or the end of a line")]
    Delimiter,
}

impl Lines {
    /// Reads the file of `data` where it lies within `reach`; its variables become known to
    /// `names`.
    ///
    /// # Errors
    /// [`DataError`] with the file and, where there is one, the line.
    pub fn read(data: &file::Data, reach: &Reach, names: &mut Names) -> Result<Self, DataError> {
        let path = reach.folder().join(data.file.get_ref());
        let real = reach.file(data.file.get_ref()).map_err(DataProblem::OutOfReach);
        real.and_then(|real| text_of(&real))
            .and_then(|text| Self::parse(data, &text, names))
            .map_err(|cause| DataError { path, cause })
    }

    fn parse(data: &file::Data, text: &str, names: &mut Names) -> Result<Self, DataProblem> {
        let delimiter = data.delimiter.unwrap_or(',');
        if matches!(delimiter, '"' | '\n' | '\r') {
            return Err(DataProblem::Delimiter);
        }
        let mut records = csv::records(text, delimiter, data.quotes);
        let slots = match &data.names[..] {
            // a name has no quotes: those in the line of names stand around them in any case
            [] => {
                let head = records.next_with(Quotes::AroundCells).transpose()?;
                slots(&head.unwrap_or_default().cells, names)?
            }
            given => slots(given, names)?,
        };
        Ok(Self {
            cells: cells(records, slots.len(), data.ignore_further)?,
            slots,
            take: data.take,
            at_end: data.at_end,
            part: LoadPart::default(),
            taken: AtomicU64::new(0),
            ran_dry: AtomicU64::new(0),
        })
    }

    /// The same lines, of which a process takes its part: they are dealt in turn. Lines of each
    /// user's own are all lines still.
    #[must_use]
    pub fn dealt(self, part: LoadPart) -> Self {
        Self { part, ..self }
    }

    /// The variables that a line sets.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.slots.iter().copied()
    }

    /// Lines with values.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.cells.len() / self.slots.len()) as u64
    }

    /// When a user takes the next line.
    #[must_use]
    pub fn take_when(&self) -> Take {
        self.take
    }

    /// Where user `number` begins in these lines, as far as they are its own.
    #[must_use]
    pub fn own_line(&self, number: usize) -> OwnLine {
        match self.take {
            Take::ByUser => OwnLine(number as u64),
            Take::EachScript | Take::EachUser | Take::OwnLines => OwnLine::default(),
        }
    }

    /// Gives a user the next line: of all lines together or, with `own-lines`, of its own, which
    /// `own` counts. Nothing is copied.
    ///
    /// # Errors
    /// [`RanDry`] behind the last line when it does not begin again; the variables stay.
    pub fn take(&self, own: &mut OwnLine, variables: &mut Variables) -> Result<(), RanDry> {
        let number = match self.take {
            Take::EachScript | Take::EachUser => {
                self.part.number(self.taken.fetch_add(1, Ordering::Relaxed))
            }
            Take::OwnLines => {
                own.0 += 1;
                own.0 - 1
            }
            Take::ByUser => own.0,
        };
        if self.at_end == AtEnd::Stop && number >= self.count() {
            self.ran_dry.fetch_add(1, Ordering::Relaxed);
            return Err(RanDry);
        }
        self.set(number, variables);
        Ok(())
    }

    /// Gives `variables` what line `number` says; behind the last line they begin again.
    pub fn set(&self, number: u64, variables: &mut Variables) {
        let line = usize::try_from(number % self.count()).unwrap_or(0);
        let cells = &self.cells[line * self.slots.len()..];
        for (slot, cell) in self.slots.iter().zip(cells) {
            variables.set(*slot, Value::Text(Arc::clone(cell)));
        }
    }

    /// How often a user found no further line.
    #[must_use]
    pub fn ran_dry(&self) -> u64 {
        self.ran_dry.load(Ordering::Relaxed)
    }
}

fn slots(head: &[String], names: &mut Names) -> Result<Box<[Slot]>, DataProblem> {
    let mut slots = Vec::new();
    for name in head {
        let slot = names.slot(name.trim()).map_err(|cause| DataProblem::Name { cause })?;
        if slots.contains(&slot) {
            return Err(DataProblem::NameTwice { name: name.clone() });
        }
        slots.push(slot);
    }
    Ok(slots.into())
}

/// The cells of all records, each of which has `expected`; further ones may be ignored.
fn cells(
    records: Records<'_>,
    expected: usize,
    ignore_further: bool,
) -> Result<Vec<Arc<str>>, DataProblem> {
    let mut cells = Vec::new();
    for record in records {
        let Record { line, cells: mut more } = record?;
        if ignore_further {
            more.truncate(expected);
        }
        if more.len() != expected {
            return Err(DataProblem::Cells { line, cells: more.len(), expected });
        }
        if cells.len() + expected > CELLS_MAX {
            return Err(DataProblem::TooLarge);
        }
        cells.extend(more.into_iter().map(Arc::from));
    }
    if cells.is_empty() { Err(DataProblem::Empty) } else { Ok(cells) }
}

/// The text of a file, without a mark of its encoding.
fn text_of(path: &Path) -> Result<String, DataProblem> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(DataProblem::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        DataProblem::NotUtf8 { line }
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.into(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use toml::Spanned;

    use super::*;

    fn data(take: Take, at_end: AtEnd) -> file::Data {
        file::Data {
            file: Spanned::new(0..0, "users.csv".into()),
            names: Vec::new(),
            delimiter: None,
            quotes: Quotes::AroundCells,
            ignore_further: false,
            take,
            at_end,
        }
    }

    fn lines(data: &file::Data, text: &str) -> Result<(Lines, Names), String> {
        let mut names = Names::default();
        let lines = Lines::parse(data, text, &mut names);
        lines.map(|lines| (lines, names)).map_err(|error| error.to_string())
    }

    const THREE: &str = "user,password\nanna,a\nben,\"b,\"\"\"\ncarl,c\n";

    /// What a user has after the next take: `user:password`.
    fn taken(lines: &Lines, own: &mut OwnLine, variables: &mut Variables) -> Option<String> {
        lines.take(own, variables).ok()?;
        let mut slots = lines.slots();
        let mut next = || match variables.get(slots.next().unwrap()) {
            Some(Value::Text(text)) => text.to_string(),
            other => panic!("{other:?}"),
        };
        Some(format!("{}:{}", next(), next()))
    }

    #[test]
    fn users_share_lines_or_have_their_own() {
        let (shared, _) = lines(&data(Take::EachScript, AtEnd::Again), THREE).unwrap();
        let (own, _) = lines(&data(Take::OwnLines, AtEnd::Again), THREE).unwrap();
        let user = || (OwnLine::default(), Variables::new(Arc::default()));
        let (mut one, mut two) = (user(), user());
        let mut order = |lines: &Lines| {
            (0..4)
                .flat_map(|_| {
                    [&mut one, &mut two].map(|user| taken(lines, &mut user.0, &mut user.1).unwrap())
                })
                .map(|line| line.chars().next().unwrap())
                .collect::<String>()
        };
        assert_eq!(order(&shared), "abcabcab");
        assert_eq!(order(&own), "aabbccaa");
        assert_eq!((shared.count(), shared.ran_dry(), own.ran_dry()), (3, 0, 0));
    }

    #[test]
    fn what_ran_dry_is_counted_and_changes_nothing() {
        let (lines, names) = lines(&data(Take::EachUser, AtEnd::Stop), THREE).unwrap();
        assert_eq!(names.all().collect::<Vec<_>>(), ["user", "password"]);
        let (mut own, mut variables) = (OwnLine::default(), Variables::new(Arc::default()));
        let all: Vec<_> = (0..5).map(|_| taken(&lines, &mut own, &mut variables)).collect();
        assert_eq!(all.iter().flatten().count(), 3);
        assert_eq!(all[1].as_deref(), Some("ben:b,\""));
        assert_eq!(lines.ran_dry(), 2);
        let first = lines.slots().next().unwrap();
        assert_eq!(variables.get(first), Some(&Value::text("carl")));
        assert_eq!(lines.take_when(), Take::EachUser);
    }

    #[test]
    fn quotes_may_be_characters_of_the_values() {
        let data = file::Data { quotes: Quotes::Characters, ..data(Take::EachScript, AtEnd::Stop) };
        // of the line of names they are no part in any case, as with JMeter
        let (_, names) = lines(&data, "\"user\",\"pw\"\nu\"1,\"p1\"\n").unwrap();
        assert_eq!(names.all().collect::<Vec<_>>(), ["user", "pw"]);
        let (lines, _) = lines(&data, "user,password\n\"4711\",x\n\"a,b\"\n").unwrap();
        let (mut own, mut variables) = (OwnLine::default(), Variables::new(Arc::default()));
        let all: Vec<_> = (0..2).map(|_| taken(&lines, &mut own, &mut variables)).collect();
        assert_eq!(all, [Some("\"4711\":x".to_owned()), Some("\"a:b\"".to_owned())]);
    }

    #[test]
    fn several_threads_take_each_line_once() {
        let text: String = (0..400).map(|n| format!("{n}\n")).collect();
        let data = file::Data { names: vec!["n".into()], ..data(Take::EachScript, AtEnd::Stop) };
        let (lines, _) = lines(&data, &text).unwrap();
        let mut all: Vec<String> = std::thread::scope(|scope| {
            let user = || {
                let (mut own, mut variables) = (OwnLine::default(), Variables::new(Arc::default()));
                let slot = lines.slots().next().unwrap();
                let mut seen = Vec::new();
                while lines.take(&mut own, &mut variables).is_ok() {
                    match variables.get(slot) {
                        Some(Value::Text(text)) => seen.push(text.to_string()),
                        other => panic!("{other:?}"),
                    }
                }
                seen
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(user)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable_by_key(|n| n.parse::<u32>().unwrap());
        assert_eq!(all, (0..400).map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(lines.ran_dry(), 4);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let data = data(Take::EachScript, AtEnd::Again);
        for (text, words) in [
            ("", "there is no line"),
            ("user\n\n", "there is no line"),
            ("user,user\na,b\n", "two columns are called `user`"),
            ("user name\na\n", "`user name` is no name of a variable"),
            ("a,b\n1,2\n\n3\n", "line 4 has 1 cells, expected 2"),
            ("a\n\"b", "line 2, column 1: the quote is not closed"),
        ] {
            let problem = lines(&data, text).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
        let further = file::Data { ignore_further: true, ..data.clone() };
        assert_eq!(lines(&further, "a,b\n1,2,3\n4,5\n").unwrap().0.count(), 2);
        assert!(lines(&further, "a,b\n1\n").unwrap_err().contains("1 cells, expected 2"));
        let quote = file::Data { delimiter: Some('"'), ..data };
        assert!(lines(&quote, "a\n1\n").unwrap_err().contains("the delimiter cannot be"));
    }

    #[test]
    fn a_file_is_read_relative_to_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.csv");
        let written = |bytes: &[u8]| File::create(&path).unwrap().write_all(bytes).unwrap();
        let read = || {
            let data = file::Data { delimiter: Some(';'), ..data(Take::EachScript, AtEnd::Again) };
            Lines::read(&data, &Reach::of(folder.path()), &mut Names::default())
        };
        let missing = read().unwrap_err();
        assert!(missing.to_string().contains("users.csv: ") && missing.path == path);
        assert!(matches!(missing.cause, DataProblem::OutOfReach(OutOfReach::NotFound(_))));
        written("\u{feff}a;b\n1;2\n".as_bytes());
        assert_eq!(read().unwrap().count(), 1);
        written(b"a;b\n\xe4;2\n");
        assert!(matches!(read().unwrap_err().cause, DataProblem::NotUtf8 { line: 2 }));
    }
}
