//! A section: its header and the statistics of its columns.

use std::collections::HashMap;

use crate::cell::{Cell, Line, number, text};
use crate::stat::Stat;

/// Most columns of a section; nmon starts a new section after 150 disks.
const COLUMNS_MAX: usize = 8_192;
/// Most headers of a section; a host gains processors or disks now and then.
const LAYOUTS_MAX: usize = 1_000;

/// One kind of line, such as `CPU_ALL` or `NET`.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The name, as it stands at the start of its lines.
    pub name: String,
    /// What its header says about it: `CPU Total` and the host, for example.
    pub title: String,
    /// The columns, those of all its headers.
    pub columns: Vec<Column>,
    /// Rows read.
    pub rows: u64,
}

/// One column and what its figures came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The title, without blanks around it.
    pub name: String,
    /// Statistics over the recording.
    pub stat: Stat,
    /// One figure a snapshot in the order of the timeline, not a number where it is missing;
    /// empty unless it was asked for.
    pub series: Vec<f64>,
}

impl Section {
    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// A section while it is read.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) section: Section,
    /// Line of the first header, or of the first row without any.
    pub(crate) line: u64,
    pub(crate) has_header: bool,
    layouts: Vec<Layout>,
    places: HashMap<String, usize>,
}

/// Which column each cell of a row belongs to, from a line on.
#[derive(Clone, Debug)]
struct Layout {
    line: u64,
    columns: Vec<usize>,
}

impl Draft {
    /// A section without a header.
    pub(crate) fn new(name: &[u8], line: u64) -> Self {
        let section =
            Section { name: text(name), title: String::new(), columns: Vec::new(), rows: 0 };
        let layouts = vec![Layout { line, columns: Vec::new() }];
        Self { section, line, has_header: false, layouts, places: HashMap::new() }
    }

    /// Books a header; tells the title of an earlier one that names something else, and whether
    /// columns had to be left out.
    pub(crate) fn header(&mut self, line: &Line<'_>, number: u64) -> (Option<String>, bool) {
        let (title, titles) = line.first();
        let title = text(title);
        let mut titles: Vec<String> = titles
            .map(|rest| rest.split(|byte| *byte == line.separator).map(text).collect())
            .unwrap_or_default();
        while titles.last().is_some_and(String::is_empty) {
            titles.pop();
        }
        let columns = self.section.columns.len().max(titles.len());
        if columns > COLUMNS_MAX || self.layouts.len() > LAYOUTS_MAX {
            return (None, true);
        }
        let columns = self.columns_of(titles);
        let last = self.layouts.last_mut();
        match last {
            Some(first) if !self.has_header => *first = Layout { line: number, columns },
            Some(last) if last.columns == columns => {}
            _ => self.layouts.push(Layout { line: number, columns }),
        }
        let other = self.has_header && self.section.title != title;
        if !self.has_header {
            self.section.title = title;
            self.has_header = true;
            return (None, false);
        }
        (other.then_some(title), false)
    }

    /// The places of columns with these titles; a title that comes twice gets a number.
    fn columns_of(&mut self, titles: Vec<String>) -> Vec<usize> {
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(titles.len());
        titles
            .into_iter()
            .enumerate()
            .map(|(at, title)| {
                let title = if title.is_empty() { numbered(at) } else { title };
                let times = seen.entry(title.clone()).or_default();
                *times += 1;
                let title = if *times > 1 { format!("{title} ({times})") } else { title };
                self.column_of(title)
            })
            .collect()
    }

    fn column_of(&mut self, name: String) -> usize {
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        let place = self.section.columns.len();
        self.section.columns.push(Column {
            name: name.clone(),
            stat: Stat::default(),
            series: Vec::new(),
        });
        self.places.insert(name, place);
        place
    }

    /// The header in force at a line; the first holds for the rows before it, too.
    fn layout_at(&self, line: u64) -> usize {
        let after = self.layouts.partition_point(|layout| layout.line <= line);
        after.saturating_sub(1)
    }

    /// Makes room for a row at `line` of `cells` cells; false when there is none.
    fn widen(&mut self, line: u64, cells: usize) -> bool {
        if cells.max(self.section.columns.len()) > COLUMNS_MAX {
            return false;
        }
        let at = self.layout_at(line);
        for cell in self.layouts[at].columns.len()..cells {
            let place = self.column_of(numbered(cell));
            self.layouts[at].columns.push(place);
        }
        true
    }

