//! What control groups leave to the processes of a measurement, and how often they held them back.

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, CpuQuota, CpuThrottled};
use plumb_procfs::Root;
use plumb_procfs::process::{Quota, Throttling, quota_of};

/// The counters of the control groups around some processes, read until the recorded part of a load begins.
#[derive(Clone, Debug)]
pub struct QuotaWatch {
    root: Root,
    pids: Vec<u32>,
    /// With when they were read, nanoseconds on the monotonic clock.
    readings: Vec<(u64, Throttling)>,
    is_recorded: bool,
}

impl QuotaWatch {
    /// Reads the counters around `pids` for the first time.
    #[must_use]
    pub fn begin(root: &Root, pids: Vec<u32>) -> Self {
        let mut watch = Self { root: root.clone(), pids, readings: Vec::new(), is_recorded: false };
        watch.read();
        // where no group has a quota there is nothing to wait for
        watch.is_recorded = watch.readings.iter().all(|(_, counters)| counters.is_empty());
        watch
    }

    /// Reads them again, as long as the recorded part may not have begun.
    pub fn look(&mut self) {
        if !self.is_recorded {
            self.read();
        }
    }

    /// The recorded part has begun.
    pub fn recorded(&mut self) {
        self.is_recorded = true;
    }

    /// What is left to `pids`, of those that are watched, where that is less than `all` processors, and how
    /// often any of `ran` was held back from the last reading before `began_ns` on. `None`, whoever was held
    /// back, where one of `pids` has no quota.
    #[must_use]
    pub fn of(&self, pids: &[u32], ran: &[u32], began_ns: u64, all: u32) -> Option<CpuQuota> {
        let Quota { processors, holds_us } = quota_of(&self.root, pids)?;
        let before = self.readings.iter().rfind(|(at_ns, _)| *at_ns <= began_ns);
        let (_, before) = before.or(self.readings.first())?;
        let held = Throttling::of(&self.root, ran).since(before);
        let throttled = held.map(|it| CpuThrottled {
            periods: it.throttled.periods,
            held_back: it.throttled.held_back,
            held_back_ns: it.throttled.ns,
            processors: Some(it.quota.processors),
            with_client: Some(it.quota.holds_us),
        });
        let quota = CpuQuota { processors, with_client: holds_us, throttled };
        (processors < f64::from(all)).then_some(quota)
    }

    fn read(&mut self) {
        let counters = Throttling::of(&self.root, &self.pids);
        self.readings.push((MonotonicClock.now_ns(), counters));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_the_warm_up_was_held_back_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let stat = |held_back: u64| {
            let text = format!("nr_periods 100\nnr_throttled {held_back}\nthrottled_usec 5\n");
            write("sys/fs/cgroup/app/cpu.stat", &text);
        };
        write("proc/self/cgroup", "0::/user\n");
        write("proc/7/cgroup", "0::/app\n");
        write("sys/fs/cgroup/app/cpu.max", "50000 100000\n");
        stat(3);
        let root = Root::below(folder.path());
        let mut watch = QuotaWatch::begin(&root, vec![7]);
        stat(40);
        watch.look();
        let began_ns = MonotonicClock.now_ns();
        watch.recorded();
        stat(44);
        watch.look(); // it is over by now, and nobody asks for what is in between
        stat(50);
        let held =
            |began_ns| watch.of(&[7], &[7], began_ns, 4).unwrap().throttled.unwrap().held_back;
        assert_eq!((held(began_ns), held(0)), (10, 47));
        assert_eq!(watch.of(&[7], &[7], began_ns, 0), None, "no less than all");
    }

    #[test]
    fn who_is_held_back_need_not_do_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let stat = |group: &str, held_back: u64| {
            let text =
                format!("nr_periods 100\nnr_throttled {held_back}\nthrottled_usec {held_back}\n");
            write(&format!("sys/fs/cgroup/{group}/cpu.stat"), &text);
        };
        write("proc/self/cgroup", "0::/user\n");
        for (pid, group, max) in [(2, "listener", 5_000), (3, "work", 200_000)] {
            write(&format!("proc/{pid}/cgroup"), &format!("0::/{group}\n"));
            write(&format!("sys/fs/cgroup/{group}/cpu.max"), &format!("{max} 100000\n"));
            stat(group, 0);
        }
        let watch = QuotaWatch::begin(&Root::below(folder.path()), vec![2, 3]);
        stat("listener", 82);
        let quota = watch.of(&[3], &[2, 3], MonotonicClock.now_ns(), 4).unwrap();
        let held = quota.throttled.unwrap();
        assert_eq!((quota.processors, held.processors, held.held_back), (2.0, Some(0.05), 82));
    }
}
