//! What Windows records as CSV (`typeperf`, `relog -f csv`, data collector sets), as the lines of a
//! recording: the counters of an object or of one of its instances are a section, a row is a snapshot.
//!
//! The time zone in the header is kept as a fact; times are those of the host's own clock. A value may
//! stand in quotes, with a decimal comma, or be missing (a blank).
//!
//! # Source
//! Microsoft, `relog` and `typeperf`; "PDH log file formats", header `(PDH-CSV 4.0) (ZONE)(BIAS)`, in
//! which BIAS is UTC minus local time in minutes.

mod busy;
mod object;

use std::collections::HashMap;

use jiff::civil::DateTime;

use crate::cell::{Cell, letters, number, text};
use crate::input::{Next, Text};
use crate::trouble::{TroubleKind, excerpt};

/// The first line of a recording that is made of such a file.
pub(crate) const FIRST: &str = "AAA,progname,perfmon";
/// What a header of counters begins with.
const MARK: &[u8] = b"(PDH-CSV";
const BYTE_ORDER_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// Most columns that are taken; further ones are left out.
const COLUMNS_MAX: usize = 65_536;
/// The longest path of a counter that is kept as it is, bytes, and what is kept of a longer one.
const NAME_BYTES_MAX: usize = 512;
const NAME_CHARS_MAX: usize = 128;

pub(crate) use busy::is_busy_share;
pub use object::{CounterObject, apart};

/// Why a file of Windows cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PerfmonError {
    /// The header names no counter.
    #[error(
        "its header names no counter: expected \"(PDH-CSV 4.0) (zone)(bias)\",\
         \"\\\\HOST\\Processor(_Total)\\% Processor Time\""
    )]
    NoCounter,
    /// A header, and no row behind it.
    #[error("there is no row with a time behind its header; record longer than one interval")]
    NoRow,
    /// Separated by tabs.
    #[error("it is separated by tabs: write it with `relog FILE -f csv -o FILE.csv`")]
    Tabs,
    /// Two bytes a letter.
    #[error(
        "it is written in UTF-16: write it again with `typeperf -o FILE.csv`, not with `>` of PowerShell"
    )]
    Utf16,
}

/// The file that begins with the line `first` is one of Windows that is not read, for this reason.
pub(crate) fn refused(first: &[u8]) -> Option<PerfmonError> {
    let bare = first.trim_ascii_start();
    if BYTE_ORDER_MARKS.iter().any(|mark| first.starts_with(mark)) {
        return Some(PerfmonError::Utf16);
    }
    let bare = bare.strip_prefix(b"\"").unwrap_or(bare);
    bare.starts_with(b"(PDH-TSV").then_some(PerfmonError::Tabs)
}

/// True for a header of counters.
pub(crate) fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.strip_prefix(b"\"").unwrap_or(line).starts_with(MARK)
}

/// The counters of the header in force.
#[derive(Debug, Default)]
pub(crate) struct Perfmon {
    separator: u8,
    /// The full name of each column behind the time.
    paths: Vec<String>,
    sections: Vec<Counters>,
    /// Rows of this header.
    rows: u64,
}

/// The columns that are one section.
#[derive(Debug)]
struct Counters {
    section: String,
    title: String,
    names: Vec<String>,
    columns: Vec<usize>,
}

/// The parts of `\\HOST\Object(Instance)\Counter`.
struct Path<'a> {
    host: Option<&'a str>,
    object: &'a str,
    counter: &'a str,
}

impl<'a> Path<'a> {
    /// An instance may hold backslashes, a counter none.
    fn of(path: &'a str) -> Option<Self> {
        let (host, rest) = match path.strip_prefix("\\\\") {
            Some(rest) => rest.split_once('\\').map(|(host, rest)| (Some(host), rest))?,
            None => (None, path.strip_prefix('\\').unwrap_or(path)),
        };
        let (object, counter) = match rest.rfind(")\\") {
            Some(end) => (&rest[..=end], &rest[end + 2..]),
            None => rest.split_once('\\')?,
        };
        let is_name = !object.is_empty() && !counter.is_empty();
        is_name.then_some(Self { host, object, counter })
    }
}

