//! When requests are due: as many in each part of the time as the log has there.

use plumb_measure::{RateOrNone, Span, counted};
use plumb_scenario::file::Stage;

/// Parts of the time of a log at most.
const PARTS_MAX: i128 = 1_000;
/// A part of the time at least: most logs tell no more than the second.
const PART_NS: i128 = 1_000_000_000;
const DAY_S: f64 = 86_400.0;
/// A step from one rate to another takes so long.
const STEP_NS: u64 = 1_000_000;

/// The rates at which requests at `times` (nanoseconds, in order) are due again, `speed` times as fast.
/// Together they are as many as the log has.
///
/// # Errors
/// In words, when they come too fast for a rate, or one rate would hold for longer than a year.
pub(super) fn stages(times: &[i128], speed: f64) -> Result<Vec<Stage>, String> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(Vec::new()) };
    let span_ns = last - first + PART_NS;
    let parts = (span_ns / PART_NS).clamp(1, PARTS_MAX);
    let part_ns = span_ns / parts + i128::from(span_ns % parts > 0);
    let mut counts = vec![0_u32; usize::try_from(parts).unwrap_or(1)];
    for at in times {
        let number = usize::try_from((at - first) / part_ns).unwrap_or(0);
        let number = number.min(counts.len() - 1);
        counts[number] += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a part is far below 2^53 ns")]
    let part_s = part_ns as f64 / 1e9 / speed;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most so many days as a number holds"
    )]
    let long = || {
        let days = counted((span_ns as f64 / 1e9 / speed / DAY_S) as u64, "day");
        format!(
            "it goes over {days} at a speed of {speed}, and one rate would hold for longer than a year: \
             look whether the dates of all lines are right, cut the log, or play it faster, with --speed"
        )
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is longer than a year is refused"
    )]
    let over_ns = ((part_s * 1e9).round() as u64).max(2 * STEP_NS);
    if over_ns > Span::LONGEST_NS {
        return Err(long());
    }
    let mut stages: Vec<Stage> = Vec::new();
    let mut before = None;
    for count in counts {
        if before == Some(count) {
            // it goes on as before
            if let Some(stage) = stages.last_mut() {
                stage.over = Span::from_ns(stage.over.ns() + over_ns);
                if stage.over.ns() > Span::LONGEST_NS {
                    return Err(long());
                }
            }
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a part")]
        let text = format!("{}/s", f64::from(count) / (over_ns as f64 / 1e9));
        let rate: RateOrNone = text.parse().map_err(|error| {
            format!("{count} requests in {part_s} s: {error}; play it slower, with --speed")
        })?;
        let rate = Some(rate);
        stages.push(Stage { over: Span::from_ns(STEP_NS), users: None, rate });
        stages.push(Stage { over: Span::from_ns(over_ns - STEP_NS), users: None, rate });
        before = Some(count);
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Requests that are due by `stages`, and milliseconds that they take.
    fn due(stages: &[Stage]) -> (f64, u64) {
        let mut before = 0.0;
        let mut sum = 0.0;
        for stage in stages {
            let rate = stage.rate.map_or(0.0, RateOrNone::per_s);
            #[expect(clippy::cast_precision_loss, reason = "test")]
            let over_s = stage.over.ns() as f64 / 1e9;
            sum += (before + rate) / 2.0 * over_s;
            before = rate;
        }
        (sum, stages.iter().map(|stage| stage.over.ns() / 1_000_000).sum())
    }

    fn at(seconds: &[i128]) -> Vec<i128> {
        seconds.iter().map(|second| (1_795_227_399 + second) * PART_NS).collect()
    }

    #[test]
    fn each_second_has_its_requests() {
        let stages = stages(&at(&[0, 0, 0, 0, 1, 1, 4]), 1.0).unwrap();
        let rates: Vec<_> =
            stages.iter().filter_map(|it| it.rate).map(|it| it.to_string()).collect();
        assert_eq!(rates, ["4/s", "4/s", "2/s", "2/s", "0/s", "0/s", "1/s", "1/s"]);
        assert_eq!(due(&stages).1, 5_000);
        assert!((due(&stages).0 - 7.0).abs() < 0.01);
    }

    #[test]
    fn it_may_go_faster() {
        let stages = stages(&at(&[0, 1, 2, 3]), 10.0).unwrap();
        assert_eq!(due(&stages).1, 400);
        assert_eq!(stages[0].rate.unwrap().to_string(), "10/s");
    }

    #[test]
    fn a_long_log_has_coarser_parts() {
        let times: Vec<i128> = (0..86_400).collect();
        let stages = stages(&at(&times), 1.0).unwrap();
        assert!(stages.len() <= 2_000, "{}", stages.len());
        assert!((due(&stages).0 - 86_400.0).abs() < 1.0);
    }

    #[test]
    fn what_would_last_for_more_than_a_year_is_refused() {
        const DAY: i128 = 86_400;
        let unset = stages(&at(&[0, 20_783 * DAY, 20_783 * DAY + 1]), 1.0).unwrap_err();
        assert!(unset.starts_with("it goes over 20,783 days at a speed of 1, and one"), "{unset}");
        let slow = stages(&at(&[0, 10 * 3_600]), 0.001).unwrap_err();
        assert!(slow.starts_with("it goes over 416 days at a speed of 0.001, and one"), "{slow}");
        assert!(stages(&at(&[0, 20_783 * DAY]), 0.001).is_err(), "a part of 57 years");
        for stage in stages(&at(&[0, 366 * DAY]), 1.0).unwrap() {
            assert_eq!(stage.over.to_string().parse(), Ok(stage.over));
        }
    }

    proptest! {
        #[test]
        fn as_many_are_due_as_the_log_has(seconds in prop::collection::vec(0i128..100_000, 1..200), speed in 0.1..50.0f64) {
            let mut seconds = seconds;
            seconds.sort_unstable();
            let stages = stages(&at(&seconds), speed).unwrap();
            #[expect(clippy::cast_precision_loss, reason = "test")]
            let count = seconds.len() as f64;
            prop_assert!((due(&stages).0 - count).abs() < 0.5, "{} of {}", due(&stages).0, count);
        }
    }
}
