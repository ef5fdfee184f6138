//! Groups of the kernel that bound the memory of a process (cgroup versions 1 and 2).

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use plumb_measure::ByteSize;

/// Why no limit of memory is in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not enforced: {0}")]
pub struct NotEnforced(String);

/// Where groups can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGroups {
    version: Version,
    /// The group of this process.
    own: PathBuf,
}

/// A group with a limit; removed when it is dropped, unless somebody is in it.
#[derive(Debug)]
pub struct MemoryGroup {
    version: Version,
    folder: PathBuf,
    /// Processes that the kernel had ended in it before it was this one's.
    ended_before: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The files of a version.
struct Names {
    limit: &'static str,
    /// Memory with swap in version 1, swap alone in version 2.
    swap: &'static str,
    events: &'static str,
    /// How often the limit was reached, in a line of its own or behind a word.
    reached: (&'static str, &'static str),
}

impl Version {
    fn names(self) -> Names {
        match self {
            Self::One => Names {
                limit: "memory.limit_in_bytes",
                swap: "memory.memsw.limit_in_bytes",
                events: "memory.oom_control",
                reached: ("memory.failcnt", ""),
            },
            Self::Two => Names {
                limit: "memory.max",
                swap: "memory.swap.max",
                events: "memory.events",
                reached: ("memory.events", "max "),
            },
        }
    }
}

impl MemoryGroups {
    /// Where this process may make groups, for which in version 2 it moves into one of its own.
    ///
    /// # Errors
    /// [`NotEnforced`] when the kernel has no such groups, or they may not be made here.
    pub fn find() -> Result<Self, NotEnforced> {
        Self::around()?.ready()
    }

    /// The same, once groups can be made there by any thread.
    fn ready(self) -> Result<Self, NotEnforced> {
        self.sweep();
        if self.version == Version::Two {
            self.hand_down()?;
        }
        Ok(self)
    }

    fn around() -> Result<Self, NotEnforced> {
        let read = |path: &str| std::fs::read_to_string(path).map_err(|error| no(&path, &error));
        Self::of(&read("/proc/self/mounts")?, &read("/proc/self/cgroup")?)
    }

