//! What a record keeps of a machine: its facts, and what was seen of it during a load.

use std::collections::BTreeMap;

use plumb_host::{HostFacts, Usage};
use plumb_measure::{HostUse, ReceiveUse};
use plumb_procfs::Root;

/// A window of samples of the machine of these `facts`, as the record has it.
pub(crate) fn of_usage(usage: &Usage, facts: &HostFacts) -> HostUse {
    // as many processors can be interrupted as the interface under the load has queues
    let queues = usage.busiest_interface().and_then(|name| facts.receive_queues(name));
    let swapped = [usage.swapped_in, usage.swapped_out].into_iter().flatten();
    HostUse {
        samples: usage.samples,
        covered_ns: usage.covered_ns,
        busy_pct: usage.cpu_busy_pct.map(|it| it.mean),
        busy_max_pct: usage.cpu_busy_pct.map(|it| it.max),
        interrupt_pct: usage.cpu_interrupt_pct.map(|it| it.mean),
        iowait_pct: usage.cpu_iowait_pct.map(|it| it.mean),
        steal_pct: usage.steal_pct.map(|it| it.mean),
        foreign_pct: None,
        foreign_source: None,
        foreign: Vec::new(),
        tested: Vec::new(),
        tested_memory_bytes: None,
        tested_memory_limit_bytes: None,
        tested_cpus: None,
        tested_quota: None,
        client_quota: None,
        placement: None,
        memory_used_bytes: usage.available_bytes.and_then(|it| used(facts.memory_bytes, it.mean)),
        swapped_pages: swapped.reduce(u64::saturating_add),
        major_faults: usage.major_faults,
        retransmitted: usage.retransmitted,
        retransmitted_connects: usage.retransmitted_connects,
        link: usage.busiest_link(),
        receive: usage.receive().map(|it| ReceiveUse {
            effective_cpus: it.effective_cpus,
            cpus: it.cpus,
            hottest_cpu: it.hottest_cpu,
            findings: it.findings(queues).iter().map(ToString::to_string).collect(),
        }),
        watching_pct: usage.own_cost_pct,
    }
}

/// What of `all` bytes was not `available`.
#[expect(clippy::cast_possible_truncation, reason = "bytes of memory, whole")]
#[expect(clippy::cast_sign_loss, reason = "bytes of memory")]
fn used(all: u64, available: f64) -> Option<u64> {
    all.checked_sub(available as u64).filter(|_| available >= 0.0)
}

/// What else is known of this machine, for the record.
pub(crate) fn facts() -> BTreeMap<String, String> {
    known(HostFacts::read(&Root::of_this_machine()))
}

/// The facts of a machine that a record keeps by name.
pub(crate) fn known(facts: HostFacts) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            known.insert(name.to_owned(), value);
        }
    };
    put("cpu model", facts.cpu_model);
    put("hypervisor", facts.hypervisor);
    put("governor", (!facts.governors.is_empty()).then(|| facts.governors.join(", ")));
    put("clock source", facts.clock_source);
    put("TCP congestion control", facts.congestion_control);
    put("memory", Some(format!("{} MiB", facts.memory_bytes >> 20)));
    put("huge pages", (facts.huge_bytes > 0).then(|| format!("{} MiB", facts.huge_bytes >> 20)));
    put("transparent huge pages", facts.transparent_huge_pages);
    put("IPsec", facts.ipsec.map(|ipsec| ipsec.to_string()));
    put("SMC", facts.smc.map(|smc| smc.lines().join("; ")));
    put("not read", (!facts.not_read.is_empty()).then(|| facts.not_read.join("; ")));
    for interface in facts.interfaces {
        let name = format!("interface {}", interface.name);
        put(&name, Some(interface.to_string()));
    }
    known
}
