//! Files that a command names and that travel with it: by their digest, so that each is sent once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use plumb_engine::layer::NamedFile;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::FILES_MAX;

/// Bytes of one file, and of all files of a command, at most.
const FILE_BYTES_MAX: u64 = 32 << 20;
const ALL_BYTES_MAX: u64 = 256 << 20;

/// Why files do not travel.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read, or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// It is named from elsewhere.
    #[error(
        "{}: only files below the one that names them are sent to remotes; move it there",
        .0.display()
    )]
    Elsewhere(PathBuf),
    /// There is too much of it.
    #[error(
        "{}: files of more than {} MiB, and more than {FILES_MAX} files or {} MiB of a command, are \
         not sent to remotes: run the command on that machine itself",
        .0.display(), FILE_BYTES_MAX >> 20, ALL_BYTES_MAX >> 20
    )]
    TooMuch(PathBuf),
    /// What came is not what was announced.
    #[error("a file came that is not the one that was announced")]
    AnotherFile,
}

/// A file that travels with a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlanFile {
    /// Where it lies among the files of its command.
    pub path: String,
    /// SHA-256 of what is in it, hexadecimal.
    pub digest: String,
}

/// A word of a command that stands for a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileWord {
    /// The word, or what stands behind the `=` of one.
    pub word: String,
    /// Where the file, or the folder, lies among the files of its command.
    pub path: String,
}

/// The files of a command, with what is in them.
#[derive(Debug, Default)]
pub struct PlanFiles {
    /// Words that stand for one.
    pub words: Vec<FileWord>,
    /// All of them.
    pub files: Vec<PlanFile>,
    /// What is in them, by its digest, as it is written down.
    contents: BTreeMap<String, String>,
    bytes: u64,
}

impl PlanFiles {
    /// Reads what `named` names.
    ///
    /// # Errors
    /// [`FileError`] names the first file that cannot travel.
    pub fn read(named: &[NamedFile]) -> Result<Self, FileError> {
        let mut all = Self::default();
        for (number, named) in named.iter().enumerate() {
            let name = named.path.file_name().unwrap_or_default();
            let top = PathBuf::from(number.to_string());
            let place = top.join(name);
            if named.path.is_dir() {
                let failed = |cause| FileError::Io { path: named.path.clone(), cause };
                for entry in fs::read_dir(&named.path).map_err(failed)? {
                    let path = entry.map_err(failed)?.path();
                    if path.is_file() {
                        all.add(&path, &place.join(path.file_name().unwrap_or_default()))?;
                    }
                }
            } else {
                all.add(&named.path, &place)?;
            }
            let folder = named.path.parent().unwrap_or(Path::new(""));
            for beside in &named.beside {
                if !is_below(beside) {
                    return Err(FileError::Elsewhere(beside.clone()));
                }
                all.add(&folder.join(beside), &top.join(beside))?;
            }
            let path = place.to_string_lossy().into_owned();
            all.words.push(FileWord { word: named.word.clone(), path });
        }
        Ok(all)
    }

    fn add(&mut self, from: &Path, to: &Path) -> Result<(), FileError> {
        let failed = |cause| FileError::Io { path: from.into(), cause };
        self.bytes += fs::metadata(from).map_err(failed)?.len();
        let content = fs::read(from).map_err(failed)?;
        let too_much = content.len() as u64 > FILE_BYTES_MAX || self.bytes > ALL_BYTES_MAX;
        if too_much || self.files.len() == FILES_MAX {
            return Err(FileError::TooMuch(from.into()));
        }
        let path = to.to_string_lossy().into_owned();
        if self.files.iter().all(|known| known.path != path) {
            let digest = digest_of(&content);
            self.contents.insert(digest.clone(), text_of(&content));
            self.files.push(PlanFile { path, digest });
        }
        Ok(())
    }

    /// What is in the file with this digest, as it travels.
    #[must_use]
    pub fn content(&self, digest: &str) -> Option<&str> {
        self.contents.get(digest).map(String::as_str)
    }
}

/// What a remote keeps of the files that were sent to it, until it ends.
#[derive(Debug)]
pub struct FileStore {
    folder: TempDir,
    /// Where what has this digest lies.
    kept: BTreeMap<String, PathBuf>,
    kept_bytes: u64,
    /// Folders of commands that were laid out, and what is in them.
    commands: u64,
    laid_files: usize,
    laid_bytes: u64,
}

