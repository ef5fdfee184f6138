//! What the machine that drove a load did meanwhile, and a far one that was recorded with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{counted, grouped, show_above, show_ns, show_plain};
use crate::{Finding, FindingKind, ForeignLimit, LinkUse, Placement, Scope};

/// What a machine did while a result was recorded: the one that drove the load, or a far one, of
/// whose processes (`foreign_pct`, `tested`) nothing is known. Percentages of processor
/// time are of all processors together, averaged over the result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// Samples behind the figures.
    pub samples: u64,
    /// Time that they cover, nanoseconds.
    pub covered_ns: u64,
    /// Processors that were not idle and did not wait for disks, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_pct: Option<f64>,
    /// The busiest sample, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_max_pct: Option<f64>,
    /// Interrupts, hard and soft, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interrupt_pct: Option<f64>,
    /// Waiting for disks, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iowait_pct: Option<f64>,
    /// Taken by the hypervisor, percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steal_pct: Option<f64>,
    /// Taken by processes that are neither ours nor under test, percent; absent where nothing
    /// tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_pct: Option<f64>,
    /// By what that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_source: Option<ForeignSource>,
    /// The processes that took most of that, the largest share first, at most
    /// [`FOREIGN_MAX`](Self::FOREIGN_MAX).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub foreign: Vec<ForeignProcess>,
    /// Processes under test that were found at the other end of the connection.
    pub tested: Vec<u32>,
    /// Memory that these and their descendants held when the result was over, bytes, what they share
    /// counted once, without what the kernel keeps of files; absent when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tested_memory_bytes: Option<u64>,
    /// The least memory limit of the control groups that they are in, bytes; absent where there is
    /// none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tested_memory_limit_bytes: Option<u64>,
    /// Processors that they may run on; absent where these are all, or nobody knows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tested_cpus: Option<u32>,
    /// The processor time that the control groups around those of them that did the work leave to these
    /// together; absent where one is not bounded, or nobody knows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tested_quota: Option<CpuQuota>,
    /// The same of the load generator; absent where it is not bounded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_quota: Option<CpuQuota>,
    /// Memory that was not available to programs, bytes, on average; absent when nobody looked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory_used_bytes: Option<u64>,
    /// Pages swapped in or out; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub swapped_pages: Option<u64>,
    /// Faults that had to wait for a disk; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub major_faults: Option<u64>,
    /// TCP segments sent again; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted: Option<u64>,
    /// Of these, requests to connect and what answers them; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted_connects: Option<u64>,
    /// The link that was used most; absent where no link tells its speed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link: Option<LinkUse>,
    /// How the work of receiving was spread; absent when nothing was received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive: Option<ReceiveUse>,
    /// On which processors the work was done; absent when nobody looked.
    #[serde(rename = "seats", skip_serializing_if = "Option::is_none", default)]
    pub placement: Option<Placement>,
    /// Processor time that this watching took, percent of one processor.
    pub watching_pct: f64,
}

/// Processor time that a control group leaves to what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuQuota {
    /// Processor time a second, in processors.
    pub processors: f64,
    /// True when the load generator is in that group as well.
    pub with_client: bool,
    /// How often a quota was used up in the recorded part; absent where the kernel does not count it, or
    /// nobody can say in which group the work was done.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throttled: Option<CpuThrottled>,
}

impl CpuQuota {
    /// The quota of the group that held back: another than this one where several groups are around
    /// what it bounds, and the record says which.
    #[must_use]
    pub fn of_throttled(self) -> Self {
        let of = |throttled: CpuThrottled| Some((throttled.processors?, throttled.with_client?));
        let (processors, with_client) =
            self.throttled.and_then(of).unwrap_or((self.processors, self.with_client));
        Self { processors, with_client, ..self }
    }

