//! `plumb lab run` of a file with a `[ladder]`: one landscape under more and more load.

mod climb;
mod plan;

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use plumb_command::{Exit, exit};
use plumb_engine::Stop;
use plumb_engine::options::HostOptions;
use plumb_experiment::{LadderPlan, Until};
use plumb_lab::LadderRecord;
use plumb_measure::Program;
use plumb_options::Form;
use serde::Serialize;

use crate::experiment;
use crate::job::into_folder;
use climb::Climb;
use plan::Ladder;

/// Name and version of the form of what would be done.
const PLAN_SCHEMA: &str = "plumb.ladder-plan/1";

/// Takes the ladder of `text`, the file at `path`, into a folder `out` or one of its own.
pub(super) fn run(
    (path, text): (&Path, &str),
    out: Option<&Path>,
    (form, host): (Form, &HostOptions),
    stop: &Stop,
) -> anyhow::Result<Exit> {
    let ladder = read(path, text)?;
    let plan = &ladder.plan;
    out.map(into_folder).transpose()?; // before anything is made: every step is one of our measurements
    let folder = experiment::open_folder(out, &plan.name)?;
    let (takes, into) = (takes(plan), folder.path().display());
    // nobody may be there to read it
    let _ = writeln!(io::stderr(), "{}: {takes}; folder {into}", plan.name);
    let begun = folder.write_experiment(&plumb_experiment::without_secrets(text));
    let mut climb = Climb::new(&ladder, &folder, host);
    let ran = begun.map_err(anyhow::Error::from).and_then(|()| climb.run(stop));
    let climbed = climb.climbed.clone();
    drop(climb); // its servers have nothing more to do
    if let Err(error) = ran {
        folder.discard(); // it stays when there is a step in it
        return Err(error);
    }
    if climbed.steps.is_empty() {
        folder.discard();
        return Ok(Exit::Interrupted);
    }
    print(&climbed, form)?;
    if form == Form::Text && !climbed.has_drifted() {
        exit::print(&format!("size it with: plumb size {} --users N\n", folder.path().display()))?;
    }
    Ok(exit(&climbed))
}

/// How long a ladder takes, in whole seconds.
fn takes(plan: &LadderPlan) -> String {
    let [least, most] = plan.takes_ns().map(|ns| ns.div_ceil(1_000_000_000));
    format!("{least} to {most} s")
}

/// Shows what the ladder of `text` would do, and measures nothing.
pub(super) fn show((path, text): (&Path, &str), form: Form) -> anyhow::Result<Exit> {
    let Ladder { plan, .. } = read(path, text)?;
    exit::print(&match form {
        Form::Json => document(&plan)?,
        Form::Markdown | Form::Text => words(&plan),
    })?;
    Ok(Exit::Ran)
}

fn words(plan: &LadderPlan) -> String {
    let levels: Vec<String> = plan.levels.iter().map(ToString::to_string).collect();
    format!(
        "{}: {} of {} {}, one of them twice; each for {} to {}; {}\n{}\n",
        plan.name,
        levels.len(),
        plan.stepped,
        levels.join(", "),
        plan.step,
        plan.step_max,
        takes(plan),
        match plan.until {
            Until::Knee => "it ends at the knee, or behind the last of them",
            Until::End => "it ends behind the last of them",
        },
    )
}

fn document(plan: &LadderPlan) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        plumb: Program,
        name: &'a str,
        stepped: &'a str,
        levels: &'a [u32],
        step_ns: u64,
        step_max_ns: u64,
        until: Until,
        /// At least and at most.
        predicted_ns: [u64; 2],
    }
    let document = Document {
        schema: PLAN_SCHEMA,
        plumb: experiment::program(),
        name: &plan.name,
        stepped: plan.stepped,
        levels: &plan.levels,
        step_ns: plan.step.ns(),
        step_max_ns: plan.step_max.ns(),
        until: plan.until,
        predicted_ns: plan.takes_ns(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn read(path: &Path, text: &str) -> anyhow::Result<Ladder> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_else(|| "ladder".into());
    Ladder::read(text, &stem).with_context(|| path.display().to_string())
}

/// Every step counts, and the machine stayed as it was.
fn exit(climbed: &LadderRecord) -> Exit {
    if climbed.interrupted {
        Exit::Interrupted
    } else if climbed.has_drifted() || !climbed.knows_drift() || !climbed.lacking().is_empty() {
        Exit::Unanswered
    } else {
        Exit::Ran
    }
}

fn print(climbed: &LadderRecord, form: Form) -> anyhow::Result<()> {
    let text = match form {
        Form::Json => serde_json::to_string_pretty(climbed)? + "\n",
        Form::Text => climbed.text(),
        Form::Markdown => climbed.markdown(),
    };
    exit::print(&text)
}