impl FileStore {
    /// An empty one.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            folder: tempfile::tempdir()?,
            kept: BTreeMap::new(),
            kept_bytes: 0,
            commands: 0,
            laid_files: 0,
            laid_bytes: 0,
        })
    }

    /// The digests of `files` that are not here.
    #[must_use]
    pub fn lacks(&self, files: &[PlanFile]) -> Vec<String> {
        let missing = files.iter().filter(|file| !self.kept.contains_key(&file.digest));
        let mut digests: Vec<String> = missing.map(|file| file.digest.clone()).collect();
        digests.sort_unstable();
        digests.dedup();
        digests
    }

    /// Keeps what travelled as `content` under the digest it was announced with.
    ///
    /// # Errors
    /// [`FileError::AnotherFile`] when it has another, [`FileError::TooMuch`] when it is more than
    /// travels, [`FileError::Io`] when there is no room.
    pub fn keep(&mut self, announced: &str, content: &str) -> Result<(), FileError> {
        // it travels as four characters for three bytes, the last three of which may be filled up
        if content.len() as u64 / 4 * 3 > FILE_BYTES_MAX + 2 {
            return Err(FileError::TooMuch(announced.into()));
        }
        let bytes = bytes_of(content).ok_or(FileError::AnotherFile)?;
        if digest_of(&bytes) != announced {
            return Err(FileError::AnotherFile);
        }
        let path = self.folder.path().join(announced);
        if self.kept.contains_key(announced) {
            return Ok(());
        }
        self.kept_bytes += bytes.len() as u64;
        if self.kept_bytes > ALL_BYTES_MAX {
            return Err(FileError::TooMuch(announced.into()));
        }
        fs::write(&path, bytes).map_err(|cause| FileError::Io { path: path.clone(), cause })?;
        self.kept.insert(announced.to_owned(), path);
        Ok(())
    }

    /// Lays `files` out in a new folder, which it gives back, and puts their places into `words` where
    /// `named` stand for them. The bounds of a command hold for all commands of a controller
    /// together: each has as many copies of one file as it names.
    ///
    /// # Errors
    /// [`FileError`] when one is not here, has a path that leads elsewhere, or cannot be written, and
    /// when they are more than travel.
    pub fn lay_out(
        &mut self,
        files: &[PlanFile],
        named: &[FileWord],
        words: &[String],
    ) -> Result<(PathBuf, Vec<String>), FileError> {
        let paths = files.iter().map(|file| &file.path).chain(named.iter().map(|it| &it.path));
        if let Some(away) = paths.map(Path::new).find(|path| !is_below(path)) {
            return Err(FileError::Elsewhere(away.into()));
        }
        self.commands += 1;
        self.laid_files += files.len();
        let folder = self.folder.path().join(format!("command-{}", self.commands));
        for file in files {
            let path = folder.join(&file.path);
            let kept = self.kept.get(&file.digest).ok_or(FileError::AnotherFile)?;
            let failed = |cause| FileError::Io { path: path.clone(), cause };
            self.laid_bytes += fs::metadata(kept).map_err(failed)?.len();
            if self.laid_files > FILES_MAX || self.laid_bytes > ALL_BYTES_MAX {
                return Err(FileError::TooMuch(file.path.clone().into()));
            }
            fs::create_dir_all(path.parent().unwrap_or(&folder)).map_err(failed)?;
            fs::copy(kept, &path).map_err(failed)?;
        }
        let put = |word: &String| {
            let (head, value) = match word.split_once('=') {
                Some((head, value)) if head.starts_with('-') => (&word[..=head.len()], value),
                _ => ("", word.as_str()),
            };
            let found = named.iter().find(|named| named.word == value);
            found.map_or_else(
                || word.clone(),
                |found| format!("{head}{}", folder.join(&found.path).display()),
            )
        };
        let words = words.iter().map(put).collect();
        Ok((folder, words))
    }
}

/// True when `path` leads to somewhere below the folder in which it stands.
pub(crate) fn is_below(path: &Path) -> bool {
    let mut parts = path.components();
    parts.clone().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// `bytes` as they travel.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// What travelled as `text`; `None` when it is none.
pub(crate) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text).ok()
}

