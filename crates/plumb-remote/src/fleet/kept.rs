//! What remotes hand over of their own parts of a run.

use plumb_measure::RunRecord;

use crate::HANDED_OVER_MAX;
use crate::files::bytes_of;

/// Files that one remote hands over at most.
const FILES_MAX: usize = 8;

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
    bytes: u64,
}

impl KeptFiles {
    /// Keeps the piece that travelled as `content` of the file `name`; false when that is no name or no
    /// content, or too much.
    pub(super) fn keep(&mut self, name: String, content: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name =
            name.bytes().all(plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric());
        let Some(piece) = bytes_of(content).filter(|_| is_name) else { return false };
        self.bytes += piece.len() as u64;
        let is_new = self.files.iter().all(|(known, _)| *known != name);
        let has_room = self.bytes <= HANDED_OVER_MAX;
        let may_begin = is_new && self.files.len() < FILES_MAX;
        match self.files.last_mut().filter(|(last, _)| *last == name) {
            Some((_, bytes)) if has_room => bytes.extend_from_slice(&piece),
            None if has_room && may_begin => {
                self.files.push((name, piece));
            }
            _ => return false,
        }
        true
    }

    /// Bytes that have come.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn into_files(self) -> Vec<(String, Vec<u8>)> {
        self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_kept_piece_by_piece() {
        let mut kept = KeptFiles::default();
        assert!(kept.keep("vm.nmon".into(), "YQ==") && kept.keep("vm.nmon".into(), "YmM="));
        assert!(kept.keep("0".into(), ""));
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
        assert!((2..FILES_MAX).all(|number| kept.keep(number.to_string(), "")));
        assert!(!kept.keep("more".into(), ""));
        assert_eq!(kept.into_files()[0], ("vm.nmon".to_owned(), b"abc".to_vec()));
    }
}