    /// That it was used up, of `whom`: a sentence with its figures; `None` where it never was.
    fn remark(self, whom: &str) -> Option<Finding> {
        let quota = self.of_throttled();
        let throttled = quota.throttled.filter(|it| it.held_back > 0)?;
        let text = format!(
            "throttled: the control group of {whom} used up its quota of {} of a processor's time in {} of \
             {}, and was held back for {}, added up over all processors: times hold these waits (cpu.stat, \
             cpu.max)",
            show_plain(quota.processors),
            grouped(throttled.held_back),
            counted(throttled.periods, "period"),
            show_ns(throttled.held_back_ns),
        );
        Some(Finding { kind: FindingKind::Throttled, scope: Scope::Nothing, text })
    }
}

/// How often a control group held back what is in it, because its quota of a period was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuThrottled {
    /// Periods in which something in the group ran, or wanted to.
    pub periods: u64,
    /// Of these, those in which it was held back.
    pub held_back: u64,
    /// For how long, nanoseconds; of each processor on which it wanted to run.
    pub held_back_ns: u64,
    /// What that group leaves, in processors; absent in records of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub processors: Option<f64>,
    /// True when the load generator is in that group as well; absent in the same.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub with_client: Option<bool>,
}

/// What tells how much others ran, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForeignSource {
    /// The run time of all tasks, as the root of the control groups counts it, without that of the
    /// processes that took part: nanoseconds, exact, with all that ended meanwhile.
    ControlGroups,
    /// The clocks of the other processes: nanoseconds, exact, with children that ended and were
    /// waited for.
    Processes,
    /// The run time of all tasks, as the run queues count it, without that of the processes that
    /// took part: nanoseconds, booked when a task leaves its processor.
    RunQueues,
    /// The clock ticks of all processors, without the time of the processes that took part: what
    /// ran between two ticks is counted by chance.
    Ticks,
}

/// A process that was not part of the measurement and took processor time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForeignProcess {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel keeps it: up to fifteen characters.
    pub name: String,
    /// Its share of all processors, percent.
    pub share_pct: f64,
}

/// How the work of receiving was spread over the processors: `effective = (sum x)^2 / sum x^2`,
/// where `x` is the number of soft interrupts of receiving that one processor handled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReceiveUse {
    /// As many processors of equal share would do the work in the same way.
    pub effective_cpus: f64,
    /// Processors that could take part.
    pub cpus: u64,
    /// The processor that did most of it.
    pub hottest_cpu: u32,
    /// What is wrong with it, in sentences.
    pub findings: Vec<String>,
}

/// A far machine that was recorded with the one that drove the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarHost {
    /// Its name.
    pub name: String,
    /// Where it answered, as the user named it.
    pub address: String,
    /// Kernel name, release, version and architecture.
    pub kernel: String,
    /// Its processors.
    pub cpus: u64,
    /// Time of a question and its answer when the run began, nanoseconds: its samples are placed
    /// to half of that.
    pub round_trip_ns: u64,
    /// Its wall clock before that of the machine that drove the load when the run began,
    /// nanoseconds. Its samples carry the time of the machine that drove the load.
    pub clock_ahead_ns: i64,
    /// What else is known of it, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub facts: BTreeMap<String, String>,
}

impl HostUse {
    /// Foreign processes that are named at most.
    pub const FOREIGN_MAX: usize = 3;

    /// What takes figures away, and a link that was full: others or the hypervisor may take `limit`.
    /// `whose` stands before each text.
    pub(crate) fn disturbances(&self, limit: ForeignLimit, whose: &str) -> Vec<Finding> {
        let percent = limit.percent();
        let mut found = Vec::new();
        let mut add = |kind, scope, text| {
            found.push(Finding { kind, scope, text: format!("{whose}{text}") });
        };
        if let Some(foreign) = self.foreign_pct.filter(|foreign| *foreign > percent) {
            let text = format!(
                "foreign load: other processes took {} % of all processors, {}; more than the \
                 {limit} allowed",
                show_above(foreign, percent),
                self.culprits()
            );
            add(FindingKind::ForeignLoad, Scope::Everything, text);
        }
        if let Some(steal) = self.steal_pct.filter(|steal| *steal > percent) {
            let text = format!(
                "steal: the hypervisor took {} % of all processors, more than the {limit} allowed",
                show_above(steal, percent)
            );
            add(FindingKind::Steal, Scope::Everything, text);
        }
        if let Some(pages) = self.swapped_pages.filter(|pages| *pages > 0) {
            let text = format!("paging: {} swapped in or out", counted(pages, "page"));
            add(FindingKind::Paging, Scope::Latency, text);
        }
        found.extend(self.link.as_ref().and_then(|link| link.full(whose, self.covered_ns)));
        found
    }

