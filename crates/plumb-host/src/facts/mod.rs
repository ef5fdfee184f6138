//! What a machine is, read once a run.

mod ethtool;
mod interface;
mod ipsec;

use plumb_procfs::fields::{Words, lines};
use plumb_procfs::kernel::{Counters as _, Meminfo, Stat};
use plumb_procfs::{Root, first_line, names_in};
use serde::{Deserialize, Serialize};

use ethtool::AllSettings;
pub use ethtool::{Channels, Coalescing, Rings, Settings};
pub use interface::InterfaceFacts;
pub use ipsec::Ipsec;

use crate::smc::SmcFacts;

/// What a machine is. What it does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// `Linux`, release, version, architecture.
    pub system: Vec<String>,
    /// Model of its processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Processors that are switched on.
    pub cpus_online: u32,
    /// Hypervisor it runs under; absent on bare metal, and where nothing tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// How the clock speed is chosen, each way once; empty where the machine leaves it to others.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub governors: Vec<String>,
    /// Where the kernel takes time from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// How TCP finds out how fast it may send, of connections that choose nothing else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_control: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Swap space, bytes.
    pub swap_bytes: u64,
    /// Huge pages reserved, bytes.
    pub huge_bytes: u64,
    /// Whether the kernel uses huge pages by itself: `always`, `madvise` or `never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transparent_huge_pages: Option<String>,
    /// Clock ticks a second in which the kernel counts processor time.
    pub ticks_per_s: u64,
    /// Network interfaces.
    pub interfaces: Vec<InterfaceFacts>,
    /// IPsec; absent when it cannot be told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ipsec: Option<Ipsec>,
    /// Shared memory communications; absent where the kernel has none loaded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub smc: Option<SmcFacts>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_read: Vec<String>,
}

impl HostFacts {
    /// Asks the machine.
    #[must_use]
    pub fn read(root: &Root) -> Self {
        let system = rustix::system::uname();
        let words = [system.sysname(), system.release(), system.version(), system.machine()];
        let mut meminfo = Meminfo::default();
        let text = std::fs::read(root.proc("meminfo")).unwrap_or_default();
        if meminfo.parse(&text).is_err() {
            meminfo = Meminfo::default();
        }
        let mut stat = Stat::default();
        let text = std::fs::read(root.proc("stat")).unwrap_or_default();
        let cpus = stat.parse(&text).map_or(0, |()| stat.cpus.len());
        let (mut settings, no_settings) = settings(root);
        let (ipsec, no_ipsec) = ipsec(root);
        Self {
            name: system.nodename().to_string_lossy().into_owned(),
            system: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            cpu_model: cpu_model(root),
            cpus_online: u32::try_from(cpus).unwrap_or(u32::MAX),
            hypervisor: hypervisor(root),
            governors: governors(root),
            clock_source: root
                .sys_line("devices/system/clocksource/clocksource0/current_clocksource"),
            congestion_control: first_line(&root.proc("sys/net/ipv4/tcp_congestion_control")),
            memory_bytes: meminfo.total.saturating_mul(1024),
            swap_bytes: meminfo.swap_total.saturating_mul(1024),
            huge_bytes: meminfo.huge_pages.saturating_mul(meminfo.huge_page.saturating_mul(1024)),
            transparent_huge_pages: root
                .sys_line("kernel/mm/transparent_hugepage/enabled")
                .and_then(|line| chosen(&line)),
            ticks_per_s: rustix::param::clock_ticks_per_second(),
            interfaces: names_in(&root.sys("class/net"))
                .iter()
                .filter_map(|name| InterfaceFacts::read(root, name, settings.remove(name)))
                .collect(),
            ipsec,
            smc: (*root == Root::of_this_machine()).then(|| SmcFacts::read(root)).flatten(),
            not_read: no_settings.into_iter().chain(no_ipsec).collect(),
        }
    }

