//! What a ladder says of itself: pools, and which of its runs count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use plumb_folder::read_ladder;
use serde::Deserialize;

/// What the ladders among the paths declare.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    /// Places of pools by name.
    pub(crate) pools: BTreeMap<String, u32>,
    /// Servers of parts of the server's account.
    pub(crate) servers: BTreeMap<String, u32>,
    ladders: Vec<(PathBuf, Vec<PathBuf>)>,
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
}

#[derive(Debug, Deserialize)]
struct DocumentStep {
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
