//! `plumb lab run` of a file with a `[ladder]`: one landscape under more and more load.

mod climb;
mod file;
mod step;

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use plumb_engine::Stop;
use plumb_engine::options::HostOptions;
use plumb_measure::{counted, show_ns};

use crate::exit::{self, Exit};
use crate::experiment;
use climb::{Climb, Climbed};
use file::LadderPlan;
use plumb_options::Form;
use step::Step;

pub(super) use file::is_ladder;

/// Takes the ladder of `text`, the file at `path`, into a folder `out` or one of its own.
pub(super) fn run(
    (path, text): (&Path, &str),
    out: Option<&Path>,
    (form, host): (Form, &HostOptions),
    stop: &Stop,
) -> anyhow::Result<Exit> {
    let plan = read(path, text)?;
    let folder = experiment::open_folder(out, &plan.name)?;
    let (least, most) = plan.takes_s();
    let into = folder.path().display();
    // nobody may be there to read it
    let _ = writeln!(io::stderr(), "{}: {least} to {most} s; folder {into}", plan.name);
    folder.write_experiment(&plumb_experiment::without_secrets(text))?;
    let mut climb = Climb::new(&plan, &folder, host);
    let ran = climb.run(stop);
    let climbed = climb.climbed.clone();
    drop(climb); // its servers have nothing more to do
    if let Err(error) = ran
        && !climbed.interrupted
    {
        folder.discard(); // it stays when there is a step in it
        return Err(error);
    }
    print(&climbed, form)?;
    if form == Form::Text {
        exit::print(&format!("size it with: plumb size {} --users N\n", folder.path().display()))?;
    }
    Ok(exit(&climbed))
}

/// Shows what the ladder of `text` would do, and measures nothing.
pub(super) fn show(path: &Path, text: &str) -> anyhow::Result<Exit> {
    let plan = read(path, text)?;
    let levels: Vec<String> = plan.levels.iter().map(ToString::to_string).collect();
    let (least, most) = plan.takes_s();
    writeln!(
        io::stdout(),
        "{}: {} of {} {}, one of them twice; each for {} to {}; {least} to {most} s\n{}",
        plan.name,
        levels.len(),
        plan.stepped,
        levels.join(", "),
        plan.step,
        plan.step_max,
        match plan.until {
            file::Until::Knee => "it ends at the knee, or behind the last of them",
            file::Until::End => "it ends behind the last of them",
        },
    )?;
    Ok(Exit::Ran)
}

fn read(path: &Path, text: &str) -> anyhow::Result<LadderPlan> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_else(|| "ladder".into());
    LadderPlan::read(text, &stem).with_context(|| path.display().to_string())
}

/// Every step counts, and the machine stayed as it was.
fn exit(climbed: &Climbed) -> Exit {
    let drifted = climbed.drift.is_some_and(|both| both.iter().any(step::Drift::is_shown));
    if climbed.interrupted {
        Exit::Interrupted
    } else if drifted || climbed.drift.is_none() || !climbed.lacking().is_empty() {
        Exit::Unanswered
    } else {
        Exit::Ran
    }
}

fn print(climbed: &Climbed, form: Form) -> anyhow::Result<()> {
    let text = match form {
        Form::Json => serde_json::to_string_pretty(climbed)? + "\n",
        Form::Text => in_words(climbed, ""),
        Form::Markdown => in_words(climbed, "| "),
    };
    exit::print(&text)
}

/// The steps as a table, then what they show; `bar` stands before the columns of Markdown.
fn in_words(climbed: &Climbed, bar: &str) -> String {
    let head = [climbed.stepped, "a second", "+-", "mean", "p95", "+-", ""].map(str::to_owned);
    let mut text = row(&head, bar);
    if !bar.is_empty() {
        text += "|---:|---:|---:|---:|---:|---:|---|\n";
    }
    for step in &climbed.steps {
        text += &row(&cells(step), bar);
    }
    text += "\n";
    for sentence in sentences(climbed) {
        text += &format!("{sentence}\n");
    }
    text
}

fn row(cells: &[String; 7], bar: &str) -> String {
    let [level, rate, rate_half, mean, p95, p95_half, rest] = cells;
    if bar.is_empty() {
        let line = format!(
            "{level:>11} {rate:>9} {rate_half:>7} {mean:>9} {p95:>9} {p95_half:>7}  {rest}"
        );
        return line.trim_end().to_owned() + "\n";
    }
    format!("| {} |\n", cells.join(" | "))
}

fn cells(step: &Step) -> [String; 7] {
    let unknown = || "-".to_owned();
    let half = |half: Option<f64>| half.map_or_else(unknown, |it| format!("{:.1} %", it * 100.0));
    let rest = match (&step.invalid, step.counts, step.repeated) {
        (Some(why), ..) => format!("not valid: {why}"),
        (None, false, _) => "too wide, taken again".into(),
        (None, true, true) => "again, against drift".into(),
        (None, true, false) => String::new(),
    };
    let level = step.level.to_string();
    match &step.figures {
        Some(it) => [
            level,
            format!("{:.1}", it.throughput_per_s),
            half(it.throughput_half),
            show_ns(it.mean_ns),
            show_ns(it.p95_ns),
            half(it.p95_half),
            rest,
        ],
        None => [level, unknown(), unknown(), unknown(), unknown(), unknown(), rest],
    }
}

fn sentences(climbed: &Climbed) -> Vec<String> {
    let stepped = climbed.stepped;
    let words = |level: u32| match stepped {
        "users" => counted(level.into(), "user"),
        "connections" => counted(level.into(), "connection"),
        _ => format!("{} a second", counted(level.into(), "operation")),
    };
    let mut all = Vec::new();
    let highest = climbed.steps.iter().filter(|it| it.counts).map(|it| it.level).max();
    all.push(match (climbed.knee, highest) {
        (Some(level), _) => format!(
            "The knee is shown: at {} throughput is flat and the response time grows.",
            words(level)
        ),
        (None, Some(level)) => format!("No knee up to {}.", words(level)),
        (None, None) => "No step counts.".into(),
    });
    if let Some([throughput, mean]) = climbed.drift {
        let drifted = throughput.is_shown() || mean.is_shown();
        all.push(format!(
            "Taken again, throughput is {:+.1} % and the mean {:+.1} % of the first time: {}.",
            throughput.share * 100.0,
            mean.share * 100.0,
            if drifted { "the machine drifted, take the ladder again" } else { "no drift shown" }
        ));
    } else if !climbed.interrupted {
        all.push("No step could be taken again: whether the machine drifted is not known.".into());
    }
    let lacking: Vec<String> = climbed.lacking().iter().map(ToString::to_string).collect();
    if !lacking.is_empty() {
        all.push(format!("Without valid figures: {stepped} {}.", lacking.join(", ")));
    }
    let wide = climbed.steps.iter().filter(|it| it.counts && !it.repeated);
    let wide: Vec<String> = wide
        .filter(|it| it.figures.is_some_and(|of| of.widest().is_none()))
        .map(|it| it.level.to_string())
        .collect();
    if !wide.is_empty() {
        all.push(format!("Too few operations for an interval: {stepped} {}.", wide.join(", ")));
    }
    all
}
