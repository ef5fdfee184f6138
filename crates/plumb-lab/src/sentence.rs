//! The answer in one sentence.

use plumb_measure::{Better, Contrast, Endpoint, Verdict};

/// What a contrast says, primary figure first, processor time behind it.
#[must_use]
pub fn sentence(contrast: &Contrast) -> String {
    let place = match contrast.name() {
        name if name.is_empty() => String::new(),
        name => format!("At {name}: "),
    };
    let Some(primary) = contrast.endpoints.first() else {
        return format!("{place}no figure that both have could be compared.");
    };
    let mut parts = vec![first_part(contrast, primary)];
    for key in ["client-cpu", "server-cpu"] {
        parts.extend(
            contrast
                .endpoints
                .iter()
                .find(|it| it.key == key)
                .filter(|it| it.verdict.is_some())
                .map(second_part),
        );
    }
    format!("{place}{}.", parts.join(", "))
}

fn first_part(contrast: &Contrast, primary: &Endpoint) -> String {
    let (name, place) = (&contrast.candidate, place_of(primary));
    let Some(ratio) = primary.ratio else {
        return format!(
            "{name} cannot be compared with {}: no pair is complete",
            contrast.baseline
        );
    };
    let change = primary.improvement(ratio);
    let interval = interval(primary);
    match primary.verdict {
        Some(Verdict::Better | Verdict::Worse) => {
            format!(
                "{name} is {} {} {place}{interval}",
                percent(change.abs()),
                word(primary, change)
            )
        }
        Some(Verdict::Equivalent) => format!(
            "{name} is equivalent to {} within the margin {place}: {}{interval}",
            contrast.baseline,
            signed(change)
        ),
        Some(Verdict::NoDifferenceShown) => format!(
            "no difference between {name} and {} is shown {place}: {}{interval}",
            contrast.baseline,
            signed(change)
        ),
        Some(Verdict::None) | None => format!(
            "no verdict on {name}: {} {} {place} as measured{interval}",
            percent(change.abs()),
            word(primary, change)
        ),
    }
}

fn second_part(endpoint: &Endpoint) -> String {
    let range = endpoint.improvement_interval().map_or(String::new(), |(low, high)| {
        // more processor time is a plus on paper, though not an improvement
        format!(" ({:+.1}..{:+.1} %)", -high, -low)
    });
    match (endpoint.verdict, endpoint.ratio) {
        (Some(Verdict::Better | Verdict::Worse), Some(ratio)) => {
            format!("{} {}{range}", endpoint.name, signed(100.0 * (ratio - 1.0)))
        }
        (Some(Verdict::Equivalent), _) => format!("{} equivalent{range}", endpoint.name),
        (Some(Verdict::NoDifferenceShown), Some(ratio)) if excludes_one(endpoint) => format!(
            "{} {}{range}, not beyond chance among several tests",
            endpoint.name,
            signed(100.0 * (ratio - 1.0))
        ),
        (Some(Verdict::NoDifferenceShown), _) => {
            format!("no difference shown in {}{range}", endpoint.name)
        }
        _ => format!("no verdict on {}", endpoint.name),
    }
}

fn excludes_one(endpoint: &Endpoint) -> bool {
    endpoint.interval.is_some_and(|interval| interval.low > 1.0 || interval.high < 1.0)
}

fn place_of(endpoint: &Endpoint) -> String {
    match endpoint.key.as_str() {
        "p50" => "at the median".into(),
        "p95" => "at the 95th percentile".into(),
        "figure" => "by its figure".into(),
        _ => format!("in {}", endpoint.name),
    }
}

fn word(endpoint: &Endpoint, change: f64) -> &'static str {
    match (endpoint.key.as_str(), endpoint.better, change > 0.0) {
        ("p50" | "p95" | "mean" | "av2", _, true) => "faster",
        ("p50" | "p95" | "mean" | "av2", _, false) => "slower",
        (_, Better::Higher, true) | (_, Better::Lower, false) => "higher",
        (_, Better::Higher, false) | (_, Better::Lower, true) => "lower",
    }
}