    /// Removes groups of nodes whose parent was killed.
    fn sweep(&self) {
        for entry in std::fs::read_dir(&self.own).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if parent_of(&name).is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                // one with a process in it stays, as the kernel will have it
                let _ = std::fs::remove_dir(entry.path());
            }
        }
    }

    fn reached(&self) -> Option<u64> {
        let (file, word) = self.version.names().reached;
        let text = std::fs::read_to_string(self.own.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(word))?.trim().parse().ok()
    }

    /// The same without what was there `before`, which is noted the first time: a group that was taken has
    /// the count of those before.
    fn reached_since(&self, before: &OnceLock<u64>) -> Option<u64> {
        let reached = self.reached()?;
        Some(reached.saturating_sub(*before.get_or_init(|| reached)))
    }

    fn of(mounts: &str, cgroup: &str) -> Result<Self, NotEnforced> {
        let mount = |kind: &str, option: &str| {
            mounts.lines().find_map(|line| {
                let mut words = line.split(' ').skip(1);
                let (place, found, options) = (words.next()?, words.next()?, words.next()?);
                let has = option.is_empty() || options.split(',').any(|one| one == option);
                (found == kind && has).then(|| PathBuf::from(place))
            })
        };
        let path = |wanted: &dyn Fn(&str) -> bool| {
            cgroup.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                wanted(controllers).then(|| path.trim_start_matches('/').to_owned())
            })
        };
        if let Some(mount) = mount("cgroup", "memory") {
            let own = path(&|names| names.split(',').any(|name| name == "memory"));
            return Ok(Self { version: Version::One, own: below(mount, own) });
        }
        if let Some(mount) = mount("cgroup2", "") {
            let own = path(&str::is_empty);
            return Ok(Self { version: Version::Two, own: below(mount, own) });
        }
        Err(NotEnforced("this machine has no memory groups (cgroups)".into()))
    }

    /// Makes a group of at most `limit` bytes, swap included. One of this name that is there already is
    /// taken: processes that a node has left behind keep it for as long as they run.
    ///
    /// # Errors
    /// [`NotEnforced`] says what the kernel refused.
    pub fn make(&self, name: &str, limit: ByteSize) -> Result<MemoryGroup, NotEnforced> {
        let folder = self.own.join(name);
        let was_there = match std::fs::create_dir(&folder) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(error) => return Err(no(&folder.display(), &error)),
        };
        let mut group = MemoryGroup { version: self.version, folder, ended_before: 0 };
        group.ended_before = group.ended().unwrap_or(0);
        let names = self.version.names();
        // a kernel that does not count swap has no such file
        let has_swap = group.folder.join(names.swap).exists();
        let swap = match self.version {
            Version::One => limit.bytes(),
            Version::Two => 0,
        };
        if was_there && has_swap && self.version == Version::One {
            group.write(names.swap, "-1")?; // memory with swap is never less than memory alone
        }
        group.write(names.limit, &limit.bytes().to_string())?;
        if has_swap {
            group.write(names.swap, &swap.to_string())?;
        }
        Ok(group)
    }

    /// In version 2 limits are for groups below one that has no process itself: this process moves
    /// into a group of its own.
    fn hand_down(&self) -> Result<(), NotEnforced> {
        let control = self.own.join("cgroup.subtree_control");
        let text = std::fs::read_to_string(&control).unwrap_or_default();
        if text.split_whitespace().any(|name| name == "memory") {
            return Ok(());
        }
        let aside = self.own.join(format!("plumb-{}", std::process::id()));
        let moved = std::fs::create_dir(&aside)
            .and_then(|()| std::fs::write(aside.join("cgroup.procs"), "0"))
            .and_then(|()| std::fs::write(&control, "+memory"));
        moved.map_err(|error| {
            let _ = std::fs::write(self.own.join("cgroup.procs"), "0");
            let _ = std::fs::remove_dir(&aside);
            NotEnforced(format!(
                "{}: {error}: start it in a group of its own, for example by `systemd-run --user \
                 --scope -p Delegate=yes`",
                control.display()
            ))
        })
    }
}

impl MemoryGroup {
    /// The folder that stands for it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many processes the kernel ended in it because the limit did not suffice, since it was made or
    /// taken.
    #[must_use]
    pub fn ended_by_limit(&self) -> Option<u64> {
        Some(self.ended()?.saturating_sub(self.ended_before))
    }

    fn ended(&self) -> Option<u64> {
        let text = self.read(self.version.names().events)?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
        count.trim().parse().ok()
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(name)).ok()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), NotEnforced> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|error| no(&path.display(), &error))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // one with a process in it stays, as the kernel will have it
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// How often this node had to give memory back before it got more, since it was asked first; `None` of what is
/// in no group of its own, or where the kernel does not tell.
#[must_use]
pub fn memory_limit_reached() -> Option<u64> {
    static BEFORE: OnceLock<u64> = OnceLock::new();
    let groups = MemoryGroups::around().ok()?;
    // what several processes share would be counted by each of them
    groups.own.file_name().and_then(parent_of)?;
    groups.reached_since(&BEFORE)
}

/// The process that made the group of this name for a node, by its id.
fn parent_of(group: &OsStr) -> Option<&str> {
    let (parent, _) = group.to_str()?.strip_prefix("plumb-")?.split_once("-node-")?;
    Some(parent)
}

/// The group at `path` below `mount`; `mount` itself where a container shows another tree.
fn below(mount: PathBuf, path: Option<String>) -> PathBuf {
    let own = mount.join(path.unwrap_or_default());
    if own.is_dir() { own } else { mount }
}

