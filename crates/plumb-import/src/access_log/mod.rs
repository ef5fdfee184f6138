//! Access logs become scenarios that ask for the same again, at the same pace or faster.
//!
//! Each request of the log is a script of its own (`line.rs`), due by the rates of the log
//! (`pace.rs`). What is asked for stands in a data file, line by line; a step for each shape of path
//! (`shape.rs`) records it.

pub(crate) mod line;
mod pace;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use plumb_draft::note::Place;
use plumb_draft::origin::base_of;
use plumb_draft::{DataFile, Draft, Source, SourceError};
use plumb_scenario::csv::Quotes;
use plumb_scenario::file::{
    AtEnd, Check, Cookies, Data, Pairs, Redirects, Scenario, Step, Take, placed,
};
use plumb_wire::secret::masked_url;

use crate::ImportOptions;
use crate::counted;
use line::{Line, Unread};
use shape::{OTHER, shape};

/// Steps that record: more rows would be read by nobody.
const ROWS_MAX: usize = 40;
/// Requests that are played at most.
const REQUESTS_MAX: usize = 1_000_000;
/// Bytes of a data file at most: a load reads no more.
const DATA_BYTES_MAX: usize = 64 << 20;
/// Methods that change nothing.
const SAFE: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Lines that are named of each kind that is left out.
const NAMED_MAX: usize = 3;
/// Statuses that a step accepts at most.
const STATUSES_MAX: usize = 20;

/// Makes a scenario of an access log.
///
/// # Errors
/// When no line is a request that is asked for again, or there are more than a load reads.
pub(crate) fn import(source: &Source, options: &ImportOptions) -> Result<Draft, SourceError> {
    let mut draft = Draft::default();
    let mut lines = read(source, options, &mut draft);
    if lines.is_empty() {
        let said: Vec<String> = draft.notes.sorted().iter().map(|note| note.to_string()).collect();
        let none = "no line of it is a request that is asked for again".to_owned();
        return Err(source.nothing(&[none].into_iter().chain(said).collect::<Vec<_>>().join("; ")));
    }
    if lines.len() > REQUESTS_MAX {
        let cause = format!("more than {REQUESTS_MAX} requests are not played: cut the log");
        return Err(source.broken(cause));
    }
    lines.sort_by_key(|line| line.at_ns); // a server writes a line when its answer is complete
    let rows =
        shape::rows(lines.iter().map(|it| (it.method.as_str(), shape(&it.target))), ROWS_MAX);
    let numbers = numbers(&lines, &rows);
    let times: Vec<i128> = lines.iter().map(|line| line.at_ns).collect();
    let stages = pace::stages(&times, options.speed).map_err(|cause| source.broken(cause))?;
    let file = data(&lines, &numbers);
    if file.len() > DATA_BYTES_MAX {
        return Err(source.broken("its requests take more than 64 MiB: cut the log"));
    }
    let scenario = Scenario {
        name: "replay".into(),
        stages: stages.into_iter().map(placed).collect(),
        cookies: Cookies::Off,
        data: vec![Data {
            file: placed(DataFile::PLACE.into()),
            names: Vec::new(),
            delimiter: None,
            quotes: Quotes::AroundCells,
            ignore_further: false,
            take: Take::EachScript,
            at_end: AtEnd::Stop,
        }],
        step: steps(&lines, &numbers, &rows),
        ..Scenario::default()
    };
    // the log has a redirect and what it led to, both
    draft.file.redirects = Some(Redirects::NONE);
    draft.file.base = options.base.as_ref().map(|base| placed(base_of(base)));
    draft.file.scenario.push(scenario);
    draft.head.push(head(&lines, options.speed));
    draft.data = Some(DataFile { text: file });
    Ok(draft)
}

