//! `plumb db replay`: the statements of a log, at their own pace or faster.

mod drive;
mod options;
mod survey;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use plumb_db_login::{Login, Product};
use plumb_engine::Extent;
use plumb_engine::layer::{JobError, Measure, NamedFile, Outline, Watch};
use plumb_engine::options::{OutputOptions, usual_interval};
use plumb_engine::{
    Lengths, LoadPlan, LoadResult, Pace, Stop, Waiting, load, part_record, reachable, result_record,
};
use plumb_measure::{Figure, Rate, ResultRecord, Span, Tick, counted, show_ns};
use plumb_sql_log::{LogFormat, LogReader};
use serde_json::json;
use tokio::sync::mpsc::channel;

use crate::DbError;
use crate::answer::Limits;
use crate::client::floor::{CALLS, floor};
use crate::complaints::{Complaints, complain};
use crate::database::{Access, Asked, Database};
use crate::drive::{WAIT, reach, runtime};
use crate::hana::Hana;
use crate::mssql::Mssql;
use crate::mysql::Mysql;
use crate::postgres::Postgres;
use crate::statement::Statement;

pub use options::{ReplayOptions, Speed};

use drive::{Load, drive, lasts};
use survey::{Due, Reading, Replayed, Series, StepBack, Survey};

/// From so many on, a series of one statement is worth a figure.
const SERIES_MIN: u64 = 10;
/// Statements that are read before they are due.
const READ_AHEAD: usize = 1_024;

/// A log to be replayed, surveyed.
#[derive(Debug)]
pub struct Replay {
    options: ReplayOptions,
    login: Login,
    format: LogFormat,
    reading: Reading,
    survey: Survey,
}

impl Replay {
    /// Checks the options, and reads the whole file once.
    ///
    /// # Errors
    /// [`DbError`] when the target or the file cannot be read, or there is nothing to replay.
    pub fn new(options: ReplayOptions) -> Result<Self, DbError> {
        let login = Login::of_target(&options.url)?;
        let format = options.format.unwrap_or_else(|| LogFormat::of_name(&options.file));
        if format != LogFormat::Text && login.product != Product::Postgres {
            return Err(DbError::Options(format!(
                "a log of PostgreSQL ({}) is replayed against PostgreSQL: write postgres://..., or \
                 --format text for a file of lines SECONDS<tab>SESSION<tab>STATEMENT",
                format.name()
            )));
        }
        let reading = Reading {
            product: login.product,
            writes_allowed: options.allow_writes,
            rows: options.statements.get(),
        };
        let survey = Survey::of(LogReader::open(&options.file, format)?, reading)?;
        if survey.replayed == 0 {
            return Err(DbError::File {
                file: options.file.clone(),
                complaint: nothing(&survey, format),
            });
        }
        if let Some(StepBack { line, before, us }) = survey.back
            && format != LogFormat::Text
            && options.speed.times().is_some()
        {
            let earlier = show_ns(us.unsigned_abs().saturating_mul(1_000));
            return Err(DbError::File {
                file: options.file.clone(),
                complaint: format!(
                    "line {line} was logged {earlier} before line {before}: was a clock set, or are these two \
                     logs in the wrong order? Cut it there and replay its parts, or ask one statement after \
                     the other (--speed max)"
                ),
            });
        }
        Ok(Self { options, login, format, reading, survey })
    }

    fn access(&self) -> Access {
        if self.options.allow_writes { Access::RolledBack } else { Access::ReadOnly }
    }

    /// Of the recording, microseconds.
    fn recorded_us(&self) -> u64 {
        u64::try_from(self.survey.last_us - self.survey.first_us).unwrap_or(0)
    }

    /// As many as can be of use: a session has one connection.
    fn connections(&self) -> NonZeroUsize {
        let sessions = usize::try_from(self.survey.sessions).unwrap_or(usize::MAX);
        let asked = self.options.connections;
        NonZeroUsize::new(sessions).map_or(asked, |sessions| asked.min(sessions))
    }

    fn plan(&self) -> LoadPlan {
        let options = &self.options;
        let length = lasts(self.recorded_us(), options.speed.times())
            .map(|it| Span::from_ns(u64::try_from(it.as_nanos()).unwrap_or(u64::MAX)));
        // the rate changes all the time: that work is due at times of its own is what matters
        let paced = "1/s".parse::<Rate>().ok().filter(|_| options.speed.times().is_some());
        LoadPlan {
            connections: self.connections(),
            pace: paced.map_or(Pace::AsFast, Pace::Rate),
            extent: Extent::Count(self.survey.replayed),
            connect_timeout: options.connect_timeout,
            operation_timeout: options.timeout,
            lag_bound: options.lag,
            waiting: Waiting::Epoll,
            interval: usual_interval(length),
            ..LoadPlan::lone(self.survey.replayed, options.timeout)
        }
    }

