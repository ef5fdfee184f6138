//! Which folders there are, and whether they are as they were.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Levels of folders below that of the runs.
const DEPTH_MAX: usize = 5;
/// Folders that are looked into.
const FOLDERS_MAX: usize = 200_000;

/// What lies in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderKind {
    Run,
    /// A run that has written no record yet.
    UnderWay,
    Checkup,
    Check,
    Experiment,
    /// Its name is no text.
    Unnamed,
}

impl FolderKind {
    /// The word in the index.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Run | Self::UnderWay => "run",
            Self::Checkup => "checkup",
            Self::Check => "check",
            Self::Experiment => "experiment",
            Self::Unnamed => "unknown",
        }
    }
}

/// A folder with something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Below the folder of the runs.
    pub(crate) path: String,
    pub(crate) kind: FolderKind,
    /// The experiment or checkup that it is a part of.
    pub(crate) parent: Option<String>,
    /// Changes with every change of the files that are read.
    pub(crate) stamp: String,
}

/// The files by which a kind is known, the strongest first, and those that are read beside.
const MARKS: [(&str, FolderKind, &str); 5] = [
    ("order.json", FolderKind::Experiment, "comparison.json"),
    ("checkup.json", FolderKind::Checkup, ""),
    ("check.json", FolderKind::Check, ""),
    ("run.json", FolderKind::Run, ""),
    ("intervals.hlog", FolderKind::UnderWay, ""),
];

/// Everything below `root`. Links are not followed, and hidden folders are not looked into; what
/// cannot be looked into is left out.
///
/// # Errors
/// When `root` itself cannot be read.
pub(crate) fn scan(root: &Path) -> io::Result<Vec<Seen>> {
    let mut found = Vec::new();
    let mut folders = 0;
    let mut open: Vec<(PathBuf, usize, Option<String>)> = Vec::new();
    let mut look = |folder: &Path, depth, parent: Option<String>, open: &mut Vec<_>| {
        let entries = fs::read_dir(folder)?;
        let (mut names, mut inner) = (Vec::new(), Vec::new());
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                inner.push(entry.path());
            } else if kind.is_file() {
                names.push(entry.file_name());
            }
        }
        let mark = MARKS.iter().find(|(mark, ..)| names.iter().any(|name| name == mark));
        let mut parent = parent;
        if let Some(seen) = mark.and_then(|mark| seen(root, folder, *mark, parent.clone())) {
            if matches!(seen.kind, FolderKind::Experiment | FolderKind::Checkup | FolderKind::Check)
            {
                parent = Some(seen.path.clone());
            }
            let leaf = matches!(seen.kind, FolderKind::Run | FolderKind::UnderWay);
            found.push(seen);
            if leaf {
                return Ok(());
            }
        }
        folders += inner.len();
        if depth < DEPTH_MAX && folders < FOLDERS_MAX {
            let visible = |path: &PathBuf| {
                path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
            };
            let inner = inner.into_iter().filter(visible);
            open.extend(inner.map(|path| (path, depth + 1, parent.clone())));
        }
        Ok(())
    };
    look(root, 0, None, &mut open)?;
    while let Some((folder, depth, parent)) = open.pop() {
        // gone meanwhile, or not ours to read
        let _: io::Result<()> = look(&folder, depth, parent, &mut open);
    }
    Ok(found)
}

fn seen(
    root: &Path,
    folder: &Path,
    (mark, kind, beside): (&str, FolderKind, &str),
    parent: Option<String>,
) -> Option<Seen> {
    let below = folder.strip_prefix(root).ok()?;
    let (path, kind) = match below.to_str() {
        Some(path) => (path.to_owned(), kind),
        None => (below.to_string_lossy().into_owned(), FolderKind::Unnamed),
    };
    if path.is_empty() {
        return None; // the folder of runs is itself no run
    }
    let mut stamp = stamp(&fs::metadata(folder.join(mark)).ok()?);
    if !beside.is_empty()
        && let Ok(more) = fs::metadata(folder.join(beside))
    {
        stamp = format!("{stamp} {}", self::stamp(&more));
    }
    Some(Seen { path, kind, parent, stamp: format!("{kind:?} {stamp}") })
}

fn stamp(of: &Metadata) -> String {
    format!("{}.{:09} {} {}", of.mtime(), of.mtime_nsec(), of.size(), of.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, file: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }

    #[test]
    fn parts_know_their_whole_and_links_lead_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for file in [
            "a/run.json",
            "b/intervals.hlog",
            "c/checkup.json",
            "c/parts/01-x/run.json",
            "d/order.json",
            "d/blocks/001-a/run.json",
            "deep/er/e/run.json",
            ".hidden/run.json",
            "note.txt",
            "empty/note.txt",
        ] {
            put(root, file);
        }
        std::os::unix::fs::symlink(root, root.join("circle")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("away")).unwrap();
        let mut found = scan(root).unwrap();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let brief: Vec<(&str, &str, Option<&str>)> = found
            .iter()
            .map(|it| (it.path.as_str(), it.kind.word(), it.parent.as_deref()))
            .collect();
        assert_eq!(
            brief,
            [
                ("a", "run", None),
                ("b", "run", None),
                ("c", "checkup", None),
                ("c/parts/01-x", "run", Some("c")),
                ("d", "experiment", None),
                ("d/blocks/001-a", "run", Some("d")),
                ("deep/er/e", "run", None),
            ]
        );
        assert!(scan(&root.join("nowhere")).is_err());
    }

    #[test]
    fn a_stamp_changes_with_what_is_read() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(root, "d/order.json");
        let before = scan(root).unwrap();
        assert_eq!(scan(root).unwrap(), before);
        put(root, "d/comparison.json");
        let compared = scan(root).unwrap();
        assert_ne!(compared, before);
        fs::write(root.join("d/order.json"), "{ }").unwrap();
        assert_ne!(scan(root).unwrap(), compared);
    }

    #[test]
    fn a_name_that_is_no_text_is_told() {
        use std::os::unix::ffi::OsStrExt as _;
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(std::ffi::OsStr::from_bytes(b"x\xff"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("run.json"), "{}").unwrap();
        let found = scan(root.path()).unwrap();
        assert_eq!((found.len(), found[0].kind), (1, FolderKind::Unnamed));
    }
}
