//! The clock of the processor time that a process used.

use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use crate::root::Root;

/// Processor time of all threads of a process since it was begun, nanoseconds, threads that ended
/// included; `None` when there is no such process, or `root` is not the running kernel's.
///
/// Exact whenever a thread has left its processor; of a thread that is running now up to its last
/// clock tick. Interrupts that were served while it ran are in it, where the kernel does not tell
/// them apart, and so is what a hypervisor took meanwhile, where it does not tell that.
///
/// # Source
/// `clock_getcpuclockid(3)`; `thread_group_cputime()` in Linux's `kernel/sched/cputime.c`.
pub(super) fn cpu_clock_ns(root: &Root, pid: u32) -> Option<u64> {
    if !root.is_this_machine() {
        return None;
    }
    // the process 0 would be ourselves
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let time = clock_getcpuclockid(Pid::from_raw(pid)).ok()?.now().ok()?;
    let seconds = u64::try_from(time.tv_sec()).ok()?;
    Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_socket::clock;

    #[test]
    fn our_own_clock_is_read_in_the_same_way_as_that_of_others() {
        let root = Root::of_this_machine();
        let before = clock::process_cpu_ns();
        let read = cpu_clock_ns(&root, std::process::id()).unwrap();
        assert!((before..=clock::process_cpu_ns()).contains(&read));
        assert_eq!(cpu_clock_ns(&root, 0), None, "no process has this number");
        assert_eq!(cpu_clock_ns(&Root::below(std::path::Path::new("/tmp")), 1), None);
    }
}
