//! What a load would do: `plumb http load --dry-run`. Nothing is asked for, no secret is shown.

mod amount;
mod script;
mod step;
#[cfg(test)]
mod tests;
mod text;
mod users_over_time;

use std::collections::BTreeMap;
use std::path::PathBuf;

use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_measure::{Program, Span};
use plumb_scenario::ScenarioSource;
use plumb_scenario::file::{ScenarioFile, Step};
use plumb_scenario::masked;
use serde::Serialize;

use super::ScenarioLoad;
use crate::HttpError;
use script::ShownScript;
use step::{ShownStep, View};
use users_over_time::Point;

/// Name and version of the form of the JSON document.
const SCHEMA: &str = "plumb.http-load-plan/1";

/// Shows what a load would do.
#[derive(Debug)]
pub struct DryRun {
    load: ScenarioLoad,
}

impl DryRun {
    /// Shows `load` instead of driving it.
    #[must_use]
    pub fn new(load: ScenarioLoad) -> Self {
        Self { load }
    }
}

impl Verb for DryRun {
    fn run(&mut self, out: Output<'_>, _log: Output<'_>, _stop: &Stop) -> Result<(), JobError> {
        let preview = Preview::of(&self.load)?;
        let text = match self.load.options.measurement.output.json {
            true => serde_json::to_string_pretty(&preview)? + "\n",
            false => text::of(&preview),
        };
        out.write_all(text.as_bytes())?;
        Ok(())
    }
}

/// A load as it would be.
#[derive(Clone, Debug, Serialize)]
struct Preview {
    schema: &'static str,
    plumb: Program,
    file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    base: String,
    /// Further servers that may be asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<String>,
    /// Absent: drawn when the load begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    warmup_ns: u64,
    timeout_ns: u64,
    connect_timeout_ns: u64,
    /// All points with their warm-ups, without what is waited for at the end of each; absent where
    /// users decide when they are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_ns: Option<u64>,
    points: Vec<Point>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prepare: Vec<ShownStep>,
    scenarios: Vec<ShownScript>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    finish: Vec<ShownStep>,
    thresholds: Vec<String>,
}

impl Preview {
    fn of(load: &ScenarioLoad) -> Result<Self, HttpError> {
        let file = load.source.file();
        let masked = ScenarioSource::parse(load.source.path(), masked::text(file))?;
        let compiled = load.compile(&[])?;
        let scripts = compiled.scripts.iter().zip(&file.scenario).zip(&masked.file().scenario);
        let scenarios = scripts
            .map(|((script, written), shown)| {
                ShownScript::of(load, masked.file(), (script.as_ref(), written, shown))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let plan = load.options.drive.plan(file);
        let seed = load.options.drive.seed.or(file.seed);
        let mut points = load.points.clone();
        if seed.is_none() {
            points.sort_unstable(); // their order is not drawn yet
        }
        let points = points
            .into_iter()
            .map(|point| Ok(Point::of(&load.parts(point)?, &scenarios)))
            .collect::<Result<Vec<_>, HttpError>>()?;
        let lengths = points.iter().map(|point| Some(point.recorded_ns? + plan.warmup.ns()));
        Ok(Self {
            schema: SCHEMA,
            plumb: Program { version: env!("CARGO_PKG_VERSION").into() },
            file: load.source.path().into(),
            name: file.name.clone(),
            base: load.origins.base().to_string(),
            hosts: load.origins.others().map(ToString::to_string).collect(),
            proxy: load.routes.proxy().map(|proxy| proxy.url().to_string()),
            seed,
            warmup_ns: plan.warmup.ns(),
            timeout_ns: plan.operation_timeout.ns(),
            connect_timeout_ns: plan.connect_timeout.ns(),
            predicted_ns: lengths.sum(),
            points,
            prepare: Self::once(load, &masked, |file| &file.prepare),
            finish: Self::once(load, &masked, |file| &file.finish),
            scenarios,
            thresholds: file.thresholds.iter().map(|text| text.get_ref().clone()).collect(),
        })
    }

    fn once(
        load: &ScenarioLoad,
        masked: &ScenarioSource,
        steps: fn(&ScenarioFile) -> &Vec<Step>,
    ) -> Vec<ShownStep> {
        let (file, shown) = (load.source.file(), masked.file());
        let mut constants: BTreeMap<String, String> = shown.variables.clone();
        script::set_by(&file.prepare).iter().for_each(|name| drop(constants.remove(*name)));
        constants.retain(|_, value| !value.contains("${"));
        let view = View {
            source: &load.source,
            exclude: &load.overrides.exclude,
            headers: [&shown.headers, &BTreeMap::new()],
            told: &masked::headers(&load.overrides.headers),
            think: None,
            constants: &constants,
        };
        view.steps(steps(file), steps(shown))
    }
}

/// A time as it is written.
fn span(ns: u64) -> Span {
    Span::from_ns(ns)
}
