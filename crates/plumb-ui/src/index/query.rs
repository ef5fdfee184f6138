//! What is asked of the index.

use plumb_folder::wall_ns;
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::Index;
use super::series::told_apart;
use crate::fields::value;

/// Runs on one page.
pub(crate) const PAGE: usize = 100;
/// Words of a search.
const WORDS_MAX: usize = 12;
/// Points of a series, the latest.
const POINTS_MAX: usize = 1_000;
/// Series on one page.
const SERIES_MAX: usize = 500;
/// Values that a filter offers.
const CHOICES_MAX: usize = 200;

pub(super) const COLUMNS: &str = "path, kind, parent, started, command, target, verdict, detail, \
                                  series, p50, p99, rate, failed";

/// Which runs are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Words that all must be found.
    pub(crate) text: String,
    /// `run`, `experiment`, `checkup`, `check`; empty for all.
    pub(crate) kind: String,
    pub(crate) command: String,
    pub(crate) target: String,
    pub(crate) verdict: String,
    /// Days, `2026-11-21`, of the first and the last.
    pub(crate) from: String,
    pub(crate) to: String,
    /// Parts of checkups and experiments, too.
    pub(crate) parts: bool,
    /// From zero.
    pub(crate) page: usize,
}

impl Filter {
    /// What a query says.
    pub(crate) fn of(pairs: &[(String, String)]) -> Self {
        let text = |name| value(pairs, name).trim().chars().take(200).collect::<String>();
        Self {
            text: text("q"),
            kind: text("kind"),
            command: text("command"),
            target: text("target"),
            verdict: text("verdict"),
            from: text("from"),
            to: text("to"),
            parts: !text("parts").is_empty(),
            page: text("page").parse::<usize>().unwrap_or(1).clamp(1, 100_000) - 1,
        }
    }

    /// The names and values of a query, without the page.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let parts = if self.parts { "yes" } else { "" };
        let all = [
            ("q", self.text.as_str()),
            ("kind", &self.kind),
            ("command", &self.command),
            ("target", &self.target),
            ("verdict", &self.verdict),
            ("from", &self.from),
            ("to", &self.to),
            ("parts", parts),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The condition, and its values.
    fn condition(&self) -> (String, Vec<Value>) {
        let (mut clauses, mut values) = (vec!["1".to_owned()], Vec::new());
        let mut clause = |text: &str, value: Value| {
            clauses.push(text.to_owned());
            values.push(value);
        };
        for word in self.text.to_lowercase().split_whitespace().take(WORDS_MAX) {
            clause("instr(search, ?) > 0", Value::Text(word.into()));
        }
        let columns = [
            ("kind = ?", &self.kind),
            ("command = ?", &self.command),
            ("target = ?", &self.target),
            ("verdict = ?", &self.verdict),
        ];
        for (column, wanted) in columns {
            if !wanted.is_empty() {
                clause(column, Value::Text(wanted.clone()));
            }
        }
        if let Some(ns) = midnight(&self.from) {
            clause("started >= ?", Value::Integer(ns));
        }
        if let Some(ns) = midnight(&self.to) {
            clause("started < ?", Value::Integer(ns.saturating_add(86_400_000_000_000)));
        }
        if !self.parts {
            clauses.push("parent IS NULL".into());
        }
        (clauses.join(" AND "), values)
    }
}

/// Nanoseconds since 1970 of the beginning of a day.
fn midnight(day: &str) -> Option<i64> {
    wall_ns(&format!("{day}T00:00:00Z")).and_then(|ns| i64::try_from(ns).ok())
}

/// One line of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) path: String,
    pub(crate) kind: String,
    pub(crate) parent: Option<String>,
    pub(crate) started_ns: i64,
    pub(crate) command: String,
    pub(crate) target: String,
    pub(crate) verdict: String,
    pub(crate) detail: String,
    pub(crate) series: String,
    pub(crate) p50: Option<i64>,
    pub(crate) p99: Option<i64>,
    pub(crate) rate: Option<f64>,
    pub(crate) failed: i64,
}

impl Row {
    pub(super) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            path: row.get(0)?,
            kind: row.get(1)?,
            parent: row.get(2)?,
            started_ns: row.get(3)?,
            command: row.get(4)?,
            target: row.get(5)?,
            verdict: row.get(6)?,
            detail: row.get(7)?,
            series: row.get(8)?,
            p50: row.get(9)?,
            p99: row.get(10)?,
            rate: row.get(11)?,
            failed: row.get(12)?,
        })
    }

    /// True for what has not ended.
    pub(crate) fn is_under_way(&self) -> bool {
        self.verdict == "under way"
    }
}

/// One page of a list, and what there is to choose from.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub(crate) rows: Vec<Row>,
    /// All that the filter finds.
    pub(crate) found: usize,
    /// All that are known, parts included.
    pub(crate) known: usize,
    pub(crate) commands: Vec<String>,
    pub(crate) verdicts: Vec<String>,
    pub(crate) targets: Vec<String>,
}

/// A series in the list of all.
#[derive(Clone, Debug)]
pub(crate) struct SeriesRow {
    pub(crate) series: String,
    /// What its runs have in common, with what tells it from others of the same.
    pub(crate) name: String,
    /// The options of its runs by name, as JSON.
    options: String,
    pub(crate) runs: usize,
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
}

