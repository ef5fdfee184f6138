//! What a command says that nobody need hear, kept in a file that is gone with whoever has it open.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// Bytes of its end that are looked at.
const END: usize = 1 << 16;

/// A file without a name, in memory: there is room for it on a disk that is full. `None` where the
/// system makes none: a command is carried out without it.
pub(super) fn file() -> Option<File> {
    // some systems make none that could be executed, and older ones do not know how to say that
    let made = [MemfdFlags::NOEXEC_SEAL, MemfdFlags::ALLOW_SEALING];
    made.into_iter()
        .find_map(|flags| memfd_create("said", flags | MemfdFlags::CLOEXEC).ok())
        .map(File::from)
}

/// The end of what was written into `file`, into which nothing more is written: what a command leaves
/// running would fill the memory for as long as it lives.
pub(super) fn end(file: &File) -> String {
    // without the seal it goes on as it was
    let _ = fcntl_add_seals(file, SealFlags::GROW);
    let length = file.metadata().map_or(0, |it| it.len());
    let mut text = vec![0; END];
    // what cannot be read was not said
    let read = file.read_at(&mut text, length.saturating_sub(END as u64)).unwrap_or(0);
    String::from_utf8_lossy(&text[..read]).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn nothing_is_written_behind_the_end() {
        let mut file = file().unwrap();
        file.write_all(b"off\n").unwrap();
        let mut left_running = file.try_clone().unwrap();
        assert_eq!(end(&file), "off\n");
        assert!(left_running.write_all(b"more").is_err());
        assert_eq!(end(&file), "off\n");
    }
}
