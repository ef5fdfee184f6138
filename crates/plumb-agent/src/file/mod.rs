//! The file of an agent: read with places, checked once, and then a plan.

mod condition;
mod origin;
mod raw;
mod secrets;
mod target;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use plumb_measure::Span;
use plumb_wire::document::{self, Wrong};

use crate::AgentError;
use crate::bundle::BundleLimits;
use crate::deliver::{RetryPlan, TargetPlan};
use crate::form::Form;
use crate::source::SourcePlan;
use crate::spool::SpoolLimits;
use crate::trigger::{Trigger, Wanted};

use raw::AgentFile;

/// Bytes of a file that are read at most.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Agents of one file at most.
const COPIES_MAX: u32 = 10_000;

/// An agent, checked.
#[derive(Clone, Debug)]
pub struct AgentPlan {
    /// Its name, by which its part of the spool is known.
    pub name: String,
    /// Where changes come from.
    pub source: SourcePlan,
    /// Which of them count.
    pub wanted: Wanted,
    /// What they lead to; without one each is sent.
    pub trigger: Option<Trigger>,
    /// As what messages are written.
    pub form: Form,
    /// When a message is complete.
    pub bundle: BundleLimits,
    /// Where messages go.
    pub target: TargetPlan,
    /// When they are sent again.
    pub retry: RetryPlan,
    /// How many may wait.
    pub spool: SpoolLimits,
}