    /// The facts as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let mut lines = vec![
            format!("host {}", self.name),
            format!("kernel {}", self.system.join(" ")),
            format!("processors {}", self.cpus_online),
            format!("memory {}, swap {}", mib(self.memory_bytes), mib(self.swap_bytes)),
        ];
        let mut add = |name: &str, value: Option<&str>| {
            lines.extend(value.map(|value| format!("{name} {value}")));
        };
        add("processor model", self.cpu_model.as_deref());
        add("hypervisor", self.hypervisor.as_deref());
        add("governor", (!self.governors.is_empty()).then(|| self.governors.join(" ")).as_deref());
        add("clock source", self.clock_source.as_deref());
        add("TCP congestion control", self.congestion_control.as_deref());
        add("transparent huge pages", self.transparent_huge_pages.as_deref());
        add("huge pages", (self.huge_bytes > 0).then(|| mib(self.huge_bytes)).as_deref());
        lines.extend(self.ipsec.map(|ipsec| format!("IPsec {ipsec}")));
        lines.extend(self.interfaces.iter().map(ToString::to_string));
        lines.extend(self.smc.iter().flat_map(SmcFacts::lines));
        lines.extend(self.not_read.iter().map(|what| format!("not read: {what}")));
        lines
    }

    /// Receive queues of the interface `name`.
    #[must_use]
    pub fn receive_queues(&self, name: &str) -> Option<u64> {
        self.interfaces.iter().find(|each| each.name == name).map(|each| each.receive_queues)
    }
}

/// How the interfaces are set, or why that is not known. Only this machine can be asked.
fn settings(root: &Root) -> (AllSettings, Option<String>) {
    let none = |why: String| {
        let what = "offloads, rings, channels and coalescing of the interfaces";
        (AllSettings::default(), Some(format!("{what}: unsupported: {why}")))
    };
    if *root != Root::of_this_machine() {
        return none("this is not the machine they belong to".into());
    }
    match AllSettings::ask() {
        Ok(Some(all)) => (all, None),
        Ok(None) => none("this kernel has no ethtool over netlink".into()),
        Err(error) => none(format!("the kernel answers {error}")),
    }
}

/// IPsec, or why it is not known.
fn ipsec(root: &Root) -> (Option<Ipsec>, Option<String>) {
    if *root != Root::of_this_machine() {
        let why = "this is not the machine it belongs to";
        return (None, Some(format!("IPsec: unsupported: {why}")));
    }
    match Ipsec::ask(root) {
        Ok(ipsec) => (Some(ipsec), None),
        Err(why) => (None, Some(format!("IPsec: {why}"))),
    }
}

/// `madvise` of `always [madvise] never`.
fn chosen(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
}

fn cpu_model(root: &Root) -> Option<String> {
    let text = std::fs::read(root.proc("cpuinfo")).ok()?;
    // x86 and s390 say "model name", POWER says "cpu", ARM says nothing of the kind
    let value = |name: &[u8]| {
        lines(&text).find_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            (line[..colon].trim_ascii() == name).then(|| line[colon + 1..].trim_ascii())
        })
    };
    let model = value(b"model name").or_else(|| value(b"cpu"))?;
    let words: Vec<_> = Words::of(model).map(String::from_utf8_lossy).collect();
    Some(words.join(" "))
}

fn hypervisor(root: &Root) -> Option<String> {
    if let Some(kind) = root.sys_line("hypervisor/type") {
        return Some(kind);
    }
    let text = std::fs::read(root.proc("cpuinfo")).ok()?;
    let flags = lines(&text).find(|line| line.starts_with(b"flags"))?;
    let is_guest = Words::of(flags).any(|flag| flag == b"hypervisor");
    let vendor = root.sys_line("class/dmi/id/sys_vendor").filter(|vendor| !vendor.is_empty());
    is_guest.then(|| vendor.unwrap_or_else(|| "one that does not give its name".into()))
}

fn governors(root: &Root) -> Vec<String> {
    let policies = "devices/system/cpu/cpufreq";
    let mut governors: Vec<String> = names_in(&root.sys(policies))
        .iter()
        .filter_map(|policy| root.sys_line(&format!("{policies}/{policy}/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    governors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none"), None);
    }

    #[test]
    fn this_machine_tells_what_it_is() {
        let facts = HostFacts::read(&Root::default());
        assert!(facts.cpus_online > 0 && facts.memory_bytes > 0);
        assert!(facts.interfaces.iter().any(|each| each.name == "lo"), "{facts:?}");
        assert!(facts.lines().iter().any(|line| line.starts_with("kernel Linux ")));
    }
}
