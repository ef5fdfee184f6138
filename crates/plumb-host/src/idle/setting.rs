//! What this machine is set to do when a processor has no work.

use plumb_checkup::IdleSetting;
use plumb_procfs::{Root, names_in};

use crate::HostFacts;

/// What words of the kernel's command line begin with that are about ticks and idling.
const BOOT_WORDS: [&str; 10] = [
    "nohz",
    "highres",
    "idle=",
    "cpuidle",
    "haltpoll",
    "intel_idle",
    "processor.max_cstate",
    "skew_tick",
    "no_timer_check",
    "tsc",
];

pub(super) fn read(root: &Root) -> IdleSetting {
    let line = |name: &str| root.sys_line(&format!("devices/system/cpu/cpuidle/{name}"));
    let boot = std::fs::read_to_string(root.proc("cmdline")).ok();
    IdleSetting {
        driver: line("current_driver"),
        governor: line("current_governor").or_else(|| line("current_governor_ro")),
        states: states(root),
        boot: boot.map(|line| about_idling(&line)),
        hypervisor: HostFacts::read(root).hypervisor,
    }
}

fn about_idling(line: &str) -> Vec<String> {
    let about = |word: &&str| BOOT_WORDS.iter().any(|begins| word.starts_with(begins));
    line.split_whitespace().filter(about).map(str::to_owned).collect()
}

fn states(root: &Root) -> Vec<String> {
    const STATES: &str = "devices/system/cpu/cpu0/cpuidle";
    let number = |name: &str| name.strip_prefix("state").and_then(|it| it.parse::<u32>().ok());
    let mut numbers: Vec<u32> =
        names_in(&root.sys(STATES)).iter().filter_map(|name| number(name)).collect();
    numbers.sort_unstable();
    let name = |number: u32| root.sys_line(&format!("{STATES}/state{number}/name"));
    numbers.into_iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn driver_governor_states_and_boot_words_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "proc/cmdline",
            "quiet nohz=off panic=1 haltpoll.guest_halt_poll_ns=0 root=/dev/vda\n",
        );
        write("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n");
        write("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu\n");
        write("sys/devices/system/cpu/cpu0/cpuidle/state10/name", "C10\n");
        write("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C1E\n");
        let found = read(&Root::below(folder.path()));
        assert_eq!(found.driver.as_deref(), Some("intel_idle"));
        assert_eq!(found.governor.as_deref(), Some("menu"));
        assert_eq!(found.states, ["C1E", "C10"]);
        let words = ["nohz=off", "haltpoll.guest_halt_poll_ns=0"];
        assert_eq!(found.boot.as_deref(), Some(&words.map(str::to_owned)[..]));
        let nothing = read(&Root::below(&folder.path().join("elsewhere")));
        assert_eq!((nothing.driver, nothing.boot), (None, None));
    }
}
