//! What the index keeps of one folder.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use plumb_checkup::{Checkup, PartOutcome, PathCheck};
use plumb_comparison::{Comparison, Verdict};
use plumb_folder::{
    FolderError, Unread, read_check, read_checkup, read_comparison, read_ladder, read_order,
    read_record, wall_ns,
};
use plumb_measure::{AcceptedLoad, ResultRecord, RunRecord, Status, counted, real, show_ns};
use plumb_page::figures::failures_of;
use plumb_page::trust::Trust;

use super::ladder::Ladder;
use super::scan::{FolderKind, Seen};
use super::series::Series;

/// Characters that are kept of a text.
const TEXT_MAX: usize = 600;
/// Bytes of an interval log that hold its first lines, all of them letters, digits and signs.
const HEAD_MAX: u64 = 128;
/// Figures that are kept of one run.
const FIGURES_MAX: usize = 400;

/// One line of the index.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    /// When it began, nanoseconds since 1970; 0 where that is not known.
    pub(crate) started_ns: i64,
    /// `net ping`, `experiment`.
    pub(crate) command: String,
    /// What was measured.
    pub(crate) target: String,
    /// `valid`, `invalid`, ...
    pub(crate) verdict: String,
    /// One line more: why, or how many.
    pub(crate) detail: String,
    /// What a search looks in beside the rest.
    pub(crate) words: String,
    /// The series of its figures; empty without any.
    pub(crate) series: Series,
    /// Of its only result: median and 99th percentile, nanoseconds, and correct answers a second.
    pub(crate) p50: Option<i64>,
    pub(crate) p99: Option<i64>,
    pub(crate) rate: Option<f64>,
    /// Operations that failed.
    pub(crate) failed: i64,
    pub(crate) figures: Vec<EntryFigure>,
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EntryFigure {
    /// The labels of its result.
    pub(crate) result: String,
    pub(crate) name: &'static str,
    /// `ns`, `/s` or `%`.
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
    /// False where its run says that it may not be used.
    pub(crate) usable: bool,
}

impl Entry {
    /// Reads what lies in the folder `seen` below `root`; what cannot be read says why.
    pub(crate) fn read(root: &Path, seen: &Seen) -> Self {
        let path = root.join(&seen.path);
        let read = match seen.kind {
            FolderKind::Run => read_record(&path).map(|record| Self::of_run(&record)),
            FolderKind::UnderWay => Ok(Self::under_way(root, &seen.path)),
            FolderKind::Checkup => read_checkup(&path).map(|checkup| Self::of_checkup(&checkup)),
            FolderKind::Check => read_check(&path).map(|check| Self::of_check(&check)),
            FolderKind::Experiment => of_experiment(&path),
            FolderKind::Ladder => of_ladder(&path),
            FolderKind::Unnamed => Ok(Self {
                verdict: "cannot be read".into(),
                detail: "its name is no UTF-8: rename it".into(),
                ..Self::default()
            }),
        };
        read.unwrap_or_else(|error| {
            let unread = Unread::of(&path, &error);
            Self {
                command: command_of(&seen.path),
                started_ns: started_of(&seen.path),
                verdict: "cannot be read".into(),
                detail: cut(&format!("{}; {}", unread.reason, unread.remedy)),
                ..Self::default()
            }
        })
    }

    fn plain(command: &str, started: &str, target: &str, verdict: String) -> Self {
        let started_ns = wall_ns(started).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
        Self {
            started_ns,
            command: command.into(),
            target: cut(target),
            verdict,
            ..Self::default()
        }
    }