/// One figure of one run of a series.
#[derive(Clone, Debug)]
pub(crate) struct SeriesPoint {
    pub(crate) path: String,
    pub(crate) started_ns: i64,
    pub(crate) result: String,
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) value: f64,
    pub(crate) usable: bool,
}

impl Index {
    /// The page of a list.
    pub(crate) fn list(&self, filter: &Filter) -> rusqlite::Result<List> {
        let connection = self.lock();
        let (condition, mut values) = filter.condition();
        let count = format!("SELECT count(*) FROM entries WHERE {condition}");
        let found =
            connection.query_row(&count, params_from_iter(&values), |row| counted(row, 0))?;
        let all = "SELECT count(*) FROM entries";
        let known = connection.query_row(all, [], |row| counted(row, 0))?;
        let text = format!(
            "SELECT {COLUMNS} FROM entries WHERE {condition} \
             ORDER BY started DESC, path LIMIT ? OFFSET ?"
        );
        values.extend(
            [PAGE, filter.page.saturating_mul(PAGE)]
                .map(|number| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))),
        );
        let mut statement = connection.prepare_cached(&text)?;
        let rows = statement.query_map(params_from_iter(&values), Row::read)?;
        Ok(List {
            rows: rows.collect::<Result<_, _>>()?,
            found,
            known,
            commands: choices(&connection, "command")?,
            verdicts: choices(&connection, "verdict")?,
            targets: choices(&connection, "target")?,
        })
    }

    /// What has not ended, the latest first.
    pub(crate) fn under_way(&self) -> rusqlite::Result<Vec<Row>> {
        let connection = self.lock();
        let text = format!(
            "SELECT {COLUMNS} FROM entries WHERE verdict = 'under way' AND kind = 'run' \
             ORDER BY started DESC, path LIMIT 20"
        );
        let mut statement = connection.prepare_cached(&text)?;
        statement.query_map([], Row::read)?.collect()
    }

    /// All series, those with most runs first; blocks of experiments are varied on purpose, and
    /// belong to none.
    pub(crate) fn all_series(&self) -> rusqlite::Result<Vec<SeriesRow>> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT e.series, e.series_name, e.series_options, count(*), min(e.started), max(e.started)
             FROM entries e WHERE e.series <> '' AND {OUTSIDE}
             GROUP BY e.series ORDER BY count(*) DESC, max(e.started) DESC LIMIT {SERIES_MAX}"
        ))?;
        let rows = statement.query_map([], |row| {
            Ok(SeriesRow {
                series: row.get(0)?,
                name: row.get(1)?,
                options: row.get(2)?,
                runs: counted(row, 3)?,
                first_ns: row.get(4)?,
                last_ns: row.get(5)?,
            })
        })?;
        let mut rows: Vec<SeriesRow> = rows.collect::<Result<_, _>>()?;
        let known: Vec<(&str, &str)> =
            rows.iter().map(|row| (row.name.as_str(), row.options.as_str())).collect();
        let names = told_apart(&known);
        for (row, name) in rows.iter_mut().zip(names) {
            row.name = name;
        }
        Ok(rows)
    }

    /// The name of a series and its figures, in the order of time; `None` where there is no such
    /// series.
    pub(crate) fn series(
        &self,
        series: &str,
    ) -> rusqlite::Result<Option<(String, Vec<SeriesPoint>)>> {
        let listed = self.all_series()?.into_iter().find(|it| it.series == series);
        let listed = listed.map(|it| it.name);
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT e.path, e.started, f.result, f.name, f.unit, f.value, f.usable, e.series_name
             FROM (SELECT * FROM entries e WHERE e.series = ?1 AND e.series <> '' AND {OUTSIDE}
                   ORDER BY e.started DESC LIMIT {POINTS_MAX}) e
             JOIN figures f ON f.path = e.path ORDER BY e.started, e.path, f.rowid"
        ))?;
        let mut name = None;
        let rows = statement.query_map(params![series], |row| {
            let point = SeriesPoint {
                path: row.get(0)?,
                started_ns: row.get(1)?,
                result: row.get(2)?,
                name: row.get(3)?,
                unit: row.get(4)?,
                value: row.get(5)?,
                usable: row.get(6)?,
            };
            name = Some(row.get(7)?);
            Ok(point)
        })?;
        let points = rows.collect::<Result<Vec<_>, _>>()?;
        Ok(name.map(|name| (listed.unwrap_or(name), points)))
    }
}

impl Index {
    /// The series in which `row` stands; empty of a block of an experiment or a step of a ladder.
    pub(crate) fn series_of<'a>(&self, row: &'a Row) -> rusqlite::Result<&'a str> {
        let parent = row.parent.as_deref().map(|path| self.find(path)).transpose()?.flatten();
        let varied = parent.is_some_and(|it| ["experiment", "ladder"].contains(&it.kind.as_str()));
        Ok(if varied { "" } else { &row.series })
    }
}

/// A column that counts.
fn counted(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<usize> {
    let count: i64 = row.get(column)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// True for an entry `e` that is no block of an experiment and no step of a ladder.
const OUTSIDE: &str = "NOT EXISTS (SELECT 1 FROM entries p \
                       WHERE p.path = e.parent AND p.kind IN ('experiment', 'ladder'))";

/// The values of a column, the most frequent first.
fn choices(connection: &Connection, column: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {column} FROM entries WHERE {column} <> '' GROUP BY 1 \
         ORDER BY count(*) DESC, 1 LIMIT {CHOICES_MAX}"
    ))?;
    statement.query_map([], |row| row.get(0))?.collect()
}
