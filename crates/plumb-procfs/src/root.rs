//! Where /proc and /sys are.

use std::path::{Path, PathBuf};

/// The folders of the kernel's own files: those of this machine, or recorded ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    proc: PathBuf,
    sys: PathBuf,
}

impl Root {
    /// This machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self::below(Path::new("/"))
    }

    /// `proc` and `sys` below `folder`: a recording, or a file system of another root.
    #[must_use]
    pub fn below(folder: &Path) -> Self {
        Self { proc: folder.join("proc"), sys: folder.join("sys") }
    }

    /// A machine that has `files`: path and content. They go with the folder.
    #[cfg(test)]
    pub(crate) fn of_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Self) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Self::below(folder.path());
        (folder, root)
    }

    /// True of the running kernel, whose system calls tell of the same processes as its files.
    pub(crate) fn is_this_machine(&self) -> bool {
        *self == Self::of_this_machine()
    }

    /// A file of /proc.
    #[must_use]
    pub fn proc(&self, path: &str) -> PathBuf {
        self.proc.join(path)
    }

    /// A file of /sys.
    #[must_use]
    pub fn sys(&self, path: &str) -> PathBuf {
        self.sys.join(path)
    }

    /// The first line of a file of /sys without its end; `None` when it cannot be read.
    #[must_use]
    pub fn sys_line(&self, path: &str) -> Option<String> {
        first_line(&self.sys(path))
    }
}

impl Default for Root {
    fn default() -> Self {
        Self::of_this_machine()
    }
}

/// The first line of a file without its end; `None` when it cannot be read.
#[must_use]
pub fn first_line(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

/// The numbers of a list of the kernel: 0, 1 and 4 of `0-1,4`. Of a range no more than 1,024.
pub(crate) fn listed(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(first..=last.min(first.saturating_add(1_023)))
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The names in a folder, sorted; none when it cannot be read.
#[must_use]
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_by_key(|name| natural(name));
    names
}

/// A key by which `rx-2` stands before `rx-10`.
fn natural(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}
