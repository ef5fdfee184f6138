//! Whether the figures of a run may be believed, and why not.

use serde::{Deserialize, Serialize};

use crate::units::counted;
use crate::{Codes, ForeignLimit, HostUse, Recorder, Span, StallEvidence, Told, grouped, show_ns};

/// Which figures a finding takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Nothing may be concluded from the run.
    Everything,
    /// Something that can take every figure away could not be checked: unknown is not valid.
    Unchecked,
    /// Throughput stands as a lower bound, latency does not.
    Latency,
    /// Every figure stands; the reader should know.
    Nothing,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Answers had a status that the plan does not expect.
    UnexpectedStatus,
    /// No operation succeeded.
    NoOperations,
    /// Operations or connections failed.
    Failures,
    /// Work could not begin in time and was given up.
    Dropped,
    /// The load generator, not the target, was the limit.
    DriverLimited,
    /// Work began later than the plan allows although a connection was free.
    SchedulingLag,
    /// The content of the answers varied in length.
    LengthVaries,
    /// The run ended before the plan did.
    CutShort,
    /// Processes that were not part of the measurement took processor time, or nobody knows
    /// whether they did.
    ForeignLoad,
    /// The hypervisor took processor time.
    Steal,
    /// Memory was short: pages were swapped.
    Paging,
    /// Two sides counted the same thing differently.
    CountsDiffer,
    /// The far machine could not be recorded to the end.
    FarHostLost,
    /// What the first wrong answer said.
    Complaint,
    /// Times that the target told of itself were not kept.
    Untold,
    /// Operations are missing in the file of single operations.
    SamplesLeftOut,
    /// Messages waited for an acknowledgement that the other side delayed.
    DelayedAcknowledgement,
    /// Operations waited until lost segments were sent again.
    Retransmission,
    /// Connects waited until their first segment was sent again.
    ConnectRetransmission,
    /// Too few samples for the tail that is printed.
    FewSamples,
    /// A threshold of the plan was missed.
    ThresholdMissed,
    /// Users ended before the load did.
    UsersEnded,
    /// The connections did not all use the same transport.
    MixedTransport,
}

/// One reason to doubt a result, in words that name the figures behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found.
    pub kind: FindingKind,
    /// Which figures it takes away.
    pub scope: Scope,
    /// One sentence with the figures.
    pub text: String,
}

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

/// What must be known of a load, beside its records, to judge it.
#[derive(Clone, Copy, Debug)]
pub struct LoadFacts {
    /// True when work was due at times of its own (a rate), whatever the target did.
    pub open: bool,
    /// The largest scheduling lag at the 99th percentile that the plan accepts.
    pub lag_bound: Span,
    /// True when the plan asks for answers of one length.
    pub one_length: bool,
    /// True when the run ended before its plan.
    pub cut_short: bool,
}

/// Passes of the loop, in percent, that must have been busy before the driver is the limit.
const BUSY_PERCENT: u64 = 90;
/// Fewer passes than this say nothing about the driver.
const PASSES_MIN: u64 = 200;
/// Samples below which the 99th percentile is hardly more than the maximum.
const SAMPLES_MIN: u64 = 100;

impl Validity {
    /// Judges the merged records of one load.
    #[must_use]
    pub fn of_load(recorder: &Recorder, facts: LoadFacts) -> Self {
        Self::from_findings(
            [
                unexpected_status(recorder),
                no_operations(recorder),
                failures(recorder),
                dropped(recorder),
                driver_limited(recorder, facts),
                scheduling_lag(recorder, facts),
                length_varies(recorder, facts),
                cut_short(facts),
                few_samples(recorder),
            ]
            .into_iter()
            .flatten(),
        )
    }

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

    /// The same verdict with what `host` did meanwhile, or might have done, under `limit`.
    #[must_use]
    pub fn with_host(self, host: &HostUse, limit: ForeignLimit) -> Self {
        let found = host.disturbances(limit, "").into_iter().chain(host.unchecked(limit));
        Self { foreign_limit: Some(limit), ..self.and(found) }
    }

