//! Disks of two servers that can be frozen: whatever is to last waits then.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of a disk: a journal of little.
const BYTES: u64 = 24 << 20;

#[derive(Debug)]
pub(super) struct Disk {
    mount: PathBuf,
    /// It is frozen until then, nanoseconds.
    frozen: u64,
}

fn run(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    let command = command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Disk {
    /// One for each of two servers; none where this user may not mount any.
    pub(super) fn two(folder: &Path) -> Vec<Self> {
        let disks: Option<Vec<Self>> =
            (0..2).map(|at| Self::mount(&folder.join(format!("disk-{at}")))).collect();
        disks.unwrap_or_default()
    }

    fn mount(mount: &Path) -> Option<Self> {
        let image = mount.with_extension("image");
        fs::create_dir(mount).expect("a folder of its own");
        File::create(&image).and_then(|file| file.set_len(BYTES)).expect("there is room");
        let [image, place] = [&image, mount].map(|path| path.to_str().expect("a plain path"));
        let made = run("mkfs.ext4", &["-q", image]) && run("mount", &["-o", "loop", image, place]);
        made.then(|| Self { mount: mount.to_owned(), frozen: 0 })
    }

    fn place(&self) -> &str {
        self.mount.to_str().expect("a plain path")
    }

    pub(super) fn journal(&self) -> String {
        format!("{}/journal", self.place())
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.frozen > 0
    }

    pub(super) fn freeze(&mut self, until: u64) {
        if self.frozen > 0 || run("fsfreeze", &["-f", self.place()]) {
            self.frozen = self.frozen.max(until);
        }
    }

    pub(super) fn thaw(&mut self) {
        if std::mem::take(&mut self.frozen) > 0 {
            assert!(run("fsfreeze", &["-u", self.place()]), "{} stays frozen", self.place());
        }
    }

    /// It goes on once its time is over.
    pub(super) fn pass(&mut self, now: u64) {
        if self.frozen > 0 && now >= self.frozen {
            self.thaw();
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run("fsfreeze", &["-u", self.place()]);
        let _ = run("umount", &["-l", self.place()]);
    }
}
