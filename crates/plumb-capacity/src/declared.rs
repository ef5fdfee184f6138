//! What a ladder says of itself: pools, which of its runs count, and whether the machine drifted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use plumb_folder::read_ladder;
use plumb_measure::LadderDrift;
use plumb_size::ladder::counted_users;
use serde::{Deserialize, Serialize};

/// What the ladders among the paths declare.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    /// Places of pools by name.
    pub(crate) pools: BTreeMap<String, u32>,
    /// Servers of parts of the server's account.
    pub(crate) servers: BTreeMap<String, u32>,
    /// What each ladder shows of drift.
    pub(crate) repeated: Vec<Repeated>,
    ladders: Vec<(PathBuf, Vec<PathBuf>)>,
}

/// What of a ladder was taken twice, so that a machine that drifted meanwhile shows.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Repeated {
    /// The folder; absent of runs that are in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    ladder: Option<String>,
    /// Users of the step; absent where none could be taken again.
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<u32>,
    /// How far throughput and mean of that step are from the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    drift: Option<[LadderDrift; 2]>,
}

/// What of `ladder.json` is needed.
#[derive(Debug, Deserialize)]
struct Document {
    stepped: String,
    #[serde(default)]
    pools: BTreeMap<String, u32>,
    #[serde(default)]
    servers: BTreeMap<String, u32>,
    steps: Vec<DocumentStep>,
    #[serde(default)]
    drift: Option<[LadderDrift; 2]>,
}

#[derive(Debug, Deserialize)]
struct DocumentStep {
    level: u32,
    #[serde(default)]
    repeated: bool,
    /// Absent where it left no run.
    #[serde(default)]
    folder: Option<PathBuf>,
    counts: bool,
    #[serde(default)]
    invalid: Option<String>,
}

impl Declared {
    /// Looks for ladders among `paths`.
    pub(crate) fn at(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut declared = Self::default();
        for path in paths {
            if let Some(text) = read_ladder(path)? {
                declared.add(path, &text)?;
            }
        }
        if paths.iter().any(|path| declared.ladder_of(path).is_none()) {
            declared.repeated.push(Repeated::default());
        }
        Ok(declared)
    }

    fn add(&mut self, path: &Path, text: &str) -> anyhow::Result<()> {
        let shown = path.display();
        let document: Document = serde_json::from_str(text)
            .with_context(|| format!("{shown}/ladder.json is none of this version"))?;
        ensure!(
            document.stepped != "rate",
            "{shown} steps a rate: its users are not known; step users to size it"
        );
        for (name, places) in document.pools {
            let before = self.pools.insert(name.clone(), places);
            ensure!(
                before.is_none_or(|it| it == places),
                "{shown} has {places} places of {name}, another ladder has not: a ladder is of one \
                 landscape"
            );
        }
        self.servers.extend(document.servers);
        let again = document.steps.iter().rfind(|step| step.repeated && step.counts);
        self.repeated.push(Repeated {
            ladder: Some(shown.to_string()),
            users: again.filter(|_| document.drift.is_some()).map(|step| step.level),
            drift: document.drift,
        });
        // a run that a longer one stands for is left out in silence, one that is not valid by name
        let wanted = |step: &DocumentStep| step.counts || step.invalid.is_some();
        let runs = document.steps.iter().filter(|step| wanted(step));
        let runs = runs.filter_map(|step| Some(path.join(step.folder.as_ref()?))).collect();
        self.ladders.push((path.to_owned(), runs));
        Ok(())
    }

    /// The folder of the ladder that the run at `path` belongs to.
    pub(crate) fn ladder_of(&self, path: &Path) -> Option<&Path> {
        let folders = self.ladders.iter().map(|(folder, _)| folder.as_path());
        folders.into_iter().find(|folder| path.starts_with(folder))
    }

    /// `paths` with the runs that count in the place of each ladder.
    pub(crate) fn paths(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let of = |path: &PathBuf| {
            let ladder = self.ladders.iter().find(|(folder, _)| folder == path);
            ladder.map_or_else(|| vec![path.clone()], |(_, runs)| runs.clone())
        };
        paths.iter().flat_map(of).collect()
    }
}

impl Repeated {
    /// Why the ladder answers nothing; `None` of a machine that is not shown to have drifted.
    pub(crate) fn refusal(&self) -> Option<String> {
        let drift = self.drift.filter(|both| both.iter().any(LadderDrift::is_shown))?;
        let (step, ladder) = (self.step(), self.ladder.as_ref()?);
        Some(format!(
            "the machine drifted while {ladder} was taken: {step}, taken again, differs by {} \
             from the first time; take the ladder again",
            differences(drift)
        ))
    }

    /// How sure it is that the machine stayed as it was.
    pub(crate) fn words(&self) -> String {
        let Some(ladder) = &self.ladder else {
            return "Whether the machine drifted while these runs were taken is not known; a ladder of \
                    `plumb lab run` takes a step again."
                .into();
        };
        let Some(drift) = self.drift else {
            return format!(
                "No step of {ladder} was taken again: whether the machine drifted meanwhile is not known."
            );
        };
        let verdict = if drift.iter().any(LadderDrift::is_shown) {
            "the machine drifted"
        } else if drift.iter().all(LadderDrift::is_known) {
            "no drift is shown"
        } else {
            "whether that is drift is not known; take longer steps"
        };
        format!(
            "Taken again, {} of {ladder} differs by {}: {verdict}.",
            self.step(),
            differences(drift)
        )
    }

    fn step(&self) -> String {
        let users = self.users.map(|users| format!(" of {}", counted_users(f64::from(users))));
        format!("the step{}", users.unwrap_or_default())
    }
}

fn differences([throughput, mean]: [LadderDrift; 2]) -> String {
    format!(
        "{:+.1} % in throughput and {:+.1} % in the mean",
        throughput.share * 100.0,
        mean.share * 100.0
    )
}
