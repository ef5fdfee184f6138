//! A small table: names on the left, figures flush right.

use crate::trust::Trust;

/// What stands in a column: to which side, and which verdict takes it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Words, on the left.
    Words,
    /// The verdict on a row, on the left.
    Verdict,
    /// A count or another fact that stands whatever the verdict.
    Figure,
    /// A throughput: what is not valid has none.
    Rate,
    /// A time: what has no valid latency has none.
    Latency,
}

impl ColumnKind {
    /// True when the cells stand on the left.
    pub fn left(self) -> bool {
        matches!(self, Self::Words | Self::Verdict)
    }
}

/// A column and when it gives way.
#[derive(Clone, Debug)]
pub struct Column {
    /// What stands above it.
    pub title: String,
    /// What stands in it.
    pub kind: ColumnKind,
    /// A narrow table leaves out the highest rank first; rank 0 always stays.
    pub rank: u8,
}

impl Column {
    /// A column of its kind that never gives way.
    pub fn new(kind: ColumnKind, title: impl Into<String>) -> Self {
        Self { title: title.into(), kind, rank: 0 }
    }

    /// Words, such as the value of a label.
    pub fn words(title: impl Into<String>) -> Self {
        Self::new(ColumnKind::Words, title)
    }

    /// A fact.
    pub fn figure(title: impl Into<String>) -> Self {
        Self::new(ColumnKind::Figure, title)
    }

    /// A time.
    pub fn latency(title: impl Into<String>) -> Self {
        Self::new(ColumnKind::Latency, title)
    }

    /// The same, giving way at `rank`.
    pub fn giving_way(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

/// One line of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// One a column.
    pub cells: Vec<String>,
    /// How far its figures may be used.
    pub trust: Trust,
    /// True for the row that answers the question.
    pub main: bool,
}

/// Columns and rows of text.
#[derive(Clone, Debug)]
pub struct Table {
    /// From left to right.
    pub columns: Vec<Column>,
    /// From top to bottom.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row whose figures may be used.
    pub fn push(&mut self, cells: Vec<String>) {
        self.push_trusted(cells, Trust::Full);
    }

    /// Adds a row whose figures may be used as far as `trust` goes.
    pub fn push_trusted(&mut self, cells: Vec<String>, trust: Trust) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a row has a cell for every column");
        self.rows.push(Row { cells, trust, main: false });
    }

    /// Adds the row that answers the question, or one beside it.
    pub fn push_main(&mut self, cells: Vec<String>, main: bool) {
        self.push(cells);
        if let Some(row) = self.rows.last_mut() {
            row.main = main;
        }
    }

    /// The table without those columns of words that say the same long thing in each of several rows,
    /// and what they say, by their titles.
    #[must_use]
    pub fn said_once(mut self) -> (Self, Vec<(String, String)>) {
        /// Characters that may well stand in every row.
        const SHORT: usize = 24;
        let mut once = Vec::new();
        for at in (0..self.columns.len()).rev() {
            let [first, rest @ ..] = &self.rows[..] else { break };
            let said = &first.cells[at];
            let alike = !rest.is_empty() && rest.iter().all(|row| row.cells[at] == *said);
            let words = self.columns[at].kind == ColumnKind::Words;
            if words && alike && said.chars().count() > SHORT {
                let said = said.clone();
                once.push((self.columns.remove(at).title, said));
                for row in &mut self.rows {
                    row.cells.remove(at);
                }
            }
        }
        once.reverse();
        (self, once)
    }

    /// The width of the whole table as text.
    pub fn width(&self) -> usize {
        width_of(self.widths())
    }

    /// The table within `width` columns of text, and the titles of the columns that gave way.
    pub fn text(&self, width: usize) -> (String, Vec<&str>) {
        let widths = self.widths();
        let kept = self.fitting(&widths, width);
        let dropped = (0..self.columns.len())
            .filter(|at| !kept.contains(at))
            .map(|at| self.columns[at].title.as_str())
            .collect();
        (self.lines(&kept, &widths), dropped)
    }