    /// That control groups held back whoever asked or answered. A group that holds both is told of once.
    pub(crate) fn throttled(&self) -> impl Iterator<Item = Finding> {
        let (client, server) = (self.client_quota, self.tested_quota);
        let shared = server.is_some_and(|quota| quota.of_throttled().with_client);
        let same =
            shared && client.zip(server).is_some_and(|(one, it)| one.throttled == it.throttled);
        let whom = if shared { "the server and the load generator" } else { "the server" };
        let client = client.filter(|_| !same).and_then(|quota| quota.remark("the load generator"));
        client.into_iter().chain(server.and_then(|quota| quota.remark(whom)))
    }

    /// What could not be checked of the machine that drove the load; nothing where others may take
    /// everything.
    pub(crate) fn unchecked(&self, limit: ForeignLimit) -> Option<Finding> {
        if self.foreign_pct.is_some() || limit.accepts_all() {
            return None;
        }
        let text = "foreign load could not be checked: in so short a time this machine does not tell \
                    what other processes took; measure for longer, or accept whatever they take \
                    with --foreign-limit 100%";
        Some(Finding { kind: FindingKind::ForeignLoad, scope: Scope::Unchecked, text: text.into() })
    }

    /// Who took most, in words.
    fn culprits(&self) -> String {
        let named =
            |it: &ForeignProcess| format!("{} (pid {}, {:.1} %)", it.name, it.pid, it.share_pct);
        let named: Vec<String> = self.foreign.iter().map(named).collect();
        match named.split_last() {
            None => "which ones is not known".into(),
            Some((only, [])) => format!("mostly {only}"),
            Some((last, others)) => format!("mostly {} and {last}", others.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LimitSource, Validity};

    #[test]
    fn a_far_host_that_is_robbed_or_lost_is_named() {
        let far = HostUse { steal_pct: Some(9.0), swapped_pages: Some(3), ..HostUse::default() };
        let validity = Validity::of_all([]);
        let robbed = validity.clone().with_far(&far, ForeignLimit::default(), "db7");
        assert!(!robbed.valid);
        assert!(robbed.reasons.iter().all(|it| it.text.starts_with("far host db7: ")));
        let lost =
            validity.without_far("db7", "closed the connection", 3_530_000_000, 10_000_000_000);
        assert!(lost.valid && lost.latency_valid);
        let [remark] = lost.reasons.as_slice() else { panic!("one remark") };
        assert_eq!((remark.kind, remark.scope), (FindingKind::FarHostLost, Scope::Nothing));
        let said = "far host db7: samples of 3.53 s of 10.0 s only: it closed the connection";
        assert_eq!(remark.text, said);
        let never = Validity::of([]).without_far("db7", "closed the connection", 0, 10_000_000_000);
        assert!(never.reasons[0].text.contains("no samples: it closed"), "{never:?}");
    }

    #[test]
    fn what_a_quota_held_back_is_a_remark_of_whom_it_held() {
        let quota = |processors, with_client, held_back| CpuQuota {
            processors: 2.5,
            with_client: false,
            throttled: Some(CpuThrottled {
                periods: 203,
                held_back,
                held_back_ns: held_back * 57_000_000,
                processors: Some(processors),
                with_client: Some(with_client),
            }),
        };
        let said = |client_quota, tested_quota| {
            let host = HostUse { client_quota, tested_quota, ..HostUse::default() };
            let all = ForeignLimit { share: "100%".parse().unwrap(), source: LimitSource::Option };
            let validity = Validity::of([]).with_host(&host, all);
            assert!(validity.valid && validity.latency_valid, "every figure stands");
            validity.reasons.into_iter().map(|it| it.text).collect::<Vec<_>>()
        };
        let server = Some(quota(0.5, false, 82));
        assert_eq!(
            said(Some(quota(1.0, true, 0)), server),
            [
                "throttled: the control group of the server used up its quota of 0.50 of a processor's time \
              in 82 of 203 periods, and was held back for 4.67 s, added up over all processors: times \
              hold these waits (cpu.stat, cpu.max)"
            ]
        );
        let client = Some(quota(1.0, true, 9));
        let both = said(client, server);
        assert_eq!(both.len(), 2);
        assert!(
            both[0].contains("group of the load generator used up its quota of 1.00 "),
            "{both:?}"
        );
        let shared = said(client, client);
        assert_eq!(shared.len(), 1, "one group is told of once");
        assert!(shared[0].contains("of the server and the load generator used up"), "{shared:?}");
        assert_eq!(said(None, Some(quota(0.5, false, 0))).len(), 0);
        assert_eq!(said(Some(CpuQuota { throttled: None, ..quota(1.0, true, 9) }), None).len(), 0);
    }

    fn raised(text: &str) -> ForeignLimit {
        ForeignLimit { share: text.parse().unwrap(), source: LimitSource::Option }
    }

    #[test]
    fn who_took_most_is_named() {
        let took =
            |pid, name: &str, share_pct| ForeignProcess { pid, name: name.into(), share_pct };
        let mut host = HostUse {
            foreign_pct: Some(38.04),
            foreign: vec![took(4711, "rustc", 21.0), took(4700, "cargo", 9.96)],
            ..HostUse::default()
        };
        let text = |host: &HostUse, limit| {
            let validity = Validity::of([]).with_host(host, limit);
            assert!(!validity.valid && validity.is_checked());
            validity.reasons[0].text.clone()
        };
        assert_eq!(
            text(&host, ForeignLimit::default()),
            "foreign load: other processes took 38.0 % of all processors, mostly rustc (pid 4711, \
             21.0 %) and cargo (pid 4700, 10.0 %); more than the 5 % allowed"
        );
        host.foreign_pct = Some(5.04);
        let said = text(&host, ForeignLimit::default());
        assert!(said.contains("other processes took 5.04 % of all processors"), "{said}");
        host.foreign_pct = Some(38.04);
        host.foreign.clear();
        assert!(
            text(&host, raised("7.5%")).contains("which ones is not known; more than the 7.5 %")
        );
    }

    #[test]
    fn what_others_took_is_not_known_and_so_not_valid() {
        let validity = Validity::of([]).with_host(&HostUse::default(), ForeignLimit::default());
        assert!(!validity.valid && !validity.latency_valid && !validity.is_checked());
        assert!(validity.reasons[0].text.contains("--foreign-limit 100%"));
        let validity = Validity::of([]).unwatched("why", ForeignLimit::default());
        assert!(!validity.valid && !validity.is_checked());
        assert!(validity.reasons[0].text.contains("why"), "{validity:?}");
    }

    #[test]
    fn whoever_accepts_everything_needs_no_check_and_says_so() {
        let all = raised("100%");
        let validity = Validity::of([]).with_host(&HostUse::default(), all).unwatched("why", all);
        assert!(validity.valid && validity.is_checked() && validity.reasons.is_empty());
        assert_eq!(validity.foreign_limit, Some(all));
        let together = Validity::of_all([("a", &validity), ("b", &Validity::of([]))]);
        assert_eq!(together.foreign_limit, Some(all), "a sum stands under the limit of its parts");
        let json = serde_json::to_value(&together).unwrap();
        assert_eq!(json["foreign_limit"]["share"], "100%");
        assert_eq!(json["foreign_limit"]["source"], "option");
    }
}