fn no(what: &dyn fmt::Display, error: &io::Error) -> NotEnforced {
    NotEnforced(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mib(count: u64) -> ByteSize {
        ByteSize::new(count << 20).unwrap()
    }

    /// A tree as version 2 shows it, as plain files.
    fn second_version(folder: &Path) -> MemoryGroups {
        std::fs::create_dir_all(folder.join("user/session")).unwrap();
        let mounts = format!("cgroup2 {} cgroup2 rw,nosuid 0 0\n", folder.display());
        MemoryGroups::of(&mounts, "0::/user/session\n").unwrap()
    }

    #[test]
    fn both_versions_are_found_where_they_are_mounted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("memory/a")).unwrap();
        let place = folder.path().display();
        let mounts = format!(
            "proc /proc proc rw 0 0\ncgroup {place}/cpu cgroup rw,cpu 0 0\n\
             cgroup {place}/memory cgroup rw,relatime,memory 0 0\ncgroup2 {place}/u cgroup2 rw 0 0\n"
        );
        let groups = MemoryGroups::of(&mounts, "4:memory:/a\n1:cpu:/\n0::/\n").unwrap();
        assert_eq!(groups.version, Version::One);
        assert_eq!(groups.own, folder.path().join("memory/a"));
        std::fs::write(groups.own.join("memory.failcnt"), "17\n").unwrap();
        assert_eq!(groups.reached(), Some(17));
        assert_eq!(parent_of("plumb-12-node-3".as_ref()), Some("12"));
        assert_eq!(parent_of("plumb-12".as_ref()), None, "that of their parent is no node's");
        let elsewhere = MemoryGroups::of(&mounts, "4:memory:/of/the/host\n").unwrap();
        assert_eq!(elsewhere.own, folder.path().join("memory"));
        assert_eq!(second_version(folder.path()).version, Version::Two);
        let none = MemoryGroups::of("proc /proc proc rw 0 0\n", "").unwrap_err().to_string();
        assert!(none.contains("not enforced") && none.contains("cgroups"), "{none}");
    }

    #[test]
    fn a_limit_of_the_second_version_is_for_a_group_below_one_without_processes() {
        let folder = tempfile::tempdir().unwrap();
        let groups = second_version(folder.path()).ready().unwrap();
        let group = groups.make("node-1", mib(64)).unwrap();
        let own = folder.path().join("user/session");
        let read = |path: &str| std::fs::read_to_string(own.join(path)).unwrap();
        assert_eq!(read("node-1/memory.max"), (64 << 20).to_string());
        assert_eq!(read("cgroup.subtree_control"), "+memory");
        assert_eq!(read(&format!("plumb-{}/cgroup.procs", std::process::id())), "0");
        std::fs::write(own.join("node-1/memory.events"), "max 3\noom_kill 2\n").unwrap();
        assert_eq!(group.ended_by_limit(), Some(2));
        let node = MemoryGroups { own: own.join("node-1"), ..groups.clone() };
        assert_eq!((node.reached(), groups.reached()), (Some(3), None));
        let before = OnceLock::new();
        assert_eq!(node.reached_since(&before), Some(0), "those were of another node");
        std::fs::write(own.join("node-1/memory.events"), "max 5\noom_kill 2\n").unwrap();
        assert_eq!(node.reached_since(&before), Some(2));
        let other = groups.make("node-2", mib(64)).unwrap();
        assert_eq!(read("node-2/memory.max"), (64 << 20).to_string());
        assert_eq!(other.folder(), own.join("node-2"));
        // as the kernel shows what was written
        std::fs::write(own.join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        let again = groups.clone().ready();
        assert_eq!(again, Ok(groups.clone()), "it is divided already");
        // one that somebody is still in is taken, and what was ended in it before is nobody's any more
        let taken = groups.make("node-1", mib(32)).unwrap();
        assert_eq!(read("node-1/memory.max"), (32 << 20).to_string());
        assert_eq!(taken.ended_by_limit(), Some(0));
        std::fs::write(own.join("node-1/memory.events"), "max 3\noom_kill 3\n").unwrap();
        assert_eq!((taken.ended_by_limit(), group.ended_by_limit()), (Some(1), Some(3)));
    }
}