impl Perfmon {
    /// Hands the lines that `line` stands for to `book`, until it has enough; false then.
    ///
    /// # Errors
    /// [`PerfmonError::NoCounter`] of a header without any.
    pub(crate) fn line(
        &mut self,
        line: Text<'_>,
        book: &mut impl FnMut(Next<'_>) -> bool,
    ) -> Result<bool, PerfmonError> {
        if is_header(line.text) {
            return self.header(line, book);
        }
        if line.text.trim_ascii().is_empty() {
            return Ok(true);
        }
        Ok(self.row(line, book))
    }

    fn header(
        &mut self,
        line: Text<'_>,
        book: &mut impl FnMut(Next<'_>) -> bool,
    ) -> Result<bool, PerfmonError> {
        let text_of_line = letters(line.text);
        let separator = separator(text_of_line.as_bytes());
        let mut cells = cells(text_of_line.as_bytes(), separator);
        let about = cells.next().unwrap_or_default();
        let paths: Vec<String> = cells.take(COLUMNS_MAX).map(|cell| short(text(&cell))).collect();
        let parsed: Vec<Option<Path<'_>>> = paths.iter().map(|path| Path::of(path)).collect();
        let host = parsed.iter().flatten().find_map(|path| path.host);
        let sections = sections(&parsed, host);
        if sections.is_empty() {
            return Err(PerfmonError::NoCounter);
        }
        let mut lines = facts(&text(&about), host);
        lines.extend(
            sections
                .iter()
                .map(|it| format!("{},{},{}", it.section, plain(&it.title), it.names.join(","))),
        );
        let go_on = tell(&lines, line.number, book);
        *self = Self { separator, sections, rows: 0, paths };
        Ok(go_on)
    }

    fn row(&mut self, line: Text<'_>, book: &mut impl FnMut(Next<'_>) -> bool) -> bool {
        let mut cells = cells(line.text, self.separator);
        let Some(time) = cells.next().and_then(|cell| moment(&text(&cell))) else {
            return book(Next::Strange(line.number, TroubleKind::BadTime(excerpt(line.text))));
        };
        let mut values: Vec<Vec<u8>> = cells.take(self.paths.len() + 1).collect();
        let mut go_on = true;
        if is_cut(line) {
            let what = "its last line does not end; the last cell is left out".to_owned();
            go_on = book(Next::Strange(line.number, TroubleKind::Truncated(what)));
            match values.last_mut() {
                Some(last) => last.clear(),
                None => return go_on, // the time is that cell
            }
        }
        if values.len() != self.paths.len() {
            let (section, header) = ("the row".to_owned(), self.paths.len());
            let kind = TroubleKind::Ragged { section, header, row: values.len() };
            go_on = book(Next::Strange(line.number, kind));
        }
        let figures: Vec<String> = values.iter().map(|value| figure(value)).collect();
        for ((value, figure), path) in values.iter().zip(&figures).zip(&self.paths) {
            if figure.is_empty() && !is_missing(value) {
                let (section, cell) = (path.clone(), excerpt(value));
                let kind = TroubleKind::NotAFigure { section, cell };
                go_on = book(Next::Strange(line.number, kind));
            }
        }
        self.rows += 1;
        let id = format!("T{:04}", self.rows);
        let mut lines = vec![time.strftime(&format!("ZZZZ,{id},%H:%M:%S,%d-%b-%Y")).to_string()];
        lines.extend(self.sections.iter().map(|it| {
            let of = |column: &usize| figures.get(*column).map_or("", String::as_str);
            let row: Vec<&str> = it.columns.iter().map(of).collect();
            format!("{},{id},{}", it.section, row.join(","))
        }));
        go_on && tell(&lines, line.number, book)
    }
}

/// True when the last cell of a line may lack its end: only a quote closes it for certain.
fn is_cut(line: Text<'_>) -> bool {
    let quotes = || line.text.iter().filter(|byte| **byte == b'"').count();
    let is_closed = || line.text.trim_ascii_end().ends_with(b"\"") && quotes().is_multiple_of(2);
    !line.ended && !is_closed()
}

/// Hands over lines that stand for the line `number` of the file. All of them are, and only the last
/// one's answer counts: whoever has enough of a file has it behind whole lines.
fn tell(lines: &[String], number: u64, book: &mut impl FnMut(Next<'_>) -> bool) -> bool {
    let line = |line| Next::Line(Text { number, text: str::as_bytes(line), ended: true });
    lines.iter().fold(true, |_, text| book(line(text)))
}

/// What is known of the host, the program and its clock.
fn facts(about: &str, host: Option<&str>) -> Vec<String> {
    let (version, zone) = about.split_once(") ").unwrap_or((about, ""));
    let mut facts = vec![FIRST.to_owned()];
    facts.push(format!("AAA,version,{}", plain(version.trim_start_matches('('))));
    facts.extend(host.map(|host| format!("AAA,host,{}", plain(host))));
    facts.push("AAA,OS,Windows".to_owned());
    facts.extend(time_zone(zone).map(|zone| format!("AAA,timezone,{}", plain(&zone))));
    facts
}

/// `(W. Europe Standard Time)(-60)` in words.
fn time_zone(zone: &str) -> Option<String> {
    let (name, bias) = zone.trim().strip_prefix('(')?.rsplit_once(")(")?;
    let bias: i64 = bias.strip_suffix(')')?.parse().ok()?;
    let minutes = bias.checked_neg().filter(|minutes| minutes.abs() <= 24 * 60)?;
    let sign = if minutes < 0 { '-' } else { '+' };
    Some(format!("{name} (UTC{sign}{:02}:{:02})", minutes.abs() / 60, minutes.abs() % 60))
}

/// The columns by object, each object of a host that is not the first with its name.
fn sections(paths: &[Option<Path<'_>>], first: Option<&str>) -> Vec<Counters> {
    let mut list: Vec<Counters> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (column, path) in paths.iter().enumerate() {
        let Some(path) = path else { continue };
        let title = match path.host {
            Some(host) if first.is_some_and(|first| !first.eq_ignore_ascii_case(host)) => {
                format!("\\\\{host}\\{}", path.object)
            }
            _ => path.object.to_owned(),
        };
        let next = list.len();
        let at = *places.entry(title.clone()).or_insert(next);
        if at == next {
            let section = format!("{SECTION}{}", next + 1);
            list.push(Counters { section, title, names: Vec::new(), columns: Vec::new() });
        }
        list[at].names.push(plain(path.counter));
        list[at].columns.push(column);
    }
    list
}

/// What the name of a section of counters begins with.
pub(crate) const SECTION: &str = "PERFMON-";

/// The separator behind the first cell: a comma, or a semicolon as some languages have it.
fn separator(line: &[u8]) -> u8 {
    let mut quoted = false;
    let outside = line.iter().find(|byte| {
        quoted ^= **byte == b'"';
        !quoted && matches!(byte, b',' | b';')
    });
    outside.copied().unwrap_or(b',')
}

/// The cells of a line, without their quotes; a quote that is doubled stands for itself.
fn cells(line: &[u8], separator: u8) -> impl Iterator<Item = Vec<u8>> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let (mut cell, mut quoted) = (Vec::new(), false);
        let line = rest?;
        for (at, byte) in line.iter().enumerate() {
            match byte {
                b'"' => {
                    quoted = !quoted;
                    if quoted && at > 0 && line[at - 1] == b'"' {
                        cell.push(b'"');
                    }
                }
                byte if *byte == separator && !quoted => {
                    rest = Some(&line[at + 1..]);
                    return Some(cell);
                }
                byte => cell.push(*byte),
            }
        }
        rest = None;
        Some(cell)
    })
}

