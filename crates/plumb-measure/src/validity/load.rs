//! What the merged records of one load say against its figures.

#[cfg(test)]
mod tests;

use super::{Validity, finding};
use crate::real;
use crate::units::counted;
use crate::{
    Codes, FailureKind, Finding, FindingKind, Recorder, Scope, Span, attempts_to_connect, grouped,
    show_ns,
};

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
        // the first of them is what a report says of the run
        let (refused_or_failed, others) = match is_mostly_refused(recorder) {
            true => {
                ([unexpected_status(recorder), no_operations(recorder, facts)], failures(recorder))
            }
            false => {
                ([failures(recorder), no_operations(recorder, facts)], unexpected_status(recorder))
            }
        };
        Self::from_findings(
            refused_or_failed
                .into_iter()
                .chain([
                    others,
                    lost(recorder),
                    refused(recorder),
                    dropped(recorder),
                    outlasting(recorder),
                    driver_limited(recorder, facts),
                    scheduling_lag(recorder, facts),
                    length_varies(recorder, facts),
                    cut_short(facts),
                    few_samples(recorder),
                ])
                .flatten(),
        )
    }
}

/// True when no kind of failure is as frequent as a status that was not expected, where there is one.
fn is_mostly_refused(recorder: &Recorder) -> bool {
    let failures = recorder.failures();
    let wrong = failures.of(FailureKind::UnexpectedStatus);
    let others = failures.iter().filter(|(kind, _)| *kind != FailureKind::UnexpectedStatus);
    wrong == 0 || others.map(|(_, n)| n).all(|n| n < wrong)
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
    let failures = recorder.failures();
    let answered = failures.iter().filter(|(kind, _)| kind.is_of_an_answer()).map(|(_, n)| n);
    let all = recorder.operations() + answered.sum::<u64>() + recorder.refused();
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

fn no_operations(recorder: &Recorder, facts: LoadFacts) -> Option<Finding> {
    if recorder.operations() > 0 {
        return None;
    }
    // what did not end is neither right nor wrong
    let ended = recorder.failures().total() + recorder.refused() + recorder.dropped;
    let text = match ended {
        0 if facts.cut_short => "no operation ended in the time that was measured",
        0 => "no operation ended in the time that was measured: measure longer (--for)",
        _ => "no operation succeeded",
    };
    finding(FindingKind::NoOperations, Scope::Everything, text.into())
}

fn failures(recorder: &Recorder) -> Option<Finding> {
    let failures = recorder.failures();
    let others = || failures.iter().filter(|(kind, _)| *kind != FailureKind::Lost);
    let total: u64 = others().map(|(_, n)| n).sum();
    if total == 0 {
        return None;
    }
    let kinds: Vec<String> =
        others().map(|(kind, n)| format!("{} {}", grouped(n), kind.name())).collect();
    let attempts = attempts_to_connect(recorder.connect_failures.total(), total);
    let text = format!(
        "{} beside {}{}: {}",
        counted(total, "failure"),
        counted(recorder.operations(), "operation"),
        attempts.map_or_else(String::new, |attempts| format!(", {attempts}")),
        kinds.join(", ")
    );
    finding(FindingKind::Failures, Scope::Everything, text)
}

/// Datagrams may be lost: that is a figure, and takes none of the others away.
fn lost(recorder: &Recorder) -> Option<Finding> {
    let lost = recorder.failures().of(FailureKind::Lost);
    if lost == 0 {
        return None;
    }
    let all = recorder.operations() + recorder.failures().total();
    let text = format!(
        "{} of {} had no answer in time ({:.2} %): times are of the others, and each of these has \
         taken the time-out",
        counted(lost, "datagram"),
        grouped(all),
        real(lost) * 100.0 / real(all)
    );
    finding(FindingKind::Lost, Scope::Nothing, text)
}

/// What was turned away takes no figure of the others away.
fn refused(recorder: &Recorder) -> Option<Finding> {
    let refused = recorder.refused();
    if refused == 0 {
        return None;
    }
    let all = recorder.operations() + recorder.failures().total() + refused;
    let text = format!(
        "{} of {} turned away for the moment (429, 503): throughput and times are of the others",
        counted(refused, "operation"),
        grouped(all)
    );
    finding(FindingKind::Refused, Scope::Nothing, text)
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

/// Whoever waited for them asked nothing in the recorded part: what it holds is of the others.
fn outlasting(recorder: &Recorder) -> Option<Finding> {
    if recorder.outlasting == 0 || recorder.operations() == 0 {
        return None;
    }
    let was = if recorder.outlasting == 1 { "was" } else { "were" };
    let text = format!(
        "{} of the warm-up {was} answered after the time that was measured: longer than all of it, and in \
         none of its times; measure longer (--for, or a larger --count)",
        counted(recorder.outlasting, "operation")
    );
    finding(FindingKind::Outlasting, Scope::Latency, text)
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
    let text = format!(
        "driver-limited: the load generator was busy in {share} % of its passes; {meaning}"
    );
    finding(FindingKind::DriverLimited, scope, text)
}

fn scheduling_lag(recorder: &Recorder, facts: LoadFacts) -> Option<Finding> {
    let (lag_ns, bound_ns) = (recorder.lag.quantile(0.99), facts.lag_bound.ns());
    if recorder.lag.is_empty() || lag_ns <= bound_ns {
        return None;
    }
    let scope = if facts.open { Scope::Everything } else { Scope::Latency };
    let (mut lag, mut bound) = (show_ns(lag_ns), show_ns(bound_ns));
    if lag == bound {
        // exactly, so that the one is seen to be longer
        (lag, bound) = (Span::from_ns(lag_ns).to_string(), facts.lag_bound.to_string());
    }
    let text = format!(
        "driver-limited: 1 % of the work began {lag} or more after it was due although a connection \
         was free (accepted: {bound})"
    );
    finding(FindingKind::SchedulingLag, scope, text)
}

/// Operations of different kinds, each in a row of its own, may have answers of different lengths.
fn length_varies(recorder: &Recorder, facts: LoadFacts) -> Option<Finding> {
    let rows = recorder.rows();
    let lengths = || rows.iter().map(|row| row.lengths.histogram()).filter(|it| !it.is_empty());
    let varied = lengths().filter(|it| it.min() != it.max()).count() as u64;
    if varied == 0 {
        return None;
    }
    let scope = if facts.one_length { Scope::Everything } else { Scope::Nothing };
    let least = grouped(lengths().map(|it| it.min()).min()?);
    let most = grouped(lengths().map(|it| it.max()).max()?);
    let text = match rows {
        [_] => format!("the content length varied from {least} to {most} bytes"),
        _ => format!(
            "the content length varied within {} of operation; all are from {least} to {most} bytes",
            counted(varied, "kind")
        ),
    };
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
    let text = format!(
        "{}: percentiles above p{} are the maximum",
        counted(n, "sample"),
        100 * (n - 1) / n
    );
    finding(FindingKind::FewSamples, Scope::Nothing, text)
}
