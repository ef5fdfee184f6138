//! The file of a recording: complete after every save, whatever ends the program then.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::RecordError;

/// What ends the file.
const END: &[u8] = b"\n]}}\n";
/// A recording holds passwords unless they are masked, and pages of their users in any case.
const MODE: u32 = 0o600;
/// Bytes of a recording; what comes then is left out, and that is said.
const BYTES_MAX: u64 = 1 << 30;

/// A file of HAR 1.2 that grows. Each save writes the whole anew beside it and puts it into its
/// place at once.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
    part: PathBuf,
    /// Bytes before the end.
    bytes: u64,
    entries: u64,
}

impl Archive {
    /// A new file without entries at `path`.
    ///
    /// # Errors
    /// [`RecordError::Exists`], or [`RecordError::File`] when it cannot be made.
    pub(crate) fn create(path: &Path) -> Result<Self, RecordError> {
        let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path);
        let mut file = file.map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists { path: path.into() },
            _ => RecordError::file("make", path)(cause),
        })?;
        let creator = json!({"name": "plumb http record", "version": env!("CARGO_PKG_VERSION")});
        let start = format!(
            "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"pages\":[],\"entries\":["
        );
        let written = file.write_all(start.as_bytes()).and_then(|()| file.write_all(END));
        if let Err(cause) = written {
            let _ = fs::remove_file(path); // half a beginning stands in the way of the next
            return Err(RecordError::file("write", path)(cause));
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        Ok(Self { path: path.into(), part: part.into(), bytes: start.len() as u64, entries: 0 })
    }

    /// Where the file lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Entries in the file.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// True when `bytes` more would be too many.
    pub(crate) fn is_full(&self, bytes: u64) -> bool {
        self.bytes + bytes > BYTES_MAX
    }

    /// Adds `entries`, each a JSON object.
    ///
    /// # Errors
    /// What the kernel says; the file is then what it was before.
    pub(crate) fn add(&mut self, entries: &[Vec<u8>]) -> io::Result<()> {
        let written = self.write_part(entries).and_then(|bytes| {
            fs::rename(&self.part, &self.path)?;
            Ok(bytes)
        });
        match written {
            Ok(bytes) => {
                self.bytes = bytes;
                self.entries += entries.len() as u64;
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&self.part); // what is left of it serves nobody
                Err(error)
            }
        }
    }

    /// Writes what there is and `entries` beside it; bytes before the end.
    fn write_part(&self, entries: &[Vec<u8>]) -> io::Result<u64> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(MODE);
        let mut part = options.open(&self.part)?;
        let mut bytes = io::copy(&mut File::open(&self.path)?.take(self.bytes), &mut part)?;
        if bytes != self.bytes {
            return Err(io::Error::other("somebody else has changed it"));
        }
        let mut out = BufWriter::new(part);
        for (number, entry) in (self.entries..).zip(entries) {
            let joint: &[u8] = if number == 0 { b"\n" } else { b",\n" };
            out.write_all(joint)?;
            out.write_all(entry)?;
            bytes += (joint.len() + entry.len()) as u64;
        }
        out.write_all(END)?;
        out.flush()?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use plumb_scenario::har::Har;

    use super::*;

    fn read(path: &Path) -> serde_json::Value {
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn the_file_is_complete_after_every_save() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.har");
        let mut archive = Archive::create(&path).unwrap();
        let empty: Har = serde_json::from_value(read(&path)).unwrap();
        assert_eq!((empty.log.version.as_str(), empty.log.entries.len()), ("1.2", 0));
        archive.add(&[b"1".to_vec()]).unwrap();
        assert_eq!(read(&path)["log"]["entries"], json!([1]));
        archive.add(&[b"{}".to_vec(), b"[]".to_vec()]).unwrap();
        assert_eq!(read(&path)["log"]["entries"], json!([1, {}, []]));
        assert_eq!(archive.entries(), 3);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_existing_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.har");
        fs::write(&path, "mine").unwrap();
        let error = Archive::create(&path).unwrap_err().to_string();
        assert!(error.contains("never overwritten"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn a_file_that_somebody_has_cut_is_not_called_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.har");
        let mut archive = Archive::create(&path).unwrap();
        fs::write(&path, "").unwrap();
        let error = archive.add(&[b"1".to_vec()]).unwrap_err().to_string();
        assert!(error.contains("somebody else"), "{error}");
        assert_eq!((archive.entries(), names(folder.path())), (0, vec!["a.har".to_owned()]));
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}