    fn of_run(record: &RunRecord) -> Self {
        let command = format!("{} {}", record.plan.layer, record.plan.verb);
        let verdict = match record.status {
            Status::Running => "under way".to_owned(),
            _ => Trust::of_run(record).short().to_owned(),
        };
        let accepted = AcceptedLoad::of([record]).filter(|_| Trust::of_run(record).leaves_any());
        let reason = record.validity.reasons.first().map_or("", |finding| &finding.text);
        let reason = under(accepted, reason);
        let series = Series::of(record);
        let mut entry = Self {
            detail: cut(&reason),
            words: cut(&format!("{} {}", record.plan.command.join(" "), record.host.name)),
            failed: signed(record.results.iter().map(failures_of).fold(0, u64::saturating_add)),
            ..Self::plain(&command, &record.started, &record.target.address, verdict)
        };
        if let [only] = &record.results[..] {
            entry.p50 = only.response_ns.as_ref().map(|times| signed(times.p50));
            entry.p99 = only.response_ns.as_ref().map(|times| signed(times.p99));
            entry.rate = Some(only.throughput_per_s).filter(|rate| rate.is_finite());
        } else if record.results.len() > 1 {
            let count = counted(record.results.len() as u64, "result");
            entry.detail =
                if reason.is_empty() { count } else { cut(&format!("{count}; {reason}")) };
        }
        if record.status != Status::Running {
            entry.figures = record.results.iter().flat_map(|it| figures_of(record, it)).collect();
            entry.figures.truncate(FIGURES_MAX);
        }
        if !entry.figures.is_empty() {
            entry.series = Series { name: cut(&series.name), ..series };
        }
        entry
    }

    fn under_way(root: &Path, path: &str) -> Self {
        let by_name = Some(started_of(path)).filter(|ns| *ns > 0);
        Self {
            started_ns: by_name.or_else(|| log_started(&root.join(path))).unwrap_or(0),
            command: command_of(path),
            verdict: "under way".into(),
            ..Self::default()
        }
    }

    fn of_checkup(checkup: &Checkup) -> Self {
        let verdict = match checkup.status {
            Status::Running => "under way",
            _ if checkup.has_findings() => "findings",
            _ if checkup.is_unanswered() => "not checked",
            _ => "no fault",
        };
        let measured = checkup.parts.iter().filter(|part| part.outcome.is_some()).count();
        let of = counted(checkup.parts.len() as u64, "measurement");
        Self {
            detail: under(checkup.verdict.accepted_load, &format!("{measured} of {of}")),
            words: cut(&checkup.command.join(" ")),
            ..Self::plain("checkup", &checkup.started, &checkup.target, verdict.into())
        }
    }

    fn of_check(check: &PathCheck) -> Self {
        let outcomes = || check.parts.iter().map(|part| part.outcome.as_ref());
        let wrong = |it: &PartOutcome| it.error.is_some() || !it.valid || !it.failures.is_empty();
        let verdict = match () {
            () if outcomes().any(|outcome| outcome.is_none()) => "not finished",
            () if outcomes().flatten().any(wrong) => "findings",
            () => "no fault",
        };
        Self {
            detail: under(check.accepted_load(), ""),
            ..Self::plain("net check", &check.started, &check.target, verdict.into())
        }
    }

    fn of_comparison(compared: &Comparison) -> Self {
        let verdicts = || {
            let endpoints = compared.contrasts.iter().map(|contrast| contrast.endpoints.first());
            endpoints.map(|it| it.and_then(|it| it.verdict).unwrap_or(Verdict::None))
        };
        let worst = [Verdict::Worse, Verdict::Better].into_iter();
        let told = worst.clone().find(|verdict| verdicts().any(|it| it == *verdict));
        let verdict = told.or_else(|| verdicts().next()).unwrap_or(Verdict::None);
        let names: Vec<&str> = compared.variants.iter().map(|it| it.name.as_str()).collect();
        let commands: Vec<&str> = compared.variants.iter().map(|it| it.command.as_str()).collect();
        let sentence = compared.contrasts.first().map_or("", |contrast| &contrast.sentence);
        Self {
            detail: cut(sentence),
            words: cut(&commands.join(" ")),
            ..Self::plain(
                "experiment",
                &compared.compared,
                &names.join(", "),
                verdict.words().into(),
            )
        }
    }
}

/// `detail` of a verdict behind the limit of foreign load that was raised for it.
fn under(accepted: Option<AcceptedLoad>, detail: &str) -> String {
    match accepted.map(|it| format!("limit raised to {}", it.limit)) {
        None => detail.into(),
        Some(limit) if detail.is_empty() => limit,
        Some(limit) => format!("{limit}; {detail}"),
    }
}