fn digest_of(content: &[u8]) -> String {
    digest(&SHA256, content).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_travel_once_and_stand_where_they_were_named() {
        let here = tempfile::tempdir().unwrap();
        fs::create_dir(here.path().join("data")).unwrap();
        for (name, text) in [("s.toml", "a"), ("data/x.csv", "b"), ("data/y.csv", "b")] {
            fs::write(here.path().join(name), text).unwrap();
        }
        let path = here.path().join("s.toml");
        let beside = vec![PathBuf::from("data/x.csv"), PathBuf::from("data/y.csv")];
        let word = path.display().to_string();
        let named = NamedFile { word: word.clone(), path, beside };
        let sent = PlanFiles::read(std::slice::from_ref(&named)).unwrap();
        let mut store = FileStore::new().unwrap();
        let lacks = store.lacks(&sent.files);
        assert_eq!((sent.files.len(), lacks.len()), (3, 2), "two of them are alike");
        for digest in &lacks {
            store.keep(digest, sent.content(digest).unwrap()).unwrap();
        }
        assert_eq!(store.lacks(&sent.files), Vec::<String>::new());
        let words = ["load".into(), word.clone(), format!("--file={word}"), "s.toml".into()];
        let (folder, put) = store.lay_out(&sent.files, &sent.words, &words).unwrap();
        assert!(Path::new(&put[1]).starts_with(folder));
        assert_eq!((put[0].as_str(), put[3].as_str()), ("load", "s.toml"));
        assert_eq!(put[2], format!("--file={}", put[1]));
        let laid = Path::new(&put[1]);
        assert_eq!(fs::read_to_string(laid).unwrap(), "a");
        let beside = laid.parent().unwrap().join("data/y.csv");
        assert_eq!(fs::read_to_string(beside).unwrap(), "b");
    }

    #[test]
    fn what_leads_elsewhere_or_is_another_is_refused() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().join("s.toml");
        fs::write(&path, "a").unwrap();
        for away in ["../x", "/etc/passwd", "a/../../x", ""] {
            let named =
                NamedFile { word: "s".into(), path: path.clone(), beside: vec![away.into()] };
            assert!(matches!(PlanFiles::read(&[named]), Err(FileError::Elsewhere(_))), "{away}");
        }
        let mut store = FileStore::new().unwrap();
        let digest = digest_of(b"a");
        assert!(matches!(store.keep(&digest, "Yg=="), Err(FileError::AnotherFile)), "it is a b");
        assert!(matches!(store.keep(&digest, "?"), Err(FileError::AnotherFile)));
        store.keep(&digest, "YQ==").unwrap();
        let files = |path: &str| [PlanFile { path: path.into(), digest: digest.clone() }];
        for away in ["../x", "/tmp/x", "0/../../x"] {
            let laid = store.lay_out(&files(away), &[], &[]);
            assert!(matches!(laid, Err(FileError::Elsewhere(_))), "{away}");
        }
        for away in ["../x", "0/../../x", "/etc/passwd", ""] {
            let named = [FileWord { word: "w".into(), path: away.into() }];
            let laid = store.lay_out(&files("0/x"), &named, &["w".into()]);
            assert!(matches!(laid, Err(FileError::Elsewhere(_))), "{away}");
        }
        let absent = [PlanFile { path: "0/x".into(), digest: "00".into() }];
        assert!(store.lay_out(&absent, &[], &[]).is_err());
    }

    #[test]
    fn who_sends_more_than_travels_is_refused() {
        let mut store = FileStore::new().unwrap();
        let keep = |store: &mut FileStore, bytes: &[u8]| {
            let digest = digest_of(bytes);
            store.keep(&digest, &text_of(bytes)).map(|()| digest)
        };
        let large = "A".repeat(usize::try_from(FILE_BYTES_MAX).unwrap() / 3 * 4 + 8);
        assert!(matches!(store.keep("00", &large), Err(FileError::TooMuch(_))));
        let digest = keep(&mut store, b"ab").unwrap();
        keep(&mut store, b"ab").unwrap();
        assert_eq!(store.kept_bytes, 2, "it is here once");
        // one file, under as many names as somebody likes
        let named = |count: usize| -> Vec<PlanFile> {
            let path = |number| PlanFile { path: format!("0/{number}"), digest: digest.clone() };
            (0..count).map(path).collect()
        };
        store.laid_bytes = ALL_BYTES_MAX - 5;
        assert!(store.lay_out(&named(2), &[], &[]).is_ok());
        let laid = store.lay_out(&named(1), &[], &[]);
        assert!(matches!(laid, Err(FileError::TooMuch(_))), "{laid:?}");
        store.laid_bytes = 0;
        store.laid_files = FILES_MAX;
        let laid = store.lay_out(&named(1), &[], &[]);
        assert!(matches!(laid, Err(FileError::TooMuch(_))), "{laid:?}");
        store.kept_bytes = ALL_BYTES_MAX;
        assert!(matches!(keep(&mut store, b"one more"), Err(FileError::TooMuch(_))));
    }
}
