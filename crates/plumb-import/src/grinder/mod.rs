//! `grinder.properties` of The Grinder: how many users there are and how they wait, and the list
//! of URLs that its old HTTP plug-in asks for.

mod properties;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use plumb_draft::note::Place;
use plumb_draft::wait::ms;
use plumb_draft::{Draft, DraftStep, Labels, Login, Secrets, Source, SourceError, laid_out};
use plumb_measure::Span;
use plumb_scenario::file::placed;
use plumb_scenario::file::{Cookies, Redirects, Scenario, Step, Think};

use crate::ImportOptions;
use properties::{Property, read};

/// Keys that say where logs go, how a console is reached, or what starts the processes.
const NO_PART: [&str; 13] = [
    "grinder.jvm",
    "grinder.log",
    "grinder.hostID",
    "grinder.console",
    "grinder.useConsole",
    "grinder.report",
    "grinder.receiveConsole",
    "grinder.numberOfOldLogs",
    "grinder.appendLog",
    "grinder.recordTime",
    "grinder.debug",
    "grinder.dcrinstrumentation",
    "grinder.plugin.parameter.log",
];
/// How far a sleep lies from its mean at most, nearly always, as a share of it.
const VARIATION: f64 = 0.2;
/// Time between two starts of processes, in milliseconds.
const INCREMENT_INTERVAL_MS: f64 = 60_000.0;

/// Makes a scenario of properties.
///
/// # Errors
/// When there is no property of The Grinder among them.
pub(crate) fn import(source: &Source, options: &ImportOptions) -> Result<Draft, SourceError> {
    let all = read(&source.text);
    if !all.iter().any(|property| property.key.starts_with("grinder.")) {
        let cause = "line 1: no property `grinder.NAME` stands in it: is it a grinder.properties?";
        return Err(source.broken(cause));
    }
    let mut importer = Importer::new(all);
    let tests = importer.tests();
    let (base, hosts) = importer.servers(&tests, options.wanted_servers())?;
    let steps = importer.steps(&tests, base.as_ref(), &hosts);
    let steps = if steps.is_empty() { vec![importer.stand_in()] } else { steps };
    importer.scenario(steps);
    importer.name_the_rest();
    Ok(importer.finished())
}

/// What is collected on the way.
struct Importer {
    /// By their keys.
    all: BTreeMap<String, Property>,
    /// Keys that were looked at.
    seen: BTreeSet<String>,
    draft: Draft,
    secrets: Secrets,
    labels: Labels,
    login: Option<Login>,
    /// A program makes the requests.
    has_script: bool,
    /// Variables that stand for strings of a bean.
    beans: BTreeSet<String>,
}

impl Importer {
    fn new(all: Vec<Property>) -> Self {
        Self {
            all: all.into_iter().map(|property| (property.key.clone(), property)).collect(),
            seen: BTreeSet::new(),
            draft: Draft::default(),
            secrets: Secrets::default(),
            labels: Labels::default(),
            login: None,
            has_script: false,
            beans: BTreeSet::new(),
        }
    }

    /// The property `key`, which is thereby looked at.
    fn take(&mut self, key: &str) -> Option<Property> {
        self.seen.insert(key.to_owned());
        self.all.get(key).cloned()
    }

    /// The property under the first of its names that is there.
    fn take_any(&mut self, keys: &[&str]) -> Option<Property> {
        let found: Vec<Property> = keys.iter().filter_map(|key| self.take(key)).collect();
        found.into_iter().next()
    }

    fn note(&mut self, property: &Property, why: &str) {
        self.draft.notes.add(Place::Line(property.line), property.key.clone(), why);
    }

    /// A number that is not negative; one that is none is named.
    fn number(&mut self, keys: &[&str]) -> Option<f64> {
        let property = self.take_any(keys)?;
        let number = property.value.trim().parse().ok();
        let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
        if number.is_none() {
            let why = format!("`{}` is no number; what counts without it is taken", property.value);
            self.note(&property, &why);
        }
        number
    }