/// `11/21/2026 02:57:54.123`: month first, in every language; to the nearest second.
fn moment(cell: &str) -> Option<DateTime> {
    let (date, time) = cell.trim().split_once(' ')?;
    let mut date = date.splitn(3, '/').map(|part| part.parse::<i16>().ok());
    let (month, day, year) = (date.next()??, date.next()??, date.next()??);
    let day = jiff::civil::Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    let time: jiff::civil::Time = time.trim().parse().ok()?;
    day.to_datetime(time).round(jiff::Unit::Second).ok().filter(|at| at.year() > 0)
}

/// A value as a cell of ours; empty when it is missing, negative or no figure.
fn figure(value: &[u8]) -> String {
    let value = value.trim_ascii();
    let decimal = if value.contains(&b',') && !value.contains(&b'.') { b',' } else { b'.' };
    match number(value, decimal) {
        Cell::Value(_) => text(value).replacen(',', ".", 1),
        Cell::Missing | Cell::Negative | Cell::Words => String::new(),
    }
}

/// Whether a cell says that there is no figure: a blank, or what the runtime library of C on Windows
/// writes for none (`-1.#IND`, `1.#QNAN`, `1.#INF`).
fn is_missing(value: &[u8]) -> bool {
    if value.contains(&b'#') {
        return true;
    }
    let decimal = if value.contains(&b'.') { b'.' } else { b',' };
    matches!(number(value.trim_ascii(), decimal), Cell::Missing)
}

