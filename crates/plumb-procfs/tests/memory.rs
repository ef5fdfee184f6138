//! Memory that processes hold, how much they may, and on how many processors they run.

use std::fs;

use plumb_procfs::Root;
use plumb_procfs::process::{
    HeldBack, Quota, Throttled, Throttling, memory_limit_of, memory_of, processors_of, quota_of,
    that_ran, workers,
};
use tempfile::TempDir;

/// A machine that has these files.
fn machine(files: &[(&str, &str)]) -> (TempDir, Root) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is below a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let root = Root::below(folder.path());
    (folder, root)
}

#[test]
fn what_processes_hold_is_added_up_and_what_they_share_counts_once() {
    let status = |own: u32, shared: u32| {
        format!("VmRSS:\t  999 kB\nRssAnon:\t{own} kB\nRssFile:\t 50 kB\nRssShmem:\t{shared} kB\n")
    };
    let (_folder, root) =
        machine(&[("proc/7/status", &status(100, 8000)), ("proc/8/status", &status(30, 6000))]);
    assert_eq!(memory_of(&root, &[7, 8, 9]), Some(8130 * 1024));
    assert_eq!(memory_of(&root, &[9]), None);
}

#[test]
fn processors_are_counted_from_their_list() {
    let of = |list: &str| {
        let status = format!("Name:\tx\nCpus_allowed_list:\t{list}\n");
        let (_folder, root) = machine(&[("proc/7/status", &status)]);
        processors_of(&root, &[7])
    };
    assert_eq!(of("0-1"), Some(2));
    assert_eq!(of("0,2,4-7"), Some(6));
    assert_eq!((of("1"), of("7-4"), of("all")), (Some(1), None, None));
    assert_eq!(of("0-4294967295"), None);
}

#[test]
fn processors_of_several_processes_are_those_of_all_of_them() {
    let status = |list: &str| format!("Name:\tx\nCpus_allowed_list:\t{list}\n");
    let (_folder, root) = machine(&[
        ("proc/7/status", &status("0")),
        ("proc/8/status", &status("1")),
        ("proc/9/status", &status("0-2,6")),
    ]);
    assert_eq!(processors_of(&root, &[7, 8]), Some(2), "each is pinned");
    assert_eq!(processors_of(&root, &[9, 8, 7, 10]), Some(4), "none counts twice, one is gone");
    assert_eq!((processors_of(&root, &[10]), processors_of(&root, &[])), (None, None));
}

#[test]
fn the_least_limit_above_a_process_counts_in_both_versions() {
    let (_folder, root) = machine(&[
        ("proc/7/cgroup", "5:memory:/app/one\n3:cpu,cpuacct:/app\n"),
        ("proc/8/cgroup", "0::/app/two\n"),
        ("proc/9/cgroup", "0::/\n"),
        ("sys/fs/cgroup/memory/app/one/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/app/memory.limit_in_bytes", "1000\n"),
        ("sys/fs/cgroup/app/two/memory.max", "3000\n"),
        ("sys/fs/cgroup/app/memory.max", "max\n"),
    ]);
    assert_eq!(memory_limit_of(&root, 7), Some(1000));
    assert_eq!(memory_limit_of(&root, 8), Some(3000));
    assert_eq!(memory_limit_of(&root, 9), None);
    assert_eq!(memory_limit_of(&root, 10), None);
}

#[test]
fn the_least_quota_above_a_process_counts_in_both_versions() {
    let (_folder, root) = machine(&[
        ("proc/self/cgroup", "0::/app/load\n"),
        ("proc/7/cgroup", "3:cpu,cpuacct:/app/one\n5:memory:/other\n"),
        ("proc/8/cgroup", "0::/app/two\n"),
        ("proc/9/cgroup", "0::/app/three\n"),
        ("proc/10/cgroup", "0::/\n"),
        ("sys/fs/cgroup/cpu/app/one/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu/app/one/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/app/two/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/app/three/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/app/cpu.max", "400000 100000\n"),
    ]);
    let quota = |processors, holds_us| Some(Quota { processors, holds_us });
    assert_eq!(quota_of(&root, &[7]), quota(0.5, false));
    assert_eq!(quota_of(&root, &[8]), quota(1.5, false));
    assert_eq!(quota_of(&root, &[9]), quota(4.0, true), "the load generator is in it, too");
    assert_eq!((quota_of(&root, &[10]), quota_of(&root, &[11])), (None, None));
}

#[test]
fn processes_in_several_groups_have_what_all_of_these_leave() {
    let (_folder, root) = machine(&[
        ("proc/self/cgroup", "0::/user/load\n"),
        ("proc/1/cgroup", "0::/system/app-1\n"),
        ("proc/2/cgroup", "0::/system/app-2/worker\n"),
        ("proc/3/cgroup", "0::/system/app-2\n"),
        ("proc/4/cgroup", "0::/system/app-3\n"),
        ("proc/5/cgroup", "0::/free\n"),
        ("proc/6/cgroup", "0::/user/one\n"),
        ("proc/7/cgroup", "0::/../elsewhere\n"),
        ("sys/fs/cgroup/system/app-1/cpu.max", "100000 100000\n"),
        ("sys/fs/cgroup/system/app-2/cpu.max", "100000 100000\n"),
        ("sys/fs/cgroup/system/app-3/cpu.max", "900000 100000\n"),
        ("sys/fs/cgroup/system/cpu.max", "250000 100000\n"),
        ("sys/fs/cgroup/user/cpu.max", "50000 100000\n"),
    ]);
    let quota = |processors, holds_us| Some(Quota { processors, holds_us });
    assert_eq!(quota_of(&root, &[1, 2]), quota(2.0, false));
    assert_eq!(quota_of(&root, &[1, 2, 3, 99]), quota(2.0, false), "one group twice, one is gone");
    assert_eq!(quota_of(&root, &[1, 4]), quota(2.5, false), "the group around both leaves no more");
    assert_eq!(quota_of(&root, &[1, 5]), None, "one of them may use all");
    assert_eq!(quota_of(&root, &[6]), quota(0.5, true));
    assert_eq!(quota_of(&root, &[1, 6]), None, "the load generator is beside one of them");
    assert_eq!(quota_of(&root, &[1, 7]), None, "what is around one of them is not known");
    assert_eq!(quota_of(&root, &[]), None);
}