    fn count(&mut self, keys: &[&str]) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it lies between 0 and a billion"
        )]
        self.number(keys).map(|number| number.min(1e9) as u64)
    }

    /// A sleep of `mean` milliseconds as The Grinder draws it: nearly all lie within the variation
    /// of the mean, which is three standard deviations.
    fn sleep(&mut self, mean: f64) -> Option<Think> {
        let factor = ["grinder.sleepTimeFactor", "grinder.thread.sleepTimeFactor"];
        let variation = ["grinder.sleepTimeVariation", "grinder.thread.sleepTimeVariation"];
        let mean = mean * self.number(&factor).unwrap_or(1.0);
        let deviation = mean * self.number(&variation).unwrap_or(VARIATION) / 3.0;
        if ms(mean).ns() == 0 {
            None
        } else if ms(deviation).ns() == 0 {
            Some(Think::Fixed(ms(mean)))
        } else {
            Some(Think::Normal(rounded(mean), rounded(deviation)))
        }
    }

    /// Users, their number of scripts, and their beginning.
    fn scenario(&mut self, steps: Vec<DraftStep>) {
        let processes = self.count(&["grinder.processes"]).unwrap_or(1).max(1);
        let threads = self.count(&["grinder.threads"]).unwrap_or(1).max(1);
        let runs = self.count(&["grinder.runs", "grinder.cycles"]).unwrap_or(1);
        let length = self.number(&["grinder.duration"]).filter(|length| *length > 0.0).map(ms);
        let ramp = self.ramp(processes);
        let step = laid_out(steps, "scenario.0", &mut self.draft.remarks);
        let threads_each = plumb_measure::counted(threads, "thread");
        let users = match processes {
            1 => format!("1 process with {threads_each}"),
            _ => format!("{processes} processes with {threads_each} each"),
        };
        self.draft.remark("scenario.0", users);
        if runs == 0 && length.is_none() {
            let text = "never ends in The Grinder: give the load a length (`for`)";
            self.draft.remark("scenario.0", text);
        }
        self.draft.file.scenario = vec![Scenario {
            name: "grinder".into(),
            users: Some(placed(processes.saturating_mul(threads))),
            iterations: (runs > 0).then(|| placed(runs)),
            length,
            ramp,
            cookies: self.cookies(),
            step,
            ..Scenario::default()
        }];
    }

    /// The time until the last user begins: processes that start one after another, and a first
    /// sleep of any length up to a bound.
    fn ramp(&mut self, processes: u64) -> Option<Span> {
        let sleep = self.number(&["grinder.initialSleepTime", "grinder.thread.initialSleepTime"]);
        let increment = self.count(&["grinder.processIncrement"]).filter(|count| *count > 0);
        let interval =
            self.number(&["grinder.processIncrementInterval"]).unwrap_or(INCREMENT_INTERVAL_MS);
        let first = self.count(&["grinder.initialProcesses"]);
        let starts = increment.map_or(0, |increment| {
            processes.saturating_sub(first.unwrap_or(increment)).div_ceil(increment)
        });
        #[expect(clippy::cast_precision_loss, reason = "processes are at most a billion")]
        let ramp = ms(sleep.unwrap_or(0.0) + starts as f64 * interval);
        (ramp.ns() > 0).then_some(ramp)
    }

    /// Each run begins without cookies.
    fn cookies(&mut self) -> Cookies {
        let uses = self.take("grinder.plugin.parameter.useCookies");
        if uses.is_some_and(|uses| uses.value.trim() == "false") {
            Cookies::Off
        } else {
            Cookies::Clear
        }
    }

    /// A step in the place of a script that is not read.
    fn stand_in(&mut self) -> DraftStep {
        self.has_script = true;
        let script = self.take("grinder.script");
        let place = script.as_ref().map_or(Place::File, |script| Place::Line(script.line));
        let name = script.map_or_else(|| "grinder.py".to_owned(), |script| script.value);
        let why = "it makes the requests and is a program, which is not read; one request stands \
                   for it: write what it does as steps";
        self.draft.notes.add(place, format!("the script {name}"), why);
        let mut step = DraftStep {
            remarks: vec![format!("stands for the script {name}")],
            ..DraftStep::default()
        };
        step.step = Step { get: Some(placed("/".into())), ..Step::default() };
        step
    }

    /// Names what nothing looked at.
    fn name_the_rest(&mut self) {
        self.take_any(&["grinder.plugin", "grinder.plugin.parameter.useCookiesVersionString"]);
        let rest: Vec<Property> =
            self.all.values().filter(|one| !self.seen.contains(&one.key)).cloned().collect();
        for property in rest {
            let place = Place::Line(property.line);
            let key = property.key.as_str();
            // without a script nobody reads these
            let of_scripts = key.contains(".sleepTime") || !key.starts_with("grinder.");
            let of_scripts = of_scripts && !key.starts_with("grinder.test");
            if NO_PART.iter().any(|known| key.starts_with(known))
                || (of_scripts && !self.has_script)
            {
                self.draft.notes.add_no_part(place, key);
                continue;
            }
            let why = match key {
                "grinder.plugin.parameter.followRedirects" => {
                    if property.value.trim() == "false" {
                        self.draft.file.redirects = Some(Redirects::NONE);
                    }
                    continue;
                }
                "grinder.plugin.parameter.disablePersistentConnections"
                    if property.value.trim() == "false" =>
                {
                    continue;
                }
                "grinder.plugin.parameter.disablePersistentConnections" => {
                    "connections are kept for the next request"
                }
                "grinder.plugin.parameter.stringBean" => "a program, which is not read",
                "grinder.script" => "a program, which is not read; the URLs of the file are steps",
                _ if of_scripts && key.starts_with("grinder.") => {
                    "it is about the sleeps of the script"
                }
                _ if key.starts_with("grinder.") => "there is nothing like it here",
                _ => "not of The Grinder; a script may have read it",
            };
            self.note(&property, why);
        }
    }

    fn finished(mut self) -> Draft {
        let beans = std::mem::take(&mut self.beans);
        for name in beans {
            self.draft.remark(format!("variables.{name}"), "a string of a bean: fill it in");
            self.draft.file.variables.insert(name, String::new());
        }
        self.draft.login = self.login.take();
        self.secrets.declare(&mut self.draft);
        self.draft
    }
}

/// Milliseconds to the microsecond: thirds have no end.
fn rounded(time: f64) -> Span {
    ms((time * 1000.0).round() / 1000.0)
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