/// The requests of a log that are asked for again; what is left out is counted and named.
fn read(source: &Source, options: &ImportOptions, draft: &mut Draft) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut unread: BTreeMap<Unread, Vec<usize>> = BTreeMap::new();
    let mut unsafe_ones: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let (mut masked, mut without_content) = (Vec::new(), Vec::new());
    for (number, text) in (1..).zip(source.text.lines()) {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        match line::read(text) {
            Err(why) => unread.entry(why).or_default().push(number),
            Ok(line) if !SAFE.contains(&line.method.as_str()) && !options.all_methods => {
                unsafe_ones.entry(line.method).or_default().push(number);
            }
            Ok(mut line) => {
                let target = masked_url(&line.target);
                if target != line.target {
                    masked.push(number);
                    line.target = target;
                }
                if !SAFE.contains(&line.method.as_str()) {
                    without_content.push(number);
                }
                lines.push(line);
            }
        }
    }
    let mut note = |numbers: &[usize], why: String| {
        let Some(first) = numbers.first() else { return };
        let named: Vec<String> = numbers.iter().take(NAMED_MAX).map(usize::to_string).collect();
        let more = if numbers.len() > NAMED_MAX { ", ..." } else { "" };
        let what = format!("{} (line {}{more})", counted(numbers.len(), "line"), named.join(", "));
        draft.notes.add(Place::Line(*first), what, why);
    };
    for (why, numbers) in &unread {
        note(numbers, format!("{}; left out", why.words()));
    }
    for (method, numbers) in &unsafe_ones {
        note(numbers, format!("{method} may change something; left out without --all-methods"));
    }
    note(&without_content, "a log holds no content; it is asked for without".into());
    note(&masked, "secrets in the query are MASKED, so that other answers may come".into());
    lines
}

/// The row of each line, from 1.
fn numbers(lines: &[Line], rows: &[(String, String)]) -> Vec<usize> {
    let known: BTreeMap<(&str, &str), usize> = (1..)
        .zip(rows)
        .map(|(number, (method, shape))| ((method.as_str(), shape.as_str()), number))
        .collect();
    let of = |line: &Line| {
        let shape = shape(&line.target);
        let method = line.method.as_str();
        known.get(&(method, shape.as_str())).or_else(|| known.get(&(method, OTHER))).copied()
    };
    lines.iter().map(|line| of(line).unwrap_or(0)).collect()
}

/// The requests as CSV: row and target.
fn data(lines: &[Line], numbers: &[usize]) -> String {
    let mut text = String::from("row,target\n");
    for (line, number) in lines.iter().zip(numbers) {
        let target = line.target.replace('"', "\"\"");
        text += &format!("{number},\"{target}\"\n");
    }
    text
}

/// A step for each row, done for the lines that are its own.
fn steps(lines: &[Line], numbers: &[usize], rows: &[(String, String)]) -> Vec<Step> {
    let mut statuses: BTreeMap<usize, BTreeSet<u16>> = BTreeMap::new();
    for (line, number) in lines.iter().zip(numbers) {
        let status = match line.status {
            // what a client had in its cache, or wanted a part of, is asked for whole; nobody goes
            // before the answer (499 of nginx)
            206 | 304 | 416 | 499 => 200,
            status => status,
        };
        statuses.entry(*number).or_default().insert(status);
    }
    let step = |(number, (method, shape)): (usize, &(String, String))| {
        let known = statuses.get(&number).into_iter().flatten().take(STATUSES_MAX);
        let status = known.map(u16::to_string).collect::<Vec<_>>().join(",");
        let target = Some(placed("${target}".to_owned()));
        let is_get = method == "GET";
        Step {
            name: Some(placed(format!("{method} {shape}"))),
            get: target.clone().filter(|_| is_get),
            path: target.filter(|_| !is_get),
            method: (!is_get).then(|| placed(method.clone())),
            headers: Pairs::new(),
            condition: Some(placed(format!("${{row}} == '{number}'"))),
            check: Some(placed(Check { status: Some(status), ..Check::default() })),
            ..Step::default()
        }
    };
    (1..).zip(rows).map(step).collect()
}

fn head(lines: &[Line], speed: f64) -> String {
    let ends = (lines.first(), lines.last());
    let span_s = match ends {
        (Some(first), Some(last)) => (last.at_ns - first.at_ns) / 1_000_000_000 + 1,
        _ => 0,
    };
    format!(
        "{} of {span_s} s of the log, {speed} times as fast: each is a script, due by the rate of the \
         log. A status is right that its path had in the log.",
        counted(lines.len(), "request")
    )
}

#[cfg(test)]
mod tests;
