//! What a reader of the figures should know beside the validity findings.

use plumb_measure::{HostUse, ResultRecord, RunRecord, counted, show_ns};

use crate::clients;
use crate::figures::{failures_of, share, total};
use crate::parts;
use crate::points::Points;

/// Results named in one note; more are counted.
const NAMED_MAX: usize = 3;
/// Samples that the 99.9th percentile needs to be less than the maximum.
const P999_SAMPLES: u64 = 1_000;

/// Every note that applies, each one or two sentences.
pub(crate) fn of(record: &RunRecord) -> Vec<String> {
    let points = Points::of(record);
    [
        mean_and_median(&points),
        response_and_service(&points),
        few_for_p999(&points),
        near_floor(record, &points),
        left_out(&points),
        failed(&points),
        quiet_closes(&points),
        listed(&points, |result| receiving(result.host.as_ref()?))
            .map(|list| format!("Receiving on the machine that drove the load: {list}.")),
        listed(&points, |result| receiving(result.far.as_ref()?))
            .map(|list| format!("Receiving on the far host: {list}.")),
    ]
    .into_iter()
    .flatten()
    .chain(clients::notes(record))
    .chain(parts::notes(record))
    .collect()
}

/// True when the due time and the send of a result differ, so that its two times must be told apart.
pub(crate) fn waited(result: &ResultRecord) -> bool {
    result.response_ns != result.service_ns
}

/// True when answers of a result came in more than one piece.
pub(crate) fn in_pieces(result: &ResultRecord) -> bool {
    result.first_byte_ns != result.service_ns
}

fn mean_and_median(points: &Points<'_>) -> Option<String> {
    let list = listed(points, |result| {
        let times = result.response_ns.as_ref()?;
        (u128::from(times.mean) * 5 > u128::from(times.p50) * 6)
            .then(|| format!("mean {}, median {}", show_ns(times.mean), show_ns(times.p50)))
    })?;
    Some(format!(
        "Mean and median part ({list}): long times pull the mean up; quote the percentiles."
    ))
}

fn response_and_service(points: &Points<'_>) -> Option<String> {
    points.results.iter().any(|result| waited(result)).then(|| {
        "Response time counts from the moment the work was due, service time from the send; the \
         difference is the wait for a free connection, which a user feels."
            .into()
    })
}

fn few_for_p999(points: &Points<'_>) -> Option<String> {
    let list = listed(points, |result| {
        let count = result.response_ns.as_ref()?.count;
        (count < P999_SAMPLES).then(|| counted(count, "sample"))
    })?;
    Some(format!("p99.9 is the maximum below 1,000 samples ({list})."))
}

fn near_floor(record: &RunRecord, points: &Points<'_>) -> Option<String> {
    let floor = &record.floor.as_ref()?.service_ns;
    let list = listed(points, |result| {
        let median = result.service_ns.as_ref()?.p50;
        (floor.p50.saturating_mul(2) >= median).then(|| share(floor.p50, median))
    })?;
    Some(format!(
        "The tool's own floor, {} at the median, is half or more of the service time ({list}): \
         so much of it is the tool and this kernel, not the target.",
        show_ns(floor.p50)
    ))
}

fn left_out(points: &Points<'_>) -> Option<String> {
    let measured = points.results.iter().filter_map(|result| result.niping.as_ref());
    let most = measured.map(|figures| figures.left_out).max()?;
    (most > 0).then(|| {
        format!(
            "av2 and tr2 leave out {most} samples of each result, one longest and one shortest, as \
             niping does; no other figure leaves out any."
        )
    })
}

fn failed(points: &Points<'_>) -> Option<String> {
    let timed = points.results.iter().any(|result| result.failed_ns.is_some());
    points.results.iter().any(|result| failures_of(result) > 0).then(|| {
        if timed {
            "Failures are counted and never enter a latency; what the figures would be with them \
             stands in a table of its own."
        } else {
            "Failures are counted and never enter a latency, so figures with and without them \
             cannot be compared: every time shown is that of a correct answer."
        }
        .into()
    })
}

fn quiet_closes(points: &Points<'_>) -> Option<String> {
    let closed = total(points.results.iter().map(|result| result.driver.quiet_closes));
    (closed > 0).then(|| {
        format!(
            "The other side ended {} on which it owed no answer. That counts as no failure; one that \
             could not be made again counts as one.",
            counted(closed, "connection")
        )
    })
}

/// What is wrong with the way in which a machine received packets.
fn receiving(host: &HostUse) -> Option<String> {
    let findings = &host.receive.as_ref()?.findings;
    (!findings.is_empty()).then(|| findings.join("; "))
}

/// The results that have such `figures`, with them; `None` without any. One result alone needs no
/// name.
fn listed(
    points: &Points<'_>,
    figures: impl Fn(&ResultRecord) -> Option<String>,
) -> Option<String> {
    if let [only] = points.results[..] {
        return figures(only);
    }
    let found: Vec<String> = points
        .results
        .iter()
        .filter_map(|result| Some(format!("{}: {}", points.name(result), figures(result)?)))
        .collect();
    let mut words = found.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>();
    if found.len() > NAMED_MAX {
        words.push(format!("and {} more", found.len() - NAMED_MAX));
    }
    (!words.is_empty()).then(|| words.join("; "))
}