/// `name` without what would end a cell of ours.
fn plain(name: &str) -> String {
    name.replace(|letter: char| letter == ',' || letter.is_control(), " ").trim().to_owned()
}

/// A name of bounded length.
fn short(name: String) -> String {
    if name.len() <= NAME_BYTES_MAX { name } else { name.chars().take(NAME_CHARS_MAX).collect() }
}

/// The unit of a counter, as far as its name tells; else empty.
#[must_use]
pub fn unit(counter: &str) -> &'static str {
    let lower = counter.to_ascii_lowercase();
    if lower.starts_with('%') || lower.ends_with("(%)") {
        "%"
    } else if lower.contains("bytes") && lower.ends_with("/sec") {
        "B/s"
    } else if lower.ends_with("/sec") || lower.ends_with("/s") {
        "1/s"
    } else if lower.ends_with("mbytes") || lower.ends_with(" mb") {
        "MB"
    } else if lower.ends_with("kbytes") {
        "KB"
    } else if lower.ends_with("bytes") {
        "B"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_apart_at_its_object() {
        for (path, host, object, counter) in [
            (r"\\SAP01\Memory\Available MBytes", Some("SAP01"), "Memory", "Available MBytes"),
            (r"\\A\PhysicalDisk(0 C:)\% Idle", Some("A"), "PhysicalDisk(0 C:)", "% Idle"),
            (r"\\A\X(a\b)\c", Some("A"), r"X(a\b)", "c"),
            (r"\System\Threads", None, "System", "Threads"),
        ] {
            let found = Path::of(path).unwrap();
            assert_eq!((found.host, found.object, found.counter), (host, object, counter));
        }
        for none in ["", r"\\", r"\\A", r"\\A\b", "b", r"\\A\\c"] {
            assert!(Path::of(none).is_none(), "{none}");
        }
    }

    #[test]
    fn a_time_has_its_month_first_and_is_rounded() {
        let told = |cell: &str| moment(cell).map(|at| at.to_string());
        assert_eq!(told("11/21/2026 02:57:54.123").as_deref(), Some("2026-11-21T02:57:54"));
        assert_eq!(told("12/31/2026 23:59:59.900").as_deref(), Some("2027-01-01T00:00:00"));
        for none in ["", "21.11.2026 02:57:54", "13/21/2026 02:57:54", "11/21/2026", "a b"] {
            assert_eq!(told(none), None, "{none}");
        }
    }

    #[test]
    fn a_bias_is_minutes_west_of_greenwich() {
        for (zone, words) in [
            ("(W. Europe Standard Time)(-60)", Some("W. Europe Standard Time (UTC+01:00)")),
            ("(India Standard Time)(-330)", Some("India Standard Time (UTC+05:30)")),
            ("(Pacific (US))(480)", Some("Pacific (US) (UTC-08:00)")),
            ("(x)(y)", None),
            ("(x)(-9223372036854775808)", None),
            ("", None),
        ] {
            assert_eq!(time_zone(zone).as_deref(), words, "{zone}");
        }
    }

    #[test]
    fn cells_hold_quotes_and_separators() {
        let found: Vec<String> =
            cells(br#""a,""b""", c ,"","#, b',').map(|cell| text(&cell)).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], "a,\"b\"");
        assert_eq!(separator(br#""(PDH-CSV 4.0) (a,b)(0)";"x,y""#), b';');
    }

    #[test]
    fn a_figure_may_have_a_decimal_comma_and_be_missing() {
        for (value, expected, missing) in [
            ("12.5", "12.5", false),
            ("12,5", "12.5", false),
            (" ", "", true),
            ("", "", true),
            ("-1", "", true),
            ("1,234.5", "", false),
            ("-3", "", false),
            ("x", "", false),
        ] {
            let value = value.as_bytes();
            assert_eq!((figure(value).as_str(), is_missing(value)), (expected, missing));
        }
    }
}
