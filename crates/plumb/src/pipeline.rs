//! Files of verdicts for pipelines: `--junit`, `--sarif` and `--summary` of every command that gives a
//! verdict.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::{Arg, ArgMatches, Command, value_parser};
use plumb_checkup::{Checkup, PathCheck};
use plumb_diagnostics::{checkup, path_check};
use plumb_folder::{CHECK, CHECKUP, RECORD};
use plumb_measure::RunRecord;
use plumb_pipeline::{Verdict, junit, sarif, summary};
use plumb_report::markdown;

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
            writable(option, path)?;
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
            fs::write(path, text).with_context(|| cannot_write(option, path))?;
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

/// Refuses a `path` behind `--option` where no file can be written, and leaves nothing there.
///
/// # Errors
/// When that is so.
pub(crate) fn writable(option: &str, path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    ensure!(!path.is_dir(), "--{option} {shown}: this is a folder: name a file");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    ensure!(
        folder.is_none_or(Path::is_dir),
        "--{option} {shown}: there is no such folder: make it, or name a file in another"
    );
    let tried = match path.symlink_metadata() {
        Err(_) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .and_then(|_| fs::remove_file(path)),
        Ok(found) if found.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        Ok(_) => Ok(()), // whoever reads a pipe would take it for closed
    };
    tried.with_context(|| cannot_write(option, path))
}

fn cannot_write(option: &str, path: &Path) -> String {
    format!("--{option}: cannot write {}; name a file you may write", path.display())
}

#[cfg(test)]
mod tests {
    use plumb_measure::{
        Finding, FindingKind, ResultRecord, Scope, Status, ThresholdRecord, Validity,
    };
    use plumb_pipeline::State;
    use serde_json::json;

    use super::*;
    use plumb_command::exit::Exit;

    /// A record with findings of these scopes, and a threshold.
    fn record(scopes: &[Scope], met: bool, status: Status) -> RunRecord {
        let finding = |scope: &Scope| Finding {
            kind: FindingKind::ForeignLoad,
            scope: *scope,
            text: "others".into(),
        };
        let validity = Validity::of(scopes.iter().map(finding));
        let threshold =
            ThresholdRecord { text: "p95 < 1s".into(), found: None, unit: "ns".into(), met };
        let result = ResultRecord {
            thresholds: vec![threshold],
            validity: validity.clone(),
            ..ResultRecord::default()
        };
        let host = json!({"name": "h", "kernel": "k", "cpus": 1, "placement": "p", "clock": "c",
            "clock_read_ns": 1});
        let plan = json!({"layer": "net", "verb": "ping", "command": [], "options": {},
            "load": "closed", "seed": 0});
        let bare = json!({"schema": "plumb.run/1", "plumb": {"version": "1"}, "started": "now",
            "status": "complete", "plan": plan, "host": host, "target": {"address": "db1"},
            "validity": validity, "results": []});
        let bare = RunRecord::from_json(&bare.to_string()).expect("a record");
        RunRecord { status, validity, results: vec![result], ..bare }
    }

    #[test]
    fn the_files_and_the_exit_code_say_the_same_of_every_run() {
        let all = [Scope::Everything, Scope::Unchecked, Scope::Latency, Scope::Nothing];
        for chosen in 0..1 << all.len() {
            let some = all.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
            let scopes: Vec<Scope> = some.map(|(_, scope)| *scope).collect();
            for (met, status) in
                [(true, Status::Complete), (false, Status::Complete), (true, Status::Interrupted)]
            {
                let record = record(&scopes, met, status);
                let state = of_run(&record, Path::new("run")).state();
                let expected = match Exit::of(&record) {
                    Exit::Ran => State::Passed,
                    Exit::Finding => State::Failed,
                    Exit::Unanswered => State::Unanswered,
                    // what failed before stands
                    Exit::Interrupted if scopes.contains(&Scope::Everything) => State::Failed,
                    Exit::Interrupted => State::Unanswered,
                    Exit::DidNotRun => unreachable!("it ran"),
                };
                assert_eq!(state, expected, "{scopes:?}, met: {met}, {status:?}");
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_known_before_and_one_that_can_stays_as_it_is() {
        let at = tempfile::tempdir().expect("a folder");
        let of = |path: &Path| {
            let words = [Path::new("plumb"), Path::new("net"), Path::new("ping"), Path::new("h")];
            let words = words.into_iter().chain([Path::new("--junit"), path]);
            VerdictFiles::of(&crate::commands::all().get_matches_from(words))
        };
        let (new, old) = (at.path().join("new.xml"), at.path().join("old.xml"));
        fs::write(&old, "of before").expect("written");
        assert!(of(&new).is_ok() && of(&old).is_ok());
        assert!(!new.exists(), "nothing is left of the trial");
        assert_eq!(fs::read_to_string(&old).expect("it is there"), "of before");
        // nobody makes files there, root neither
        let error = of(Path::new("/proc/plumb.xml")).expect_err("no file can be there");
        assert!(
            format!("{error:#}").contains("--junit: cannot write /proc/plumb.xml"),
            "{error:#}"
        );
        assert!(of(at.path()).is_err() && of(&at.path().join("none/v.xml")).is_err());
    }

    #[test]
    fn every_command_that_measures_or_compares_has_the_files() {
        fn look(path: &str, command: &Command, found: &mut Vec<String>) {
            for inner in command.get_subcommands() {
                look(format!("{path} {}", inner.get_name()).trim_start(), inner, found);
            }
            if command.get_arguments().any(|argument| argument.get_id() == "junit") {
                found.push(path.to_owned());
            }
        }
        let mut found = Vec::new();
        look("", &crate::commands::all(), &mut found);
        for command in [
            "checkup",
            "net ping",
            "net stream",
            "net check",
            "http ping",
            "http load",
            "db ping",
            "lock load pairs",
            "flow load",
            "ab",
            "compare",
            "lab run",
            "baseline check",
            "report",
        ] {
            assert!(found.iter().any(|it| it == command), "{command}: {found:?}");
        }
        for command in ["net serve", "lab calibrate", "baseline set", "size", "host record"] {
            assert!(!found.iter().any(|it| it == command), "{command}");
        }
    }
}