/// ` (95.75 % interval 14.1..15.5)`, in the direction of the words before it.
fn interval(endpoint: &Endpoint) -> String {
    let (Some((low, high)), Some(interval), Some(ratio)) =
        (endpoint.improvement_interval(), endpoint.interval, endpoint.ratio)
    else {
        return String::new();
    };
    let decided = matches!(endpoint.verdict, Some(Verdict::Better | Verdict::Worse));
    let level = 100.0 * interval.level;
    if decided && endpoint.improvement(ratio) < 0.0 {
        format!(" ({level:.2} % interval {:.1}..{:.1})", -high, -low)
    } else if decided {
        format!(" ({level:.2} % interval {low:.1}..{high:.1})")
    } else {
        format!(" ({level:.2} % interval {low:+.1}..{high:+.1} %, plus is better)")
    }
}

fn percent(value: f64) -> String {
    if value < 0.095 { format!("{value:.2} %") } else { format!("{value:.1} %") }
}

fn signed(value: f64) -> String {
    if value.abs() < 0.095 { format!("{value:+.2} %") } else { format!("{value:+.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::statistics::Interval;
    use plumb_measure::{Checks, FigureUnit, Role};

    fn endpoint(key: &str, ratio: f64, low: f64, high: f64, verdict: Verdict) -> Endpoint {
        Endpoint {
            key: key.into(),
            name: match key {
                "p50" => "median response time",
                "throughput" => "throughput",
                _ => "CPU per operation",
            }
            .into(),
            unit: FigureUnit::Ns,
            better: if key == "throughput" { Better::Higher } else { Better::Lower },
            role: Role::Primary,
            baseline: 1.0,
            candidate: ratio,
            blocks: Vec::new(),
            ratio: Some(ratio),
            interval: Some(Interval { low, high, level: 0.9575 }),
            p: Some(0.001),
            p_adjusted: Some(0.001),
            verdict: Some(verdict),
        }
    }

    fn of(endpoints: Vec<Endpoint>) -> String {
        sentence(&Contrast {
            baseline: "baseline".into(),
            candidate: "candidate".into(),
            labels: std::collections::BTreeMap::new(),
            sentence: String::new(),
            endpoints,
            checks: Checks::default(),
            tails: Vec::new(),
        })
    }

    #[test]
    fn faster_is_said_with_the_true_level_and_the_price_behind_it() {
        let time = endpoint("p50", 0.852, 0.845, 0.859, Verdict::Better);
        let cpu = endpoint("client-cpu", 1.001, 0.996, 1.006, Verdict::NoDifferenceShown);
        assert_eq!(
            of(vec![time, cpu]),
            "candidate is 14.8 % faster at the median (95.75 % interval 14.1..15.5), no difference \
             shown in CPU per operation (-0.4..+0.6 %)."
        );
    }

    #[test]
    fn slower_and_lower_throughput_are_counted_from_the_baseline() {
        let time = endpoint("p50", 1.052, 1.05, 1.054, Verdict::Worse);
        assert_eq!(
            of(vec![time]),
            "candidate is 5.2 % slower at the median (95.75 % interval 5.0..5.4)."
        );
        let rate = endpoint("throughput", 0.9, 0.88, 0.92, Verdict::Worse);
        assert_eq!(
            of(vec![rate]),
            "candidate is 10.0 % lower in throughput (95.75 % interval 8.0..12.0)."
        );
    }

    #[test]
    fn no_difference_is_not_called_equal() {
        let time = endpoint("p50", 0.999, 0.98, 1.02, Verdict::NoDifferenceShown);
        assert_eq!(
            of(vec![time]),
            "no difference between candidate and baseline is shown at the median: +0.1 % (95.75 % \
             interval -2.0..+2.0 %, plus is better)."
        );
    }
}