#[test]
fn what_a_quota_held_back_is_counted_in_both_versions() {
    let before = [
        ("proc/7/cgroup", "3:cpu,cpuacct:/app\n"),
        ("proc/8/cgroup", "0::/app/two\n"),
        ("sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "4000\n"),
        ("sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/app/cpu.stat", "nr_periods 10\nnr_throttled 1\nthrottled_time 50\n"),
        ("sys/fs/cgroup/app/two/cpu.max", "150000 100000\n"),
        (
            "sys/fs/cgroup/app/two/cpu.stat",
            "usage_usec 9\nnr_periods 5\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\n",
        ),
        ("sys/fs/cgroup/app/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/app/cpu.stat", "nr_periods 9\nnr_throttled 9\nthrottled_usec 9000\n"),
    ];
    let (folder, root) = machine(&before);
    let [of_7, of_8, of_9] = [7, 8, 9].map(|pid| Throttling::of(&root, &[pid]));
    let of_both = Throttling::of(&root, &[7, 8]);
    let now = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    now(
        "sys/fs/cgroup/cpu/app/cpu.stat",
        "nr_periods 213\nnr_throttled 83\nthrottled_time 4660000050\n",
    );
    now("sys/fs/cgroup/app/two/cpu.stat", "nr_periods 25\nnr_throttled 2\nthrottled_usec 30\n");
    let since = |pid, before| Throttling::of(&root, &[pid]).since(before);
    let held = |periods, held_back, ns| Some(Throttled { periods, held_back, ns });
    let counters = |held: Option<HeldBack>| held.map(|it| it.throttled);
    assert_eq!(counters(since(7, &of_7)), held(203, 82, 4_660_000_000));
    assert_eq!(counters(since(8, &of_8)), held(20, 2, 30_000), "the group above has no quota");
    assert_eq!(since(9, &of_9), None);
    let longest = Throttling::of(&root, &[7, 8]).since(&of_both).unwrap();
    assert_eq!(
        longest.quota,
        Quota { processors: 0.04, holds_us: false },
        "its own, not their sum"
    );
    let all = Throttling::of(&root, &[7, 8]);
    assert_eq!(counters(all.since(&Throttling::of(&root, &[7, 8]))), held(0, 0, 0));
}

#[test]
fn the_groups_that_count_are_those_in_which_the_work_was_done() {
    let (_folder, root) = machine(&[
        ("proc/self/cgroup", "0::/user\n"),
        ("proc/1/cgroup", "0::/init.scope\n"),
        ("proc/2/cgroup", "0::/app/master\n"),
        ("proc/3/cgroup", "0::/app/worker\n"),
        ("proc/4/cgroup", "0::/app/worker\n"),
        ("sys/fs/cgroup/app/master/cpu.max", "250000 100000\n"),
        ("sys/fs/cgroup/app/worker/cpu.max", "50000 100000\n"),
    ]);
    let worked = |used: &[(u32, u64)]| workers(&root, used);
    // a socket that the first process listens on for a service, and a master with its workers
    assert_eq!(worked(&[(1, 2), (2, 9), (3, 500), (4, 0)]), Some(vec![3, 4]));
    let quota = quota_of(&root, &worked(&[(1, 2), (2, 9), (3, 500)]).unwrap());
    assert_eq!(quota, Some(Quota { processors: 0.5, holds_us: false }));
    // many who share the work do it together
    assert_eq!(worked(&[(2, 100), (3, 8), (4, 8)]), Some(vec![2, 3, 4]));
    assert_eq!(worked(&[(3, 0), (4, 0)]), Some(vec![3, 4]), "one group, whoever worked");
    assert_eq!(worked(&[(2, 0), (3, 0)]), None);
}

#[test]
fn who_used_no_time_did_not_run_unless_nobody_did() {
    assert_eq!(that_ran(&[(2, 0), (3, 1), (4, 9)]), [3, 4]);
    assert_eq!(that_ran(&[(2, 0), (3, 0)]), [2, 3], "one that is held back all the time");
}

#[test]
fn groups_outside_our_namespace_are_not_taken_for_ours() {
    let (_folder, root) = machine(&[
        ("proc/self/cgroup", "0::/\n"),
        ("proc/7/cgroup", "0::/../cri-containerd-1.scope\n"),
        ("proc/8/cgroup", "4:memory:/../../system.slice/srv\n3:cpu,cpuacct:/..\n"),
        ("proc/9/cgroup", "0::/..data\n"),
        ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/memory.max", "1000\n"),
        ("sys/fs/cgroup/cpu/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n"),
    ]);
    for outside in [7, 8] {
        assert_eq!((quota_of(&root, &[outside]), memory_limit_of(&root, outside)), (None, None));
    }
    assert_eq!(quota_of(&root, &[9]), Some(Quota { processors: 0.5, holds_us: true }));
    assert_eq!(memory_limit_of(&root, 9), Some(1000), "dots in a name are no way up");
}