fn of_experiment(path: &Path) -> Result<Entry, FolderError> {
    match read_comparison(path) {
        Ok(compared) => Ok(Entry::of_comparison(&compared)),
        Err(FolderError::NoComparison { .. }) => {
            read_order(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Ok(Entry {
                command: "experiment".into(),
                verdict: "under way".into(),
                started_ns: started_of(&name),
                detail: "no comparison yet: it goes on, or was interrupted".into(),
                ..Entry::default()
            })
        }
        Err(error) => Err(error),
    }
}

fn of_ladder(path: &Path) -> Result<Entry, FolderError> {
    let text = read_ladder(path)?.ok_or_else(|| FolderError::NoRun { path: path.into() })?;
    let Ladder { started, levels, verdict, detail, accepted_load } = Ladder::of(&text)
        .map_err(|cause| FolderError::Record { path: path.join("ladder.json"), cause })?;
    let detail = under(accepted_load, &detail);
    Ok(Entry { detail, ..Entry::plain("ladder", &started, &levels, verdict.into()) })
}

/// The figures of one result that are followed over time.
fn figures_of(record: &RunRecord, result: &ResultRecord) -> Vec<EntryFigure> {
    let (any, latency) = Trust::of(&result.validity).allows();
    let whole = Trust::of_run(record) != Trust::Nothing && record.status == Status::Complete;
    let name = result.name();
    let mut figures = Vec::new();
    let mut put = |figure: &'static str, unit, value: f64, usable| {
        if value.is_finite() {
            let usable = usable && whole;
            figures.push(EntryFigure { result: name.clone(), name: figure, unit, value, usable });
        }
    };
    if let Some(times) = &result.response_ns {
        put("median response time", "ns", real(times.p50), latency);
        put("95th percentile", "ns", real(times.p95), latency);
        put("99th percentile", "ns", real(times.p99), latency);
    }
    if result.throughput_per_s > 0.0 {
        put("throughput", "/s", result.throughput_per_s, any);
    }
    if let Some(cpu) = result.cpu.filter(|cpu| cpu.client_ns_per_op > 0) {
        put("client CPU an operation", "ns", real(cpu.client_ns_per_op), any);
    }
    let failed = failures_of(result);
    let all = result.operations.saturating_add(failed);
    if all > 0 {
        put("failed", "%", 100.0 * real(failed) / real(all), any);
    }
    figures
}

/// When the interval log in `folder` was begun, by its second line:
/// `#[StartTime: 1795809825.626 (seconds since epoch), ...]`.
fn log_started(folder: &Path) -> Option<i64> {
    let log = fs::File::open(folder.join("intervals.hlog")).ok()?;
    let mut head = String::new();
    log.take(HEAD_MAX).read_to_string(&mut head).ok()?;
    let begun = head.lines().find_map(|line| line.strip_prefix("#[StartTime: "))?;
    let (seconds, rest) = begun.split_once(['.', ' '])?;
    let millis = rest.get(..3).and_then(|digits| digits.parse::<i64>().ok()).unwrap_or(0);
    let seconds: i64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000)?.checked_add(millis)?.checked_mul(1_000_000)
}

/// When the folder `path` was made, by its name `2026-11-23T200109Z-net-ping`.
fn started_of(path: &str) -> i64 {
    let name = path.rsplit('/').next().unwrap_or_default();
    let time = name.get(..18).unwrap_or_default();
    let (Some(date), Some(clock)) = (time.get(..10), time.get(11..17)) else { return 0 };
    if !clock.bytes().all(|digit| digit.is_ascii_digit()) {
        return 0;
    }
    let text = format!("{date}T{}:{}:{}Z", &clock[..2], &clock[2..4], &clock[4..]);
    wall_ns(&text).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0)
}

/// What the name of a folder says of its command.
fn command_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let behind = name.get(18..).filter(|_| started_of(path) > 0);
    behind.map_or_else(String::new, |words| words.trim_start_matches('-').replacen('-', " ", 1))
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A time of the index for people.
pub(crate) fn shown_ns(ns: i64) -> String {
    show_ns(u64::try_from(ns).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_folder_says_when_and_what() {
        assert_eq!(started_of("a/2026-11-21T162134Z-net-ping"), 1_795_278_094_000_000_000);
        assert_eq!(command_of("2026-11-21T162134Z-net-ping"), "net ping");
        assert_eq!(command_of("2026-11-21T162134Z-checkup-2"), "checkup 2");
        for name in
            ["", "net-ping", "2026-11-21Txxxxxx", "ääääääääääääääääääää", "2026-13-41T162134Z-x"]
        {
            assert_eq!((started_of(name), command_of(name)), (0, String::new()), "{name}");
        }
    }
}