    /// The whole table within `width` columns of text: columns that give way stand in further tables
    /// below, each behind the words that name the rows and the verdict on them.
    pub fn in_parts(&self, width: usize) -> String {
        let widths = self.widths();
        let kept = self.fitting(&widths, width);
        let mut left: Vec<usize> =
            (0..self.columns.len()).filter(|at| !kept.contains(at)).collect();
        let named = |at: &usize| self.columns[*at].kind.left();
        let names: Vec<usize> = kept.iter().copied().take_while(named).collect();
        let mut out = self.lines(&kept, &widths);
        while !left.is_empty() {
            let mut taken = 1;
            while taken < left.len()
                && width_of(names.iter().chain(&left[..=taken]).map(|at| widths[*at])) <= width
            {
                taken += 1;
            }
            let rest = left.split_off(taken);
            out.push('\n');
            out.push_str(&self.lines(&[&names[..], &left].concat(), &widths));
            left = rest;
        }
        out
    }

    /// The table as Markdown, complete.
    pub fn markdown(&self) -> String {
        let mut out = String::from("|");
        for column in &self.columns {
            out.push_str(&format!(" {} |", escaped(&column.title)));
        }
        out.push_str("\n|");
        for column in &self.columns {
            out.push_str(if column.kind.left() { ":--|" } else { "--:|" });
        }
        out.push('\n');
        for row in &self.rows {
            out.push('|');
            for cell in &row.cells {
                out.push_str(&format!(" {} |", escaped(cell)));
            }
            out.push('\n');
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        (0..self.columns.len())
            .map(|at| {
                let cells = self.rows.iter().map(|row| row.cells[at].chars().count());
                cells.chain([self.columns[at].title.chars().count()]).max().unwrap_or(0)
            })
            .collect()
    }

    /// The places of the columns that fit.
    fn fitting(&self, widths: &[usize], width: usize) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        while width_of(kept.iter().map(|at| widths[*at])) > width {
            let last = kept.iter().copied().max_by_key(|at| self.columns[*at].rank);
            match last {
                Some(at) if self.columns[at].rank > 0 => kept.retain(|other| *other != at),
                _ => break,
            }
        }
        kept
    }

    /// Titles and rows of these columns.
    fn lines(&self, kept: &[usize], widths: &[usize]) -> String {
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        let mut out = self.line(&titles, kept, widths);
        for row in &self.rows {
            out.push_str(&self.line(&row.cells, kept, widths));
        }
        out
    }