/// The agents that `paths` describe: files, and folders of files `NAME.toml`.
///
/// # Errors
/// [`AgentError`] with every file that is wrong.
pub fn read_all(paths: &[PathBuf]) -> Result<Vec<AgentPlan>, AgentError> {
    let mut plans = Vec::new();
    let mut problems = Vec::new();
    for file in files(paths)? {
        match read(&file) {
            Ok(found) => plans.extend(found),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    if !problems.is_empty() {
        return Err(AgentError::Wrong(problems.join("\n")));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = plans.iter().find(|plan| !names.insert(plan.name.as_str())) {
        let problem = format!("two agents are called `{}`: give each a `name`", twice.name);
        return Err(AgentError::Wrong(problem));
    }
    Ok(plans)
}

fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, AgentError> {
    let mut files = Vec::new();
    for path in paths {
        let unreadable = |error| AgentError::Unreadable { path: path.clone(), error };
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        let entries: Result<Vec<_>, _> = entries.map(|it| it.map(|it| it.path())).collect();
        let mut inside = entries.map_err(unreadable)?;
        inside.retain(|path| path.extension().is_some_and(|it| it == "toml"));
        if inside.is_empty() {
            let problem = format!("{} holds no agent: one is a file NAME.toml", path.display());
            return Err(AgentError::Wrong(problem));
        }
        inside.sort();
        files.append(&mut inside);
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<AgentPlan>, AgentError> {
    let unreadable = |error| AgentError::Unreadable { path: path.into(), error };
    let mut limited = File::open(path).map_err(unreadable)?.take(FILE_BYTES_MAX + 1);
    let mut bytes = Vec::new();
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let problem = format!("{} has more than 1 MiB: make several files of it", path.display());
        return Err(AgentError::Wrong(problem));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| unreadable(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new(""));
    parse(&text, &name, folder)
        .map_err(|wrong| AgentError::Wrong(format!("{}, {wrong}", path.display())))
}

/// The agents that `text` describes; the file is called `name`, and files that it names are looked
/// for in `folder`.
///
/// # Errors
/// [`Wrong`] with the place and what was expected.
pub fn parse(text: &str, name: &str, folder: &Path) -> Result<Vec<AgentPlan>, Wrong> {
    let file: AgentFile = document::read(text)?;
    let place = Place { text, folder };
    let name = match &file.name {
        Some(written) => {
            place.name(written.get_ref(), &written.span())?;
            written.get_ref().as_str()
        }
        None => name,
    };
    let copies = file.copies.as_ref().map_or(1, |it| *it.get_ref());
    if let Some(written) = &file.copies
        && !(1..=COPIES_MAX).contains(&copies)
    {
        return Err(place.wrong(&written.span(), "`copies` is a number from 1 to 10000"));
    }
    let plan = AgentPlan {
        name: name.into(),
        source: origin::plan(&place, &file.source)?,
        wanted: wanted(&place, &file)?,
        trigger: file.trigger.as_ref().map(|it| condition::trigger(&place, it)).transpose()?,
        form: file.message.form,
        bundle: bundle(&place, &file)?,
        target: target::plan(&place, &file.target)?,
        retry: retry(&place, &file)?,
        spool: spool(&place, &file)?,
    };
    if file.copies.is_none() {
        return Ok(vec![plan]);
    }
    let copy = |number: u32| AgentPlan {
        name: format!("{}-{number}", plan.name),
        source: origin::copy(&plan.source, number),
        ..plan.clone()
    };
    Ok((1..=copies).map(copy).collect())
}

/// A file that is being read, for places of what is wrong.
struct Place<'a> {
    text: &'a str,
    folder: &'a Path,
}

impl Place<'_> {
    fn wrong(&self, at: &std::ops::Range<usize>, problem: impl Into<String>) -> Wrong {
        Wrong::at(self.text, at, problem)
    }

    /// Names stand in headers, in figures and on command lines.
    fn name(&self, name: &str, at: &std::ops::Range<usize>) -> Result<(), Wrong> {
        let fits = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            let problem = "a name has 1 to 64 letters, digits, `-`, `_` and `.`";
            return Err(self.wrong(at, problem));
        }
        Ok(())
    }
}

fn wanted(place: &Place<'_>, file: &AgentFile) -> Result<Wanted, Wrong> {
    let Some(changes) = &file.changes else { return Ok(Wanted::default()) };
    let deadband = match &changes.deadband {
        Some(written) if *written.get_ref() < 0.0 || !written.get_ref().is_finite() => {
            return Err(place.wrong(&written.span(), "`deadband` is a number from 0"));
        }
        Some(written) => *written.get_ref(),
        None => 0.0,
    };
    // a deadband says that the others are not wanted
    let only_changed = changes.only_changed.unwrap_or(changes.deadband.is_some());
    Ok(Wanted { only_changed, deadband })
}

fn bundle(place: &Place<'_>, file: &AgentFile) -> Result<BundleLimits, Wrong> {
    let count = file.bundle.count.as_ref().map_or(1, |it| *it.get_ref());
    if let Some(written) = &file.bundle.count
        && !(1..=100_000).contains(&count)
    {
        return Err(place.wrong(&written.span(), "`count` is a number of changes from 1 to 100000"));
    }
    let size = file.bundle.size.as_ref().map_or(256 << 10, |it| it.get_ref().bytes());
    if let Some(written) = &file.bundle.size
        && size > 16 << 20
    {
        return Err(place.wrong(&written.span(), "a message has 16MiB at most"));
    }
    Ok(BundleLimits {
        count,
        bytes: usize::try_from(size).unwrap_or(usize::MAX),
        time_ns: file.bundle.time.unwrap_or(Span::from_ms(1_000)).ns(),
    })
}

fn retry(place: &Place<'_>, file: &AgentFile) -> Result<RetryPlan, Wrong> {
    let default = RetryPlan::default();
    let interval = file.retry.interval.as_ref();
    if let Some(written) = interval
        && written.get_ref().ns() < 1_000_000
    {
        return Err(place.wrong(&written.span(), "`interval` is 1ms at least"));
    }
    Ok(RetryPlan {
        times: file.retry.times.unwrap_or(default.times),
        interval: interval.map_or(default.interval, |it| *it.get_ref()),
        lifetime: file.retry.lifetime,
    })
}

fn spool(place: &Place<'_>, file: &AgentFile) -> Result<SpoolLimits, Wrong> {
    let messages = file.spool.messages.as_ref();
    if let Some(written) = messages
        && *written.get_ref() == 0
    {
        return Err(place.wrong(&written.span(), "`messages` says how many may wait: 1 at least"));
    }
    Ok(SpoolLimits {
        messages: messages.map_or(1_000_000, |it| *it.get_ref()),
        bytes: file.spool.size.map_or(1 << 30, plumb_measure::ByteSize::bytes),
        when_full: file.spool.when_full,
    })
}

#[cfg(test)]
mod tests;
