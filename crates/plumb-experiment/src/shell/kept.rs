//! What a command says that nobody need hear, kept in a file that is gone with whoever has it open.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, memfd_create};

/// Bytes of its end that are looked at.
const END: usize = 1 << 16;

/// A file without a name, in memory: there is room for it on a disk that is full. `None` where the
/// system makes none: a command is carried out without it.
pub(super) fn file() -> Option<File> {
    // some systems make none that could be executed, and older ones do not know how to say that
    let made = [MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL, MemfdFlags::CLOEXEC];
    made.into_iter().find_map(|flags| memfd_create("said", flags).ok()).map(File::from)
}

/// The end of what was written into `file`.
pub(super) fn end(file: &File) -> String {
    let length = file.metadata().map_or(0, |it| it.len());
    let mut text = vec![0; END];
    // what cannot be read was not said
    let read = file.read_at(&mut text, length.saturating_sub(END as u64)).unwrap_or(0);
    String::from_utf8_lossy(&text[..read]).into_owned()
}
