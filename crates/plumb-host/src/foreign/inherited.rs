//! Whose children those became that ended: the kernel adds the whole life of a process that ended to
//! the children of whoever waits for it, also what it ran long before anybody looked.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use plumb_procfs::Root;
use plumb_procfs::counter::rise;
use plumb_procfs::process::{ProcessStat, Processes};

/// The first process, which takes over whoever has lost its parent.
const FIRST: u32 = 1;
/// Children's time is told in whole clock ticks, of user and system code each.
const TICKS_BLUR: u64 = 2;

/// What the children that ended of each process ran between two looks, nanoseconds, without what they had
/// run before the first one.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// Of the processes that were there at the first look.
    run_ns: BTreeMap<u32, u64>,
    /// How much of it may have been run before: somebody else had room for it as well.
    doubtful_ns: BTreeMap<u32, u64>,
    /// First processes of pid namespaces, and when each was begun, to whom somebody may have come who
    /// does not descend from them.
    strangers: Vec<(u32, u64)>,
}

/// A process that ended together with its parent.
#[derive(Debug)]
struct Orphan {
    pid: u32,
    begun: u64,
    /// What it had run at the first look, its own children included.
    past_ns: u64,
    /// Who may have waited for it, the most likely one first.
    heirs: Vec<u32>,
}

impl Inherited {
    /// Takes what the processes that ended had run at `before` off whoever can have waited for them.
    ///
    /// # Source
    /// `wait_task_zombie()` in Linux's `kernel/exit.c`, which adds up what children ran, and
    /// `find_new_reaper()` there: a child whose parent ended first is waited for by the nearest ancestor
    /// that asked for that (`PR_SET_CHILD_SUBREAPER`), or by the first process of the parent's pid
    /// namespace, which need not be an ancestor. Of who ended nothing in /proc says which one that
    /// was. Nobody waits for what a namespace holds when its first process ends
    /// (`zap_pid_ns_processes()` in `kernel/pid_namespace.c`). `is_stranger` says who may be such a
    /// first process, [`is_first`].
    pub(super) fn between(
        before: &Processes,
        now: &Processes,
        is_stranger: impl Fn(u32) -> bool,
    ) -> Self {
        let rises = now.all().filter_map(|process| {
            let earlier = before.ended_children_ns(before.same(process)?);
            Some((process.pid, rise(now.ended_children_ns(process), earlier)))
        });
        let mut all = Self { run_ns: rises.collect(), ..Self::default() };
        let mut orphans = Vec::new();
        for ended in before.all().filter(|it| now.same(it).is_none()) {
            let past_ns = before.own_ns(ended).saturating_add(before.ended_children_ns(ended));
            match living_parent(ended, before, now) {
                Some(parent) => all.take(parent, past_ns),
                None => orphans.push(Orphan {
                    pid: ended.pid,
                    begun: ended.begun,
                    past_ns,
                    heirs: heirs(ended, before, now),
                }),
            }
        }
        // the largest first: there are the fewest who have room for it
        orphans.sort_by_key(|orphan| (Reverse(orphan.past_ns), orphan.pid));
        let blur_ns = TICKS_BLUR * now.tick_ns();
        if !orphans.is_empty() {
            let given = before.all().filter(|it| all.run_ns(it) > 0 && is_stranger(it.pid));
            all.strangers = given.map(|it| (it.pid, it.begun)).collect();
        }
        orphans.iter().for_each(|orphan| all.settle(orphan, blur_ns));
        all
    }

    /// What the children of `process` that ended ran, where it was there at the first look.
    pub(super) fn run_ns(&self, process: &ProcessStat) -> u64 {
        self.run_ns.get(&process.pid).copied().unwrap_or(0)
    }

    /// That part of it that was run between the two looks for sure.
    pub(super) fn surely_run_ns(&self, process: &ProcessStat) -> u64 {
        let doubtful_ns = self.doubtful_ns.get(&process.pid).copied().unwrap_or(0);
        self.run_ns(process).saturating_sub(doubtful_ns)
    }

    fn take(&mut self, heir: u32, past_ns: u64) {
        if let Some(run_ns) = self.run_ns.get_mut(&heir) {
            *run_ns = run_ns.saturating_sub(past_ns);
        }
    }

    /// Takes what `orphan` had run off one who has room for it: a life is added whole.
    fn settle(&mut self, orphan: &Orphan, blur_ns: u64) {
        let least_ns = orphan.past_ns.saturating_sub(blur_ns).max(1);
        let run_ns = |pid: &u32| self.run_ns.get(pid).copied().unwrap_or(0);
        let mut roomy: Vec<u32> =
            orphan.heirs.iter().copied().filter(|it| run_ns(it) >= least_ns).collect();
        if roomy.is_empty() {
            // the first process of a pid namespace is older than whoever came to it
            let older = self.strangers.iter().filter(|(_, begun)| *begun <= orphan.begun);
            let strangers = older.map(|(pid, _)| *pid).filter(|pid| run_ns(pid) >= least_ns);
            roomy.extend(strangers.min_by_key(run_ns));
        }
        match roomy[..] {
            // nobody waited for it, or the room was taken for another one that went elsewhere: nobody is
            // charged with more than is certain
            [] => self.take_piecewise(orphan),
            [heir, ref others @ ..] => {
                self.take(heir, orphan.past_ns);
                for other in others {
                    *self.doubtful_ns.entry(*other).or_default() += orphan.past_ns;
                }
            }
        }
    }

    fn take_piecewise(&mut self, orphan: &Orphan) {
        let mut left_ns = orphan.past_ns;
        for heir in &orphan.heirs {
            let run_ns = self.run_ns.get(heir).copied().unwrap_or(0);
            self.take(*heir, left_ns);
            left_ns = left_ns.saturating_sub(run_ns);
        }
    }
}

/// True of the first process of a pid namespace; false where the kernel does not tell.
///
/// # Source
/// proc(5): `NSpid` of `/proc/PID/status`, the numbers of a process in its namespaces, the innermost last.
pub(super) fn is_first(root: &Root, pid: u32) -> bool {
    let status = std::fs::read_to_string(root.proc(&format!("{pid}/status"))).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.and_then(|numbers| numbers.split_whitespace().last()) == Some("1")
}

/// The parent of `ended`, if that is there still to wait for it.
fn living_parent(ended: &ProcessStat, before: &Processes, now: &Processes) -> Option<u32> {
    let parent = now.same(before.get(ended.parent)?)?;
    (!parent.is_zombie).then_some(parent.pid)
}

/// Who may have waited for `ended`: its ancestors that are there, the nearest first, also those that
/// ended and are waited for themselves, and the first process.
fn heirs(ended: &ProcessStat, before: &Processes, now: &Processes) -> Vec<u32> {
    let is_there = |pid: &u32| before.get(*pid).is_some_and(|it| now.same(it).is_some());
    let mut heirs: Vec<u32> = before.ancestors(ended.pid).filter(is_there).collect();
    if !heirs.contains(&FIRST) && is_there(&FIRST) {
        heirs.push(FIRST);
    }
    heirs
}