    /// The same verdict where nobody watched the machine that drove the load, because of `cause`,
    /// under `limit`.
    #[must_use]
    pub fn unwatched(self, cause: &str, limit: ForeignLimit) -> Self {
        let text = format!(
            "this machine was not watched ({cause}), so nobody knows what other processes took; \
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

    /// The same verdict with a remark: the far machine `name` could be recorded no longer.
    #[must_use]
    pub fn without_far(self, name: &str, cause: &str) -> Self {
        let text = format!("far host {name}: no samples from here on: it {cause}");
        self.and(finding(FindingKind::FarHostLost, Scope::Nothing, text))
    }

    /// The same verdict with a remark: what the target said when it was first wrong.
    #[must_use]
    pub fn with_complaint(self, complaint: &str) -> Self {
        let text = format!("the first wrong answer: the target {complaint}");
        self.and(finding(FindingKind::Complaint, Scope::Nothing, text))
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

    /// The same verdict with a remark: `users` of a scenario ended before the load did, because of
    /// `cause`.
    #[must_use]
    pub fn with_ended(self, users: u64, scenario: &str, cause: &str) -> Self {
        let text =
            format!("{} of {scenario} ended before the load did: {cause}", counted(users, "user"));
        self.and(finding(FindingKind::UsersEnded, Scope::Nothing, text))
    }

    /// The same verdict with a remark when `times` that the target told of itself had no room.
    #[must_use]
    pub fn with_untold(self, times: u64) -> Self {
        let text = format!(
            "{} that the target told of itself had no room: the first {} of an answer are kept, \
             under few names",
            counted(times, "time"),
            Told::MAX
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

fn unexpected_status(recorder: &Recorder) -> Option<Finding> {
    let mut codes = Codes::default();
    let rows = recorder.rows().iter().flat_map(|row| row.unexpected.iter());
    rows.for_each(|(code, n)| codes.count(code, n));
    let wrong: u64 = codes.iter().map(|(_, n)| n).sum();
    if wrong == 0 {
        return None;
    }
    let mut most: Vec<(u16, u64)> = codes.iter().collect();
    most.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let named: Vec<String> =
        most.iter().map(|(code, n)| format!("{} with {code}", grouped(*n))).collect();
    let all = recorder.operations() + recorder.failures().total();
    let text = if wrong == all {
        format!(
            "every answer had a status that was not expected ({}): this is how fast the target \
             refuses, not how fast it works",
            named.join(", ")
        )
    } else {
        format!(
            "{} of {} had a status that was not expected ({})",
            counted(wrong, "answer"),
            grouped(all),
            named.join(", ")
        )
    };
    finding(FindingKind::UnexpectedStatus, Scope::Everything, text)
}

fn no_operations(recorder: &Recorder) -> Option<Finding> {
    if recorder.operations() > 0 {
        return None;
    }
    finding(FindingKind::NoOperations, Scope::Everything, "no operation succeeded".into())
}

fn failures(recorder: &Recorder) -> Option<Finding> {
    let failures = recorder.failures();
    if failures.total() == 0 {
        return None;
    }
    let kinds: Vec<String> =
        failures.iter().map(|(kind, n)| format!("{} {}", grouped(n), kind.name())).collect();
    let text = format!(
        "{} beside {}: {}",
        counted(failures.total(), "failure"),
        counted(recorder.operations(), "operation"),
        kinds.join(", ")
    );
    finding(FindingKind::Failures, Scope::Everything, text)
}

fn dropped(recorder: &Recorder) -> Option<Finding> {
    if recorder.dropped == 0 {
        return None;
    }
    let were = if recorder.dropped == 1 { "was" } else { "were" };
    let text = format!(
        "{} {were} due but could not begin in time: the target, or the number of connections, \
         does not carry this rate",
        counted(recorder.dropped, "operation")
    );
    finding(FindingKind::Dropped, Scope::Everything, text)
}

fn driver_limited(recorder: &Recorder, facts: LoadFacts) -> Option<Finding> {
    let busy = recorder.passes - recorder.idle_passes.min(recorder.passes);
    if recorder.passes < PASSES_MIN || busy * 100 <= recorder.passes * BUSY_PERCENT {
        return None;
    }
    let share = busy * 100 / recorder.passes;
    let (scope, meaning) = if facts.open {
        (Scope::Everything, "the asked rate was not driven as planned")
    } else {
        (Scope::Latency, "throughput is a lower bound, latency is not valid")
    };
    let text =
        format!("driver-limited: {share} % of the loop's passes found no idle moment; {meaning}");
    finding(FindingKind::DriverLimited, scope, text)
}

fn scheduling_lag(recorder: &Recorder, facts: LoadFacts) -> Option<Finding> {
    let lag_ns = recorder.lag.quantile(0.99);
    if recorder.lag.is_empty() || lag_ns <= facts.lag_bound.ns() {
        return None;
    }
    let scope = if facts.open { Scope::Everything } else { Scope::Latency };
    let text = format!(
        "driver-limited: 1 % of the work began {} or more after it was due although a connection \
         was free (accepted: {})",
        show_ns(lag_ns),
        show_ns(facts.lag_bound.ns())
    );
    finding(FindingKind::SchedulingLag, scope, text)
}

fn length_varies(recorder: &Recorder, facts: LoadFacts) -> Option<Finding> {
    let varied = recorder
        .rows()
        .iter()
        .map(|row| row.lengths.histogram())
        .find(|lengths| lengths.min() != lengths.max())?;
    let scope = if facts.one_length { Scope::Everything } else { Scope::Nothing };
    let (least, most) = (grouped(varied.min()), grouped(varied.max()));
    let text = format!("the content length varied from {least} to {most} bytes");
    finding(FindingKind::LengthVaries, scope, text)
}

fn cut_short(facts: LoadFacts) -> Option<Finding> {
    if !facts.cut_short {
        return None;
    }
    finding(FindingKind::CutShort, Scope::Everything, "the run ended before its plan did".into())
}

fn few_samples(recorder: &Recorder) -> Option<Finding> {
    let n = recorder.operations();
    if n == 0 || n >= SAMPLES_MIN {
        return None;
    }
    let text = format!("{n} samples: percentiles above the {}th are the maximum", 100 - 100 / n);
    finding(FindingKind::FewSamples, Scope::Nothing, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, FailureKind, Moments};

    const CLOSED: LoadFacts =
        LoadFacts { open: false, lag_bound: Span::from_ms(1), one_length: true, cut_short: false };

    fn recorder_of(n: u64) -> Recorder {
        let mut recorder = Recorder::new(1);
        let moments = Moments { due: 0, sent: 0, first: 9, last: 9 };
        (0..n).for_each(|_| recorder.record(0, moments, Answer::ok(500)));
        recorder
    }

    #[test]
    fn a_run_without_findings_is_valid() {
        let validity = Validity::of_load(&recorder_of(1000), CLOSED);
        assert!(validity.valid && validity.latency_valid && validity.reasons.is_empty());
    }

    #[test]
    fn operations_that_are_in_no_file_are_said_and_take_no_figure_away() {
        let validity = Validity::of_load(&recorder_of(1000), CLOSED);
        assert!(validity.clone().with_left_out(0).reasons.is_empty());
        let validity = validity.with_left_out(7);
        assert!(validity.valid && validity.latency_valid);
        assert!(validity.reasons[0].text.starts_with("7 operations missing in the file"));
    }

    #[test]
    fn one_failure_makes_a_run_invalid_and_is_named() {
        let mut recorder = recorder_of(1000);
        let moments = Moments { due: 0, sent: 0, first: 0, last: 0 };
        recorder.record(0, moments, Answer::failed(FailureKind::TimedOut));
        let validity = Validity::of_load(&recorder, CLOSED);
        assert!(!validity.valid);
        assert_eq!(validity.reasons[0].text, "1 failure beside 1,000 operations: 1 timed-out");
    }

    #[test]
    fn answers_that_only_refuse_are_named_first() {
        let moments = Moments { due: 0, sent: 0, first: 1, last: 1 };
        let refused = Answer { code: Some(401), ..Answer::failed(FailureKind::UnexpectedStatus) };
        let mut recorder = Recorder::new(1);
        (0..3_000).for_each(|_| recorder.record(0, moments, refused));
        let validity = Validity::of_load(&recorder, CLOSED);
        assert!(!validity.valid);
        let first = &validity.reasons[0];
        assert_eq!(first.kind, FindingKind::UnexpectedStatus);
        assert!(first.text.starts_with("every answer"), "{}", first.text);
        assert!(first.text.contains("3,000 with 401"), "{}", first.text);
        recorder.record(0, moments, Answer::ok(5));
        let text = &Validity::of_load(&recorder, CLOSED).reasons[0].text;
        assert!(text.starts_with("3,000 answers of 3,001"), "{text}");
    }

    #[test]
    fn a_driver_without_idle_moments_keeps_throughput_only_when_closed() {
        let mut recorder = recorder_of(1000);
        recorder.passes = 10_000;
        recorder.idle_passes = 900;
        let closed = Validity::of_load(&recorder, CLOSED);
        assert!(closed.valid && !closed.latency_valid);
        let open = Validity::of_load(&recorder, LoadFacts { open: true, ..CLOSED });
        assert!(!open.valid);
    }

    #[test]
    fn idle_moments_in_a_tenth_of_the_passes_are_enough() {
        let mut recorder = recorder_of(1000);
        recorder.passes = 10_000;
        recorder.idle_passes = 1_000;
        assert!(Validity::of_load(&recorder, CLOSED).latency_valid);
    }

    #[test]
    fn late_starts_beyond_the_bound_invalidate_an_open_run() {
        let mut recorder = recorder_of(1000);
        recorder.lag.record_n(5_000_000, 1000);
        let open = LoadFacts { open: true, ..CLOSED };
        assert!(!Validity::of_load(&recorder, open).valid);
        let wide = LoadFacts { lag_bound: Span::from_ms(10), ..open };
        assert!(Validity::of_load(&recorder, wide).valid);
    }

    #[test]
    fn a_varying_length_matters_where_one_length_was_asked_for() {
        let mut recorder = recorder_of(200);
        let moments = Moments { due: 0, sent: 0, first: 1, last: 1 };
        recorder.record(0, moments, Answer::ok(501));
        assert!(!Validity::of_load(&recorder, CLOSED).valid);
        let any = LoadFacts { one_length: false, ..CLOSED };
        assert!(Validity::of_load(&recorder, any).valid);
    }

    #[test]
    fn findings_of_several_results_carry_their_names() {
        let bad = Validity::of_load(&Recorder::new(1), CLOSED);
        let all = Validity::of_all([("size 500B", &bad)]);
        assert!(!all.valid);
        assert_eq!(all.reasons[0].text, "size 500B: no operation succeeded");
    }
}
