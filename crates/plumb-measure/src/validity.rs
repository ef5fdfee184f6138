//! Whether the figures of a run may be believed, and why not.

mod load;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use load::LoadFacts;

use crate::finding::HANDSHAKE;
use crate::units::{counted, show_ns};
use crate::{Finding, FindingKind, ForeignLimit, HostUse, Scope, ServerTimes, StallEvidence};

/// A name that took as long to look up is worth a remark, nanoseconds.
pub const SLOW_NAME_NS: u64 = 100_000_000;

/// The verdict on a run or on one of its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Validity {
    /// False when a finding takes everything away, or something could not be checked.
    pub valid: bool,
    /// False when the latency figures must not be used.
    pub latency_valid: bool,
    /// What was found, the gravest first.
    pub reasons: Vec<Finding>,
    /// The limit of foreign load under which all that holds; absent where none was judged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_limit: Option<ForeignLimit>,
}

impl Validity {
    /// The verdict that `findings` make.
    #[must_use]
    pub fn of(findings: impl IntoIterator<Item = Finding>) -> Self {
        Self::from_findings(findings.into_iter())
    }

    /// The verdict over several results: the findings of all, each text once.
    #[must_use]
    pub fn of_all<'a>(results: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut foreign_limit: Option<ForeignLimit> = None;
        let findings: Vec<Finding> = results
            .into_iter()
            .inspect(|(_, validity)| {
                // the widest, should they differ
                let wider = |of: &ForeignLimit| {
                    foreign_limit.is_none_or(|it| it.share.of_one() < of.share.of_one())
                };
                foreign_limit = validity.foreign_limit.filter(wider).or(foreign_limit);
            })
            .flat_map(|(name, validity)| {
                validity.reasons.iter().map(move |finding| Finding {
                    text: if name.is_empty() {
                        finding.text.clone()
                    } else {
                        format!("{name}: {}", finding.text)
                    },
                    ..*finding
                })
            })
            .collect();
        Self { foreign_limit, ..Self::from_findings(findings.into_iter()) }
    }

    /// True when the load generator was the limit: throughput, where it stands, is a lower bound.
    #[must_use]
    pub fn is_driver_limited(&self) -> bool {
        let kinds = [FindingKind::DriverLimited, FindingKind::SchedulingLag];
        self.reasons.iter().any(|found| kinds.contains(&found.kind))
    }

    /// The same verdict with one more finding, if there is one.
    #[must_use]
    pub fn with(self, finding: Option<Finding>) -> Self {
        self.and(finding)
    }

    /// The same verdict with one more finding: the run ended before its plan did, because of
    /// `cause`.
    #[must_use]
    pub fn cut_short_by(self, cause: &str) -> Self {
        let text = format!("the run ended before its plan did: {cause}");
        self.and(finding(FindingKind::CutShort, Scope::Everything, text))
    }

    /// The same verdict with a remark on `results` of the plan that were not begun, in words.
    #[must_use]
    pub fn without_results(self, results: &str) -> Self {
        let text = format!("the run ended before its plan did: {results}");
        self.and(finding(FindingKind::CutShort, Scope::Nothing, text))
    }

    /// The same verdict with what `host` did meanwhile, or might have done, under `limit`.
    #[must_use]
    pub fn with_host(self, host: &HostUse, limit: ForeignLimit) -> Self {
        let found = host.disturbances(limit, "").into_iter().chain(host.unchecked(limit));
        let found = found.chain(host.throttled());
        Self { foreign_limit: Some(limit), ..self.and(found) }
    }

    /// The same verdict where the load generator stood still for so many nanoseconds, each time, if it
    /// did.
    #[must_use]
    pub fn with_hiccups(self, stood_ns: &[u64]) -> Self {
        let longest_ns = stood_ns.iter().max().copied().unwrap_or(0);
        let times = match stood_ns.len() {
            0 | 1 => show_ns(longest_ns),
            several => {
                let all = show_ns(stood_ns.iter().sum());
                format!("{all} in {several} parts, the longest {}", show_ns(longest_ns))
            }
        };
        let text = format!(
            "the load generator stood still for {times}: it was stopped, or its machine was suspended or \
             paused; nothing was asked then, and answers waited for it"
        );
        let found = finding(FindingKind::DriverStopped, Scope::Everything, text);
        self.and(found.filter(|_| !stood_ns.is_empty()))
    }

    /// The same verdict where nobody watched the machine that drove the load, because of `cause`,
    /// under `limit`.
    #[must_use]
    pub fn unwatched(self, cause: &str, limit: ForeignLimit) -> Self {
        let text = format!(
            "this machine was not watched ({cause}), so what other processes took is not known; \
             watch it, or accept whatever they take with --foreign-limit 100%"
        );
        let found = finding(FindingKind::ForeignLoad, Scope::Unchecked, text);
        Self { foreign_limit: Some(limit), ..self.and(found.filter(|_| !limit.accepts_all())) }
    }

    /// The same verdict with what the far machine `name` did meanwhile, under `limit`.
    #[must_use]
    pub fn with_far(self, far: &HostUse, limit: ForeignLimit, name: &str) -> Self {
        self.and(far.disturbances(limit, &format!("far host {name}: ")))
    }

    /// The same verdict with a remark: the far machine `name` could not be recorded all the time. Its samples
    /// cover `covered_ns` of the `duration_ns` that were measured.
    #[must_use]
    pub fn without_far(self, name: &str, cause: &str, covered_ns: u64, duration_ns: u64) -> Self {
        let samples = match covered_ns {
            0 => "no samples".into(),
            _ => format!("samples of {} of {} only", show_ns(covered_ns), show_ns(duration_ns)),
        };
        let text = format!("far host {name}: {samples}: it {cause}");
        self.and(finding(FindingKind::FarHostLost, Scope::Nothing, text))
    }

    /// The same verdict with a remark: what the target said when it was first wrong.
    #[must_use]
    pub fn with_complaint(self, complaint: &str) -> Self {
        let text = format!("the first wrong answer: the target {complaint}");
        self.and(finding(FindingKind::Complaint, Scope::Nothing, text))
    }

    /// The same verdict with a remark, if there is one: who failed a handshake, and why.
    #[must_use]
    pub fn with_handshake(self, complaint: Option<&str>) -> Self {
        let text = complaint.map(|it| format!("{HANDSHAKE}{it}"));
        self.and(text.and_then(|text| finding(FindingKind::Complaint, Scope::Nothing, text)))
    }

    /// The same verdict with how the remotes of a load `began`, which takes its figures away where that
    /// was `too_far` apart for its intervals.
    #[must_use]
    pub fn with_remotes(self, began: String, too_far: bool) -> Self {
        let scope = if too_far { Scope::Everything } else { Scope::Nothing };
        self.and(finding(FindingKind::RemotesApart, scope, began))
    }

    /// The same verdict with a remark for each of `names`, of hosts, that took so many nanoseconds to look
    /// up.
    #[must_use]
    pub fn with_slow_names(self, names: &BTreeMap<String, u64>) -> Self {
        let remark = |(name, took_ns): (&String, &u64)| {
            let text = format!(
                "looking up the name `{name}` took {}, which is in no figure here: it was looked up \
                 before, while a program that looks it up for a new connection waits for it",
                show_ns(*took_ns)
            );
            finding(FindingKind::SlowName, Scope::Nothing, text)
        };
        self.and(names.iter().filter_map(remark))
    }

    /// The same verdict with a remark for each of `dead`, addresses that took no connection before another
    /// did, in words, and for how many nanoseconds they were tried.
    #[must_use]
    pub fn with_dead_addresses(self, dead: &BTreeMap<String, u64>) -> Self {
        let remark = |(addresses, took_ns): (&String, &u64)| {
            let text = format!(
                "{addresses} took no connection for {}, which is in no figure here: a program that \
                 connects by this name waits for it",
                show_ns(*took_ns)
            );
            finding(FindingKind::SlowName, Scope::Nothing, text)
        };
        self.and(dead.iter().filter_map(remark))
    }

    /// The same verdict with a remark about an answer that was not as demanded.
    #[must_use]
    pub fn with_remark(self, text: &str) -> Self {
        self.and(finding(FindingKind::Complaint, Scope::Nothing, text.to_owned()))
    }

    /// The same verdict with a remark: what `missed` of the thresholds were missed, as they stand
    /// in the plan.
    #[must_use]
    pub fn with_missed(self, missed: &[&str]) -> Self {
        let text =
            format!("{} missed: {}", counted(missed.len() as u64, "threshold"), missed.join("; "));
        self.and(
            (!missed.is_empty())
                .then_some(())
                .and_then(|()| finding(FindingKind::ThresholdMissed, Scope::Nothing, text)),
        )
    }

    /// The same verdict with a remark: `users` of a scenario ended of themselves, because of `cause`, which may
    /// have been the end of the load.
    #[must_use]
    pub fn with_ended(self, users: u64, scenario: &str, cause: &str) -> Self {
        let text = format!("{} of {scenario} ended: {cause}", counted(users, "user"));
        self.and(finding(FindingKind::UsersEnded, Scope::Nothing, text))
    }

    /// The same verdict with a remark when `times` that the target told of itself had no room.
    #[must_use]
    pub fn with_untold(self, times: u64) -> Self {
        let text = format!(
            "{} that the target told of itself had no room: the first {} of an answer are kept, \
             under few names",
            counted(times, "time"),
            ServerTimes::MAX
        );
        self.and(
            (times > 0)
                .then_some(())
                .and_then(|()| finding(FindingKind::Untold, Scope::Nothing, text)),
        )
    }

    /// The same verdict with a remark when `operations` are not in the file that has a line for
    /// each, because writing it was too slow.
    #[must_use]
    pub fn with_left_out(self, operations: u64) -> Self {
        let text = format!(
            "{} missing in the file of single operations: writing it was too slow; the other \
             figures hold all",
            counted(operations, "operation")
        );
        let found = finding(FindingKind::SamplesLeftOut, Scope::Nothing, text);
        self.and(found.filter(|_| operations > 0))
    }

    /// The same verdict with a remark: the interval log could not be written to its end, because of
    /// `cause`.
    #[must_use]
    pub fn without_intervals(self, cause: &str) -> Self {
        let text = format!("no interval log is kept, the figures hold all: {cause}");
        self.and(finding(FindingKind::LogIncomplete, Scope::Nothing, text))
    }

    /// The same verdict with the stalls of TCP that the figures show.
    #[must_use]
    pub fn with_stalls(self, evidence: &StallEvidence<'_>) -> Self {
        self.and(evidence.findings())
    }

    /// False when the only thing against the figures is that something could not be checked.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        let scopes = || self.reasons.iter().map(|finding| finding.scope);
        scopes().all(|scope| scope != Scope::Unchecked)
            || scopes().any(|scope| scope == Scope::Everything)
    }

    fn and(self, more: impl IntoIterator<Item = Finding>) -> Self {
        let foreign_limit = self.foreign_limit;
        Self { foreign_limit, ..Self::from_findings(self.reasons.into_iter().chain(more)) }
    }

    fn from_findings(findings: impl Iterator<Item = Finding>) -> Self {
        let mut reasons: Vec<Finding> = findings.collect();
        reasons.sort_by_key(|finding| finding.scope as u8);
        Self {
            valid: reasons
                .iter()
                .all(|finding| !matches!(finding.scope, Scope::Everything | Scope::Unchecked)),
            latency_valid: reasons.iter().all(|finding| finding.scope == Scope::Nothing),
            reasons,
            foreign_limit: None,
        }
    }
}

fn finding(kind: FindingKind, scope: Scope, text: String) -> Option<Finding> {
    Some(Finding { kind, scope, text })
}