    fn line(&self, cells: &[String], kept: &[usize], widths: &[usize]) -> String {
        let padded: Vec<String> = kept
            .iter()
            .map(|at| {
                let (cell, width) = (&cells[*at], widths[*at]);
                if self.columns[*at].kind.left() {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        padded.join(GAP).trim_end().to_owned() + "\n"
    }
}

/// Between two columns of text.
const GAP: &str = "  ";

/// The width of columns of these widths beside each other.
fn width_of(widths: impl IntoIterator<Item = usize>) -> usize {
    let wide: usize = widths.into_iter().map(|width| width + GAP.len()).sum();
    wide.saturating_sub(GAP.len())
}

/// Text that Markdown shows as it is, on one line.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '`' | '*' | '<' | '[' | ']' | '~' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// At most the last `most` characters of a name, which say more than the first.
pub fn end_of(name: &str, most: usize) -> String {
    const CUT: &str = "...";
    let count = name.chars().count();
    if count <= most {
        return name.into();
    }
    let tail: String = name.chars().skip(count + CUT.len() - most).collect();
    format!("{CUT}{tail}")
}

/// Text that Markdown shows as it is, on lines of its own. Ends with a line end.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{text}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> Table {
        let mut table = Table::new(vec![
            Column::words("size"),
            Column::latency("p50"),
            Column::figure("extra").giving_way(2),
            Column::figure("more").giving_way(1),
        ]);
        table.push(["1B", "14.3 us", "1", "22"].map(String::from).to_vec());
        table.push(["64KiB", "1.90 ms", "12345", "3"].map(String::from).to_vec());
        table
    }

    #[test]
    fn figures_stand_flush_right_and_names_left() {
        let table = sizes();
        let (text, dropped) = table.text(80);
        let expected = "size       p50  extra  more\n\
                        1B     14.3 us      1    22\n\
                        64KiB  1.90 ms  12345     3\n";
        assert_eq!(text, expected);
        assert!(dropped.is_empty());
    }

    #[test]
    fn the_highest_rank_gives_way_first_and_is_named() {
        let table = sizes();
        let (text, dropped) = table.text(20);
        assert!(text.starts_with("size       p50  more\n"), "{text}");
        assert_eq!(dropped, ["extra"]);
        let (text, dropped) = table.text(3);
        assert!(text.starts_with("size       p50\n"), "{text}");
        assert_eq!(dropped, ["extra", "more"]);
    }

    #[test]
    fn what_gives_way_stands_below_the_names_of_its_rows() {
        let table = sizes();
        assert_eq!(table.in_parts(80), table.text(80).0);
        let expected = "size       p50  more\n\
                        1B     14.3 us    22\n\
                        64KiB  1.90 ms     3\n\
                        \n\
                        size   extra\n\
                        1B         1\n\
                        64KiB  12345\n";
        assert_eq!(table.in_parts(20), expected);
        let narrow = table.in_parts(3);
        assert_eq!(narrow.matches("size").count(), 3, "one column each: {narrow}");
        assert!(sizes().in_parts(12).ends_with("1B       22\n64KiB     3\n"), "{narrow}");
    }

    #[test]
    fn figures_that_gave_way_stand_beside_the_verdict_on_their_row() {
        let mut table = Table::new(vec![
            Column::words("size"),
            Column::new(ColumnKind::Verdict, "verdict"),
            Column::figure("msgs/s"),
            Column::latency("mean").giving_way(1),
        ]);
        table.push(["1B", "valid", "92.8 k", "11.5 us"].map(String::from).to_vec());
        let doubted = ["64KiB", "no latency", "247 k", "65.9 us"].map(String::from).to_vec();
        table.push_trusted(doubted, Trust::Throughput);
        let text = table.in_parts(28);
        let (_, further) = text.split_once("\n\n").unwrap();
        let expected = "size   verdict        mean\n\
                        1B     valid       11.5 us\n\
                        64KiB  no latency  65.9 us\n";
        assert_eq!(further, expected, "{text}");
    }

    #[test]
    fn what_every_row_says_at_length_is_said_once() {
        let mut table = Table::new(vec![Column::words("size"), Column::words("waits by")]);
        let long = "epoll by the runtime, tick free";
        table.push(vec!["1B".into(), long.into()]);
        assert!(table.clone().said_once().1.is_empty(), "of a single row nothing is repeated");
        table.push(vec!["2B".into(), long.into()]);
        let (shorter, once) = table.clone().said_once();
        assert_eq!((shorter.columns.len(), once), (1, vec![("waits by".into(), long.into())]));
        table.push(vec!["3B".into(), "something else".into()]);
        assert!(table.said_once().1.is_empty());
    }

    #[test]
    fn markdown_keeps_every_column_and_its_side() {
        let text = sizes().markdown();
        assert!(text.starts_with("| size | p50 | extra | more |\n|:--|--:|--:|--:|\n"), "{text}");
    }

    #[test]
    fn a_fence_is_longer_than_any_in_its_text() {
        assert_eq!(fenced("a"), "```\na\n```\n");
        assert_eq!(fenced("```sh"), "````\n```sh\n````\n");
    }

    #[test]
    fn a_cell_cannot_end_its_column_or_start_a_tag() {
        assert_eq!(escaped("a|b <i> `c`\nd"), "a\\|b \\<i> \\`c\\` d");
    }
}
