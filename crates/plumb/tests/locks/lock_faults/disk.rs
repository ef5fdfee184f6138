//! Disks of two servers that can be frozen: whatever is to last waits then.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use tempfile::TempDir;

/// Bytes of a disk: a journal of little.
const BYTES: u64 = 24 << 20;
/// How folders with disks begin; the number of the process that made them follows.
const FOLDER: &str = "plumb-lock-faults-";
/// Waits until its standard input ends, whatever becomes of whoever started it.
const GUARD: &str = "trap '' INT TERM HUP; cat >/dev/null; fsfreeze -u \"$0\"; umount -l \"$0\"";

#[derive(Debug)]
pub(super) struct Disk {
    mount: PathBuf,
    /// It is frozen until then, nanoseconds.
    frozen: u64,
    /// Thaws it and takes it away when this process has ended.
    guard: Child,
}

/// A temporary folder for disks. Those of earlier processes that were ended together with their guards are
/// taken away.
pub(super) fn folder() -> TempDir {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(sweep);
    let prefix = format!("{FOLDER}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir().expect("a temporary folder")
}

fn sweep() {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    for place in mounts.lines().filter_map(|line| line.split(' ').nth(1)) {
        if Path::new(place).parent().is_some_and(is_left) {
            run("fsfreeze", &["-u", place]);
            run("umount", &["-l", place]);
        }
    }
    let folders = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path()).filter(|path| is_left(path)) {
        // one that another user made stays
        let _ = fs::remove_dir_all(folder);
    }
}

/// Whether this is a folder with disks of a process that has ended.
fn is_left(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|it| it.to_str());
    let maker = name.and_then(|it| it.strip_prefix(FOLDER)?.split('-').next()?.parse().ok());
    maker.is_some_and(|id: u32| !Path::new(&format!("/proc/{id}")).exists())
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
        let guard = made.then(|| {
            let mut guard = Command::new("sh");
            let guard = guard.args(["-c", GUARD, place]).stdin(Stdio::piped());
            guard.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("there is a shell")
        })?;
        Some(Self { mount: mount.to_owned(), frozen: 0, guard })
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

    /// Thawed for whoever is to be ended: it cannot be while it waits for a frozen disk.
    pub(super) fn let_go(&mut self) {
        if std::mem::take(&mut self.frozen) > 0 {
            run("fsfreeze", &["-u", self.place()]);
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
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}
