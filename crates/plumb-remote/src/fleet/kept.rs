//! What remotes hand over of their own parts of a run.

use plumb_measure::RunRecord;

use crate::files::bytes_of;

/// Files, and bytes of all of them, that one remote hands over at most.
const FILES_MAX: usize = 8;
const BYTES_MAX: usize = 64 << 20;

/// What a remote hands over of its own part of a run.
#[derive(Debug)]
pub struct RemotePart {
    /// The remote.
    pub name: String,
    /// Its record; absent of one that was lost.
    pub record: Option<RunRecord>,
    /// Files that belong to it, by their names: what its machine did.
    pub files: Vec<(String, Vec<u8>)>,
}

/// The files of one remote.
#[derive(Debug, Default)]
pub(super) struct KeptFiles {
    files: Vec<(String, Vec<u8>)>,
    bytes: usize,
}

impl KeptFiles {
    /// Keeps what travelled as `content` under `name`; false when that is no name or no content, or
    /// too much.
    pub(super) fn keep(&mut self, name: String, content: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name =
            name.bytes().all(plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
        let Some(bytes) = bytes_of(content).filter(|_| is_name && self.files.len() < FILES_MAX)
        else {
            return false;
        };
        self.bytes += bytes.len();
        let is_new = self.files.iter().all(|(known, _)| *known != name);
        if self.bytes > BYTES_MAX || !is_new {
            return false;
        }
        self.files.push((name, bytes));
        true
    }

    pub(super) fn into_files(self) -> Vec<(String, Vec<u8>)> {
        self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_kept_each_once() {
        let mut kept = KeptFiles::default();
        assert!(kept.keep("vm.nmon".into(), "YQ=="));
        for (name, content) in [
            ("vm.nmon", "YQ=="),
            ("../x", "YQ=="),
            ("/x", "YQ=="),
            (".x", "YQ=="),
            ("", "YQ=="),
            ("a b", "YQ=="),
            ("x", "?"),
        ] {
            assert!(!kept.keep(name.into(), content), "{name}");
        }
        assert!((1..FILES_MAX).all(|number| kept.keep(number.to_string(), "")));
        assert!(!kept.keep("more".into(), ""));
        assert_eq!(kept.into_files()[0], ("vm.nmon".to_owned(), b"a".to_vec()));
    }
}