    /// Books the cells of a row. `figures` receives one figure a column, not a number where it is
    /// missing.
    pub(crate) fn row<'a>(&mut self, row: Row<'a, '_>, figures: &mut Vec<f64>) -> Notes<'a> {
        let at = self.layout_at(row.line);
        let header = self.layouts[at].columns.len();
        let mut notes = Notes { header, cells: 0, strange: None, fits: true };
        figures.clear();
        figures.resize(self.section.columns.len(), f64::NAN);
        let mut cells = row.rest.unwrap_or_default().split(|b| *b == row.separator);
        if row.rest.is_none() {
            cells.next(); // nothing at all is no cell
        }
        for place in &self.layouts[at].columns {
            let column = &mut self.section.columns[*place];
            match cells.next() {
                Some(cell) => {
                    notes.cells += 1;
                    figures[*place] = column.book(cell, *place, row, &mut notes.strange);
                }
                None => column.stat.miss(),
            }
        }
        // a separator at the end makes no cell, neither in a header nor in a row
        let more: Vec<&[u8]> = cells.collect();
        if let Some(last) = more.iter().rposition(|cell| !cell.trim_ascii().is_empty()) {
            notes.cells += last + 1;
            notes.fits = self.widen(row.line, notes.cells);
            figures.resize(self.section.columns.len(), f64::NAN);
            for (place, cell) in self.layouts[at].columns[header..].iter().zip(more) {
                let column = &mut self.section.columns[*place];
                figures[*place] = column.book(cell, *place, row, &mut notes.strange);
            }
        }
        self.section.rows += 1;
        notes
    }
}

impl Column {
    /// Books a cell; not a number when its figure is missing.
    fn book<'a>(
        &mut self,
        cell: &'a [u8],
        place: usize,
        row: Row<'_, '_>,
        strange: &mut Option<&'a [u8]>,
    ) -> f64 {
        match number(cell, row.decimal) {
            Cell::Value(0.0) if row.zero_is_missing.contains(&place) => self.stat.miss(),
            Cell::Value(value) => {
                self.stat.add(value, row.seconds, row.id);
                return value;
            }
            Cell::Missing => self.stat.miss(),
            Cell::Negative | Cell::Words => {
                self.stat.miss();
                *strange = strange.or(Some(cell));
            }
        }
        f64::NAN
    }
}

/// A row of a section, cut behind its snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a, 'z> {
    pub(crate) line: u64,
    /// The number of its snapshot.
    pub(crate) id: u64,
    pub(crate) rest: Option<&'a [u8]>,
    pub(crate) separator: u8,
    pub(crate) decimal: u8,
    /// Seconds for which its figures stand.
    pub(crate) seconds: f64,
    /// Columns in which zero means that nothing is known.
    pub(crate) zero_is_missing: &'z [usize],
}

/// What was remarkable about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notes<'a> {
    /// Columns of its header.
    pub(crate) header: usize,
    /// Cells of the row.
    pub(crate) cells: usize,
    /// The first cell that should hold a figure and does not.
    pub(crate) strange: Option<&'a [u8]>,
    /// False when cells had to be left out.
    pub(crate) fits: bool,
}

fn numbered(at: usize) -> String {
    format!("column {}", at + 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One without rows.
    pub(crate) fn section(name: &str, columns: &[&str]) -> Section {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            stat: Stat::default(),
            series: Vec::new(),
        };
        Section {
            name: name.to_owned(),
            title: String::new(),
            columns: columns.iter().map(column).collect(),
            rows: 0,
        }
    }

    fn draft(headers: &[(u64, &str)]) -> Draft {
        let mut draft = Draft::new(b"NET", 1);
        for (number, header) in headers {
            draft.header(&Line::split(header.as_bytes()).unwrap(), *number);
        }
        draft
    }

    fn names(draft: &Draft) -> Vec<&str> {
        draft.section.columns.iter().map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn titles_are_trimmed_and_a_comma_at_the_end_is_no_column() {
        let draft = draft(&[(1, "NET,Network, a ,b,,c,")]);
        assert_eq!(names(&draft), ["a", "b", "column 3", "c"]);
    }

    #[test]
    fn a_later_header_holds_from_its_line_on() {
        let draft = draft(&[(5, "NET,Network,a,b"), (50, "NET,Network,b,c,a")]);
        assert_eq!(names(&draft), ["a", "b", "c"]);
        let at = |line| &draft.layouts[draft.layout_at(line)].columns;
        assert_eq!(at(1), &[0, 1]);
        assert_eq!(at(49), &[0, 1]);
        assert_eq!(at(50), &[1, 2, 0]);
    }

    #[test]
    fn rows_may_be_shorter_or_longer_than_their_header() {
        let mut draft = draft(&[(1, "LPAR,Logical Partition,a,b,c")]);
        let mut figures = Vec::new();
        let mut book = |rest: &'static str| {
            let row = Row {
                line: 2,
                id: 1,
                rest: Some(rest.as_bytes()),
                separator: b',',
                decimal: b'.',
                seconds: 1.0,
                zero_is_missing: &[],
            };
            let notes = draft.row(row, &mut figures);
            (notes.cells, figures.iter().map(|f| f.to_string()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(book("1,2"), (2, "1 2 NaN".into()));
        assert_eq!(book("1,2,3,"), (3, "1 2 3".into()));
        assert_eq!(book("1,,-1,4"), (4, "1 NaN NaN 4".into()));
        let missing: Vec<u64> =
            draft.section.columns.iter().map(|column| column.stat.missing()).collect();
        assert_eq!(missing, [0, 1, 2, 0]);
        assert_eq!(draft.section.columns[3].name, "column 4");
    }

    #[test]
    fn a_title_that_comes_twice_is_two_columns() {
        assert_eq!(names(&draft(&[(1, "NET,Network,a,a,a")])), ["a", "a (2)", "a (3)"]);
    }
}
