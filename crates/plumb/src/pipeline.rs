//! Files of verdicts for pipelines: `--junit`, `--sarif` and `--summary` of every command that gives a
//! verdict.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::{Arg, ArgMatches, Command, value_parser};
use plumb_checkup::Checkup;
use plumb_folder::{CHECK, CHECKUP, RECORD};
use plumb_measure::{PathCheck, RunRecord};
use plumb_pipeline::{Verdict, junit, sarif, summary};
use plumb_report::{checkup, markdown, path_check};

/// The options, by their names in the definition, with their help.
pub(crate) const FILES: [(&str, &str); 3] = [
    ("junit", "Write the verdict to FILE as a JUnit report"),
    ("sarif", "Write the verdict to FILE as SARIF 2.1.0"),
    ("summary", "Write the verdict to FILE as Markdown for a pull request"),
];
/// Commands that measure what has no verdict.
const WITHOUT: [&str; 1] = ["calibrate"];

/// The command with these options for each command below it that gives a verdict.
pub(crate) fn offer(command: Command) -> Command {
    if command.has_subcommands() {
        return command.mut_subcommands(offer);
    }
    if !gives_verdict(&command) {
        return command;
    }
    command.args(FILES.map(|(name, help)| {
        Arg::new(name)
            .long(name)
            .value_name("FILE")
            .help(help)
            .help_heading("Output")
            .value_parser(value_parser!(PathBuf))
    }))
}

/// True for what measures, for what compares, and for what shows a verdict again.
fn gives_verdict(command: &Command) -> bool {
    let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
    let compares = has("fail_on") || command.get_name() == "check" && has("tolerance");
    let shows = command.get_name() == "report";
    (compares || shows || is_measurement(command)) && !WITHOUT.contains(&command.get_name())
}

/// The verdict on a run whose folder is `folder`.
pub(crate) fn of_run(record: &RunRecord, folder: &Path) -> Verdict {
    let everything = markdown::render(record);
    let verdict = Verdict::of_run(record, plumb_report::sentence(record), everything);
    verdict.recorded(folder.join(RECORD).display().to_string())
}

/// The verdict on a check of a path whose folder is `folder`.
pub(crate) fn of_check(check: &PathCheck, folder: &Path) -> Verdict {
    let verdict = Verdict::of_check(check, path_check::markdown(check));
    verdict.recorded(folder.join(CHECK).display().to_string())
}

/// The verdict on a checkup whose folder is `folder`.
pub(crate) fn of_checkup(found: &Checkup, folder: &Path) -> Verdict {
    let verdict = Verdict::of_checkup(found, checkup::markdown(found));
    verdict.recorded(folder.join(CHECKUP).display().to_string())
}

/// True for a command that makes runs.
pub(crate) fn is_measurement(command: &Command) -> bool {
    let ids = ["out", "json", "foreign_limit"];
    ids.iter().all(|id| command.get_arguments().any(|argument| argument.get_id() == id))
}

/// The files that a command is to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct VerdictFiles {
    junit: Option<PathBuf>,
    sarif: Option<PathBuf>,
    summary: Option<PathBuf>,
}

impl VerdictFiles {
    /// Those that `words`, of a command or one around it, name.
    ///
    /// # Errors
    /// When one cannot be written there, or two are one: nothing is measured for a file that cannot be.
    pub(crate) fn of(words: &ArgMatches) -> anyhow::Result<Self> {
        if let Some((_, inner)) = words.subcommand() {
            return Self::of(inner);
        }
        let file = |name| words.try_get_one::<PathBuf>(name).ok().flatten().cloned();
        let files = Self { junit: file("junit"), sarif: file("sarif"), summary: file("summary") };
        let mut named: Vec<(&str, &Path)> = Vec::new();
        for (option, path) in files.named() {
            if let Some((other, _)) = named.iter().find(|(_, known)| *known == path) {
                bail!("--{other} and --{option} name the same file, {}", path.display());
            }
            ensure!(!path.is_dir(), "--{option} {}: this is a folder: name a file", path.display());
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            ensure!(
                folder.is_none_or(Path::is_dir),
                "--{option} {}: there is no such folder: make it, or name a file in another",
                path.display()
            );
            named.push((option, path));
        }
        Ok(files)
    }

    /// Writes what was asked for; `verdict` is made only then.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn write(&self, verdict: impl FnOnce() -> Verdict) -> anyhow::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let verdict = verdict();
        for (option, path) in self.named() {
            let text = match option {
                "junit" => junit::render(&verdict),
                "sarif" => sarif::render(&verdict),
                _ => summary::render(&verdict),
            };
            fs::write(path, text).with_context(|| {
                format!("--{option}: cannot write {}; name a file you may write", path.display())
            })?;
        }
        Ok(())
    }

    /// True when none is named.
    pub(crate) fn is_empty(&self) -> bool {
        self.named().next().is_none()
    }

    fn named(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [("junit", &self.junit), ("sarif", &self.sarif), ("summary", &self.summary)];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)))
    }
}