    fn run_against<D: Database>(
        &mut self,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let patience = self.options.connect_timeout;
        let found = self.login.endpoints(&self.options.transport)?;
        let endpoint = reachable(&found, patience, stop)?;
        let beside = runtime(&Arc::default(), Tick::Free)?;
        let database: D = reach(&beside, &endpoint, &mut self.login, (patience, stop))?;
        let Some(kept) = database.keeps_logs() else {
            return Err(DbError::Options(format!(
                "{}: statements are replayed over sessions that promise not to write, which these \
                 cannot; name the server itself, not a pooler",
                database.describe()
            ))
            .into());
        };
        watch.server(match self.access() {
            Access::ReadOnly => format!("{}; {kept}", database.describe()),
            Access::RolledBack => database.describe(),
        });
        if let Some(floor) = floor::<D>(CALLS)? {
            watch.floor(floor);
        }
        self.measure(&database, watch, stop)
    }

    fn measure<D: Database>(
        &self,
        database: &D,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let plan = self.plan();
        let statement = Statement::trivial(self.login.product);
        let limits = Limits { rows: self.options.rows.get(), bytes: self.options.size.bytes() };
        let asked = Asked { statement: &statement, access: self.access(), limits };
        let labels = BTreeMap::from([("speed".to_owned(), self.options.speed.to_string())]);
        let names = &self.survey.rows;
        watch.rows(names);
        let speed = self.options.speed.times();
        let load = Load { plan: &plan, database, asked, rows: names.len(), speed, stop };
        let entries = LogReader::open(&self.options.file, self.format)?;
        let (to, feed) = channel::<Result<Due, DbError>>(READ_AHEAD);
        let mut complaints = Complaints::default();
        let driven = {
            let sampler = watch.point(&labels);
            thread::scope(|scope| {
                scope.spawn(move || {
                    for due in Replayed::of(entries, &self.survey, self.reading) {
                        if to.blocking_send(due).is_err() {
                            return; // the replay is over
                        }
                    }
                });
                load::run_with::<DbError>(&plan, &mut [sampler], names.len(), |outlet| {
                    let driven;
                    (driven, complaints) = drive(&load, feed, outlet)?;
                    Ok(driven)
                })
            })?
        };
        if let Some(transport) = driven.transports.first() {
            watch.reached(transport.clone());
        }
        let mut result = self.result::<D>(&plan, labels, &driven);
        complain(&mut result, &complaints);
        watch.result(result, driven.began_ns)?;
        match complaints.stays {
            Some(statement) => Err(DbError::Stays { statement }.into()),
            None => Ok(()),
        }
    }

    fn result<D: Database>(
        &self,
        plan: &LoadPlan,
        labels: BTreeMap<String, String>,
        driven: &LoadResult<()>,
    ) -> ResultRecord {
        let mut result = result_record(plan, labels, Lengths::Any, driven);
        result.driver.name = Some(D::DRIVER.into());
        result.driver.wait = WAIT.into();
        let rows = self.survey.rows.iter().zip(driven.recorder.rows());
        result.parts = rows.map(|(name, row)| part_record(name.clone(), row, driven)).collect();
        result.figures.extend(self.figures());
        result.figures.extend(self.series(driven));
        result
    }

    /// What the longest series of one statement takes, where it is one that a single statement could
    /// answer.
    #[expect(clippy::cast_precision_loss, reason = "a figure is a float")]
    fn series(&self, driven: &LoadResult<()>) -> Vec<Figure> {
        let Series { name, times } = &self.survey.series;
        if *times < SERIES_MIN {
            return Vec::new();
        }
        let row = self.survey.rows.iter().position(|it| it == name);
        let row = row.and_then(|at| driven.recorder.rows().get(at));
        let median_ns = row.filter(|it| !it.service.is_empty()).map(|it| it.service.quantile(0.5));
        let asked = Figure {
            name: "asked over and over".into(),
            value: *times as f64,
            unit: "times".into(),
            formula: format!(
                "the most times that one session asked one statement, nothing else in between: {name}; \
                 each is a round trip, and one statement for all of them would be one"
            ),
        };
        let takes = median_ns.map(|ns| Figure {
            name: "which takes".into(),
            value: (ns.saturating_mul(*times)) as f64 / 1e6,
            unit: "ms".into(),
            formula: "these times, by the median service time of the statement".into(),
        });
        std::iter::once(asked).chain(takes).collect()
    }

