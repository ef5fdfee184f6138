//! Which folders there are, and whether they are as they were.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{io, mem};

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
    /// A load ladder.
    Ladder,
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
            Self::Ladder => "ladder",
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
    /// The experiment, ladder or checkup that it is a part of.
    pub(crate) parent: Option<String>,
    /// Changes with every change of the files that are read.
    pub(crate) stamp: String,
}

/// A file by which a kind is known, and the one that is read beside it.
type Mark = (&'static str, FolderKind, &'static str);

/// The strongest first.
const MARKS: [Mark; 6] = [
    ("order.json", FolderKind::Experiment, "comparison.json"),
    ("ladder.json", FolderKind::Ladder, ""),
    ("checkup.json", FolderKind::Checkup, ""),
    ("check.json", FolderKind::Check, ""),
    RUN,
    ("intervals.hlog", FolderKind::UnderWay, ""),
];

/// Looks at folders, and remembers which hold a run: a folder stays one of a run as long as its record is
/// there, and is not listed again.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    runs: HashSet<PathBuf>,
}

/// The file of a run that has one.
const RUN: Mark = ("run.json", FolderKind::Run, "");

impl Scanner {
    /// Everything below `root`. Links are not followed, and hidden folders are not looked into; what
    /// cannot be looked into is left out.
    ///
    /// # Errors
    /// When `root` itself cannot be read.
    pub(super) fn scan(&mut self, root: &Path) -> io::Result<Vec<Seen>> {
        let mut look = Look {
            root,
            known: mem::take(&mut self.runs),
            runs: HashSet::new(),
            found: Vec::new(),
            folders: 0,
            open: Vec::new(),
        };
        look.enter(Open { folder: root.into(), depth: 0, parent: None })?;
        while let Some(next) = look.open.pop() {
            // gone meanwhile, or not ours to read
            let _: io::Result<()> = look.enter(next);
        }
        self.runs = look.runs;
        Ok(look.found)
    }
}

/// A folder that is still to be looked into.
struct Open {
    folder: PathBuf,
    depth: usize,
    parent: Option<String>,
}

/// One look at all folders.
struct Look<'a> {
    root: &'a Path,
    /// The folders of runs of the look before, and of this one.
    known: HashSet<PathBuf>,
    runs: HashSet<PathBuf>,
    found: Vec<Seen>,
    /// Folders met so far.
    folders: usize,
    open: Vec<Open>,
}

impl Look<'_> {
    fn enter(&mut self, at: Open) -> io::Result<()> {
        if let Some(folder) = self.known.take(&at.folder)
            && let Some(seen) = seen(self.root, &folder, RUN, at.parent.clone())
        {
            self.found.push(seen);
            self.runs.insert(folder);
            return Ok(());
        }
        let (mut names, mut inner) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&at.folder)?.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                inner.push(entry.path());
            } else if kind.is_file() {
                names.push(entry.file_name());
            }
        }
        let mut parent = at.parent.clone();
        if let Some(mark) = MARKS.iter().find(|(mark, ..)| names.iter().any(|name| name == mark)) {
            let leaf = matches!(mark.1, FolderKind::Run | FolderKind::UnderWay);
            if leaf && at.depth > 0 {
                self.found.extend(seen(self.root, &at.folder, *mark, at.parent));
                if *mark == RUN {
                    self.runs.insert(at.folder);
                }
                return Ok(());
            }
            if let Some(seen) = seen(self.root, &at.folder, *mark, at.parent) {
                parent = Some(seen.path.clone());
                self.found.push(seen);
            }
        }
        self.folders += inner.len();
        if at.depth < DEPTH_MAX && self.folders < FOLDERS_MAX {
            let visible = |path: &PathBuf| {
                path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
            };
            let depth = at.depth + 1;
            let inner = inner.into_iter().filter(visible);
            self.open.extend(inner.map(|folder| Open { folder, depth, parent: parent.clone() }));
        }
        Ok(())
    }
}

fn seen(
    root: &Path,
    folder: &Path,
    (mark, kind, beside): Mark,
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
    // a part may be there before what makes it one
    let whole = parent.as_deref().unwrap_or_default();
    let stamp = format!("{kind:?} {stamp} {whole}");
    Some(Seen { path, kind, parent, stamp })
}

fn stamp(of: &Metadata) -> String {
    format!("{}.{:09} {} {}", of.mtime(), of.mtime_nsec(), of.size(), of.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(root: &Path) -> io::Result<Vec<Seen>> {
        Scanner::default().scan(root)
    }

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
            "l/ladder.json",
            "l/blocks/001-users-1/run.json",
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
                ("l", "ladder", None),
                ("l/blocks/001-users-1", "run", Some("l")),
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
    fn a_second_look_sees_what_came_went_and_was_written_again() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for file in ["a/intervals.hlog", "b/run.json", "c/run.json", "d/run.json"] {
            put(root, file);
        }
        let mut scanner = Scanner::default();
        let before = scanner.scan(root).unwrap();
        assert_eq!(scanner.runs.len(), 3);
        assert_eq!(scanner.scan(root).unwrap(), before);

        put(root, "a/run.json"); // the run ended
        fs::write(root.join("b/run.json"), "{ }").unwrap(); // in place
        fs::remove_dir_all(root.join("c")).unwrap();
        put(root, "e/run.json");
        let mut after = scanner.scan(root).unwrap();
        after.sort_by(|a, b| a.path.cmp(&b.path));
        let paths: Vec<&str> = after.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["a", "b", "d", "e"]);
        assert_eq!(after[0].kind, FolderKind::Run);
        let stamp = |path: &str| &before.iter().find(|it| it.path == path).unwrap().stamp;
        assert_ne!(&after[1].stamp, stamp("b"));
        assert_eq!(&after[2].stamp, stamp("d"));
        assert_eq!(scanner.runs.len(), 4);
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