    /// What the file holds, and what was left out of it.
    #[expect(clippy::cast_precision_loss, reason = "a figure is a float")]
    fn figures(&self) -> impl Iterator<Item = Figure> {
        let survey = &self.survey;
        let translated = (
            "left out: in another language",
            survey.translated,
            "lines of the file that are not in English, as far as their severity and their words tell, in \
             which no statement is found: a server logs in English with lc_messages = 'C'",
        );
        let several = (
            "left out: several statements",
            survey.several,
            "entries of the file that hold several statements, one behind the other: the server takes one \
             at a time",
        );
        [
            ("to be replayed", survey.replayed, "statements of the file that can be replayed"),
            ("sessions", survey.sessions, "different sessions of these statements"),
            (
                "left out: may write",
                survey.may_write,
                "statements of the file that are not written as statements that only ask are; \
                 --allow-writes replays them and rolls each back, as far as the engine of a table can",
            ),
            (
                "left out: transactions and settings",
                survey.control,
                "statements of the file that begin, end or set what others run in (BEGIN, COMMIT, \
                 SET, ...): each statement is replayed alone",
            ),
        ]
        .into_iter()
        .chain(Some(several).filter(|_| survey.several > 0))
        .chain(Some(translated).filter(|_| survey.translated > 0))
        .map(|(name, value, formula)| Figure {
            name: name.into(),
            value: value as f64,
            unit: String::new(),
            formula: formula.into(),
        })
    }
}

/// Why there is nothing to replay.
fn nothing(survey: &Survey, format: LogFormat) -> String {
    let english = nothing_in_english(survey, format);
    if survey.translated == 0 {
        return english;
    }
    format!(
        "{} of it may be in another language than English, in which no statement is found: a server logs in \
         English with lc_messages = 'C'. Apart from these, {english}",
        counted(survey.translated, "line")
    )
}

fn nothing_in_english(survey: &Survey, format: LogFormat) -> String {
    let left_out = survey.may_write + survey.control + survey.several;
    if left_out > 0 {
        let several = match survey.several {
            0 => String::new(),
            several => format!(", {several} are several statements in one"),
        };
        return format!(
            "none of its {left_out} statements can be replayed: {} may write (--allow-writes replays \
             them and rolls each back), {} begin, end or set transactions and sessions{several}",
            survey.may_write, survey.control
        );
    }
    match format {
        LogFormat::Csvlog | LogFormat::Jsonlog => {
            "no statement stands in it: a server logs statements with log_min_duration_statement = 0 \
             or log_statement = 'all'"
                .into()
        }
        LogFormat::Text => "no statement stands in it: expected lines \
             SECONDS<tab>SESSION<tab>STATEMENT, or --format csvlog or jsonlog"
            .into(),
    }
}

impl Measure for Replay {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let in_force = BTreeMap::from([
            ("file".to_owned(), json!(options.file.display().to_string())),
            ("format".into(), json!(self.format.name())),
            ("speed".into(), json!(options.speed.to_string())),
            ("connections".into(), json!(options.connections)),
            ("statements".into(), json!(options.statements)),
            ("allow-writes".into(), json!(options.allow_writes)),
            ("rows".into(), json!(options.rows)),
            ("size".into(), json!(options.size)),
            ("timeout".into(), json!(options.timeout)),
            ("connect-timeout".into(), json!(options.connect_timeout)),
            ("lag".into(), json!(options.lag)),
        ]);
        let takes = lasts(self.recorded_us(), options.speed.times());
        Outline {
            layer: "db",
            verb: "replay",
            options: in_force,
            open: options.speed.times().is_some(),
            seed: 0,
            target: format!("{}/{}", self.login.server(), self.login.database),
            pin: Vec::new(),
            points: 1,
            takes: takes.map(|it| Span::from_ns(u64::try_from(it.as_nanos()).unwrap_or(u64::MAX))),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.output
    }

    fn files(&self) -> Vec<NamedFile> {
        vec![NamedFile::lone(&self.options.file)]
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        match self.login.product {
            Product::Postgres => self.run_against::<Postgres>(watch, stop),
            Product::Mysql => self.run_against::<Mysql>(watch, stop),
            #[cfg(feature = "odbc")]
            Product::Odbc => Err(DbError::Options(
                "statements are replayed over sessions that promise not to write, and no driver of ODBC \
                 has to heed that: replay against a server that plumb has a client of its own for"
                    .into(),
            )
            .into()),
            Product::Mssql => self.run_against::<Mssql>(watch, stop),
            Product::Hana => self.run_against::<Hana>(watch, stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_sql_log::Entry;

    use super::*;

    #[test]
    fn lines_in_another_language_hide_no_other_advice() {
        let text = |may_write, translated| {
            let reading = Reading { product: Product::Postgres, writes_allowed: false, rows: 1 };
            let lines = (0..translated).map(|_| Ok(Entry::Translated));
            let mut survey = Survey::of(lines, reading).unwrap();
            survey.may_write = may_write;
            nothing(&survey, LogFormat::Csvlog)
        };
        assert!(text(0, 0).starts_with("no statement stands in it: "));
        let both = text(0, 1_440);
        assert!(both.starts_with("1,440 lines of it may be in another language"), "{both}");
        assert!(both.contains("log_min_duration_statement = 0"), "{both}");
        assert!(text(5, 1_440).contains("--allow-writes"));
    }
}
