//! The figures of two whole runs, against each other.

use plumb_comparison::{Better, BlockFigures, Endpoint, FigureUnit, Role, Verdict};
use plumb_folder::IntervalLog;
use plumb_measure::statistics::{self, Bounded, quotient_interval};
use plumb_measure::{Plan, ResultRecord};

use super::quotient::{Part, answers, mean, median, parts_of, throughput};
use crate::LabError;
use crate::contrast::LEVEL;
use crate::figures::{MEAN, THROUGHPUT};

/// Intervals of a run that are shown at most; of more, the medians of neighbours.
const INTERVALS_MAX: usize = 100;
/// The key of the median response time.
pub(super) const P50: &str = "p50";

/// One result of a run, and the plan and the interval log of the run.
#[derive(Clone, Copy)]
pub(super) struct WholeRun<'a> {
    pub(super) plan: &'a Plan,
    pub(super) log: &'a IntervalLog,
    pub(super) result: &'a ResultRecord,
}

/// A figure of a run.
struct Measured {
    /// That of the whole run.
    whole: f64,
    /// With its interval; `None` where that is not known.
    bounded: Option<Bounded>,
    /// Intervals of time from which that was sought; 0 where none is written down.
    sought_in: usize,
    /// That of each interval, to be shown.
    by_interval: Vec<f64>,
}

/// The figures that both runs have, the first that is `deciding` first.
///
/// # Errors
/// [`LabError::Folder`] and [`LabError::Histogram`] when response times cannot be read.
pub(super) fn endpoints_of(
    runs: [WholeRun<'_>; 2],
    deciding: &[&str],
) -> Result<Vec<Endpoint>, LabError> {
    let time = (P50, "median response time", FigureUnit::Ns, Better::Lower);
    let rate = (THROUGHPUT, "throughput", FigureUnit::PerSecond, Better::Higher);
    let average = (MEAN, "mean response time", FigureUnit::Ns, Better::Lower);
    let client = ("client-cpu", "CPU per operation, client", FigureUnit::Ns, Better::Lower);
    let parts = [runs[0].parts(deciding)?, runs[1].parts(deciding)?];
    let runs_in_parts = [(runs[0], &parts[0][..]), (runs[1], &parts[1][..])];
    let mut endpoints = Vec::new();
    if deciding.contains(&P50) {
        let [baseline, candidate] = runs_in_parts.map(|(run, parts)| run.median(parts));
        endpoints.extend(endpoint_of(time, baseline?, candidate?));
    }
    if deciding.contains(&THROUGHPUT) {
        let [baseline, candidate] = runs_in_parts.map(|(run, parts)| run.throughput(parts));
        endpoints.extend(endpoint_of(rate, Some(baseline), Some(candidate)));
    }
    if deciding.contains(&MEAN) {
        let [baseline, candidate] = runs_in_parts.map(|(run, parts)| run.mean(parts));
        endpoints.extend(endpoint_of(average, baseline, candidate));
    }
    if let Some(first) = endpoints.first_mut() {
        first.role = Role::Primary;
        first.verdict = Some(Verdict::None);
        let [asked, planned] = runs.map(WholeRun::planned_operations);
        if asked.is_some() && asked == planned {
            let total = ("total-time", "total time", FigureUnit::Ns, Better::Lower);
            let [baseline, candidate] = runs.map(WholeRun::total_time);
            endpoints.extend(endpoint_of(total, Some(baseline), Some(candidate)));
        }
        let [baseline, candidate] = runs.map(WholeRun::client_cpu);
        // the price of an answer is none itself
        endpoints.extend(endpoint_of(client, baseline, candidate));
    }
    Ok(endpoints)
}

#[expect(clippy::cast_precision_loss, reason = "figures to compare, to three digits")]
impl WholeRun<'_> {
    /// What the interval log says, where one of the `deciding` figures is known by that; empty where it says
    /// nothing.
    fn parts(self, deciding: &[&str]) -> Result<Vec<Part>, LabError> {
        let Self { log, result, .. } = self;
        // loads that were put together from several clients have their intervals in the log alone
        let of_log = result.stream.is_none() && result.intervals.is_empty();
        match of_log || deciding.contains(&P50) || deciding.contains(&MEAN) {
            true => Ok(parts_of(log, result)?.unwrap_or_default()),
            false => Ok(Vec::new()),
        }
    }

    fn median(self, parts: &[Part]) -> Result<Option<Measured>, LabError> {
        let Some(times) = &self.result.response_ns else { return Ok(None) };
        let whole = times.decode().map_err(LabError::Histogram)?;
        let bounded = median(&whole, times.p50, parts);
        let answered = self.intervals().filter(|interval| interval.operations > 0);
        let by_interval = answered.map(|interval| interval.p50 as f64).collect();
        Ok(Some(Measured { whole: times.p50 as f64, bounded, sought_in: parts.len(), by_interval }))
    }

    fn mean(self, parts: &[Part]) -> Option<Measured> {
        let mean_ns = self.result.response_ns.as_ref()?.mean;
        let bounded = mean(mean_ns, parts);
        Some(Measured { bounded, sought_in: parts.len(), ..Measured::alone(mean_ns as f64) })
    }

    fn throughput(self, parts: &[Part]) -> Measured {
        let result = self.result;
        let answers = answers(result, parts);
        // calls that were looked into are in no interval, and count in every rate
        let timed = result.operations.saturating_sub(result.looked_into()).max(1);
        let all_of_timed = result.operations as f64 / timed as f64;
        let rate = |it: &plumb_measure::Interval| {
            it.operations as f64 * 1e9 / it.duration_ns as f64 * all_of_timed
        };
        let counted = self.intervals().filter(|_| result.operations > 0);
        Measured {
            whole: result.throughput_per_s,
            bounded: throughput(result, &answers),
            sought_in: answers.len(),
            by_interval: counted.map(rate).collect(),
        }
    }

    fn client_cpu(self) -> Option<Measured> {
        Some(Measured::alone(self.result.cpu?.client_ns_per_op as f64))
    }

    /// From the first operation to the last answer.
    fn total_time(self) -> Measured {
        Measured::alone(self.result.duration_ns as f64)
    }

    /// How many operations a plan that says how many, and not for how long, had: all that were answered, failed
    /// or turned away. `None` of another plan, and where the load generator was the limit.
    fn planned_operations(self) -> Option<u64> {
        let Self { plan, result, .. } = self;
        let has_length = plan.options.get("for").is_some_and(|length| !length.is_null());
        let are_done =
            |it: &plumb_measure::ScenarioFigures| it.ended.values().sum::<u64>() == it.begun;
        let users_end =
            !result.scenarios.is_empty() && (!has_length || result.scenarios.iter().all(are_done));
        let is_counted = plan.options.contains_key("count") || users_end;
        let failed: u64 = result.failures.values().sum();
        let all =
            result.operations + failed.saturating_sub(result.connect_failures) + result.refused;
        let is_known = is_counted && plan.load == "closed" && result.stream.is_none();
        Some(all).filter(|all| is_known && *all > 0 && !result.validity.is_driver_limited())
    }

    /// The intervals that are as long as the plan wanted.
    fn intervals(&self) -> impl Iterator<Item = &plumb_measure::Interval> {
        let longest = self.result.intervals.iter().map(|it| it.duration_ns).max().unwrap_or(0);
        self.result.intervals.iter().filter(move |it| it.duration_ns * 2 > longest)
    }
}

impl Measured {
    /// A figure of which nothing but itself is known.
    fn alone(whole: f64) -> Self {
        Self { whole, bounded: None, sought_in: 0, by_interval: Vec::new() }
    }
}

fn endpoint_of(
    what: (&str, &str, FigureUnit, Better),
    baseline: Option<Measured>,
    candidate: Option<Measured>,
) -> Option<Endpoint> {
    let (baseline, candidate) = (baseline?, candidate?);
    let interval = match (candidate.bounded, baseline.bounded) {
        (Some(of), Some(by)) => quotient_interval(of, by, LEVEL),
        _ => None,
    };
    let sought_in = candidate.sought_in.min(baseline.sought_in);
    let shown = [thinned(&baseline.by_interval), thinned(&candidate.by_interval)];
    let blocks = (0..shown[0].len().max(shown[1].len())).map(|at| BlockFigures {
        round: at as u64 + 1,
        baseline: shown[0].get(at).copied(),
        candidate: shown[1].get(at).copied(),
    });
    Some(Endpoint {
        blocks: blocks.collect(),
        ratio: (baseline.whole > 0.0).then(|| candidate.whole / baseline.whole),
        interval,
        intervals_of_time: (sought_in > 0).then_some(sought_in as u64),
        ..Endpoint::described(what, baseline.whole, candidate.whole)
    })
}

/// At most a hundred values: the medians of neighbours.
fn thinned(values: &[f64]) -> Vec<f64> {
    let each = values.len().div_ceil(INTERVALS_MAX).max(1);
    values.chunks(each).filter_map(statistics::median).collect()
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Distribution, Histogram};

    use super::*;
    use crate::fixture;

    fn endpoints(results: [&ResultRecord; 2], deciding: &[&str]) -> Vec<Endpoint> {
        of_plans([&fixture::run("closed", 1, None).plan; 2], results, deciding)
    }

    fn of_plans(
        plans: [&Plan; 2],
        results: [&ResultRecord; 2],
        deciding: &[&str],
    ) -> Vec<Endpoint> {
        let log = &IntervalLog::of("none".as_ref());
        let runs = [0, 1].map(|at| WholeRun { plan: plans[at], log, result: results[at] });
        endpoints_of(runs, deciding).unwrap()
    }

    #[test]
    fn the_time_of_a_number_of_operations_is_shown_where_both_had_that_number() {
        let plan = |load: &str, options: &[(&str, serde_json::Value)]| {
            let mut plan = fixture::run(load, 1, None).plan;
            plan.options = options.iter().map(|(name, it)| ((*name).into(), it.clone())).collect();
            plan
        };
        let result = |right: u64, failed: u64, seconds: u64| ResultRecord {
            failures: [("timeout".to_owned(), failed)].into(),
            duration_ns: seconds * 1_000_000_000,
            ..run(&[right])
        };
        let (quick, slow) = (result(401, 0, 17), result(397, 4, 60));
        let total = |plans: [&Plan; 2], results: [&ResultRecord; 2]| {
            let found = of_plans(plans, results, &[THROUGHPUT]);
            found.into_iter().find(|it| it.key == "total-time").map(|it| (it.role, it.ratio, it.p))
        };
        let counted = plan("closed", &[("count", 401.into())]);
        let found = total([&counted; 2], [&slow, &quick]);
        assert_eq!(found, Some((Role::Described, Some(17.0 / 60.0), None)));
        assert_eq!(total([&counted; 2], [&result(400, 0, 17), &quick]), None);
        let lasting = plan("closed", &[("for", "10s".into())]);
        assert_eq!(total([&lasting; 2], [&slow, &quick]), None, "a time was planned");
        let open = plan("open", &[("count", 401.into())]);
        assert_eq!(total([&open; 2], [&slow, &quick]), None, "the plan sets it");
        let users = |ended: u64| plumb_measure::ScenarioFigures {
            begun: 20,
            ended: [("flights.csv ran dry".to_owned(), ended)].into(),
            ..plumb_measure::ScenarioFigures::default()
        };
        let of_users = |ended| ResultRecord { scenarios: vec![users(ended)], ..quick.clone() };
        let endless = plan("closed", &[("for", serde_json::Value::Null)]);
        assert!(total([&endless; 2], [&of_users(0), &of_users(0)]).is_some());
        assert!(total([&lasting; 2], [&of_users(20), &of_users(20)]).is_some());
        assert_eq!(total([&lasting; 2], [&of_users(19), &of_users(20)]), None);
    }

    /// A run of seconds with so many answers each.
    fn run(operations: &[u64]) -> ResultRecord {
        let all: u64 = operations.iter().sum();
        let interval = |(at, operations): (u64, &u64)| plumb_measure::Interval {
            users: 0,
            start_ns: at * 1_000_000_000,
            duration_ns: 1_000_000_000,
            operations: *operations,
            failures: 0,
            p50: 1_000,
            p99: 1_000,
            max: 1_000,
        };
        ResultRecord {
            operations: all,
            throughput_per_s: f64::from(u32::try_from(all).unwrap()) / 10.0,
            intervals: (0..).zip(operations).map(interval).collect(),
            ..ResultRecord::default()
        }
    }

    fn throughput(candidate: &[u64]) -> Endpoint {
        let found = endpoints([&run(&[1_000; 10]), &run(candidate)], &[P50, THROUGHPUT]);
        found.into_iter().find(|it| it.key == "throughput").unwrap()
    }

    /// Intervals that hold one operation each have medians that say nothing of that of the whole run.
    #[test]
    fn the_change_is_the_quotient_of_both_whole_runs_whatever_single_intervals_are_like() {
        let mixed = |list_ms: u64| {
            let times = [5, list_ms, 500].map(|ms| ms * 1_000_000);
            let mut all = Histogram::new();
            let mut result = run(&[1; 30]);
            for (at, interval) in result.intervals.iter_mut().enumerate() {
                interval.p50 = times[at % 3];
                all.record(interval.p50);
            }
            ResultRecord { response_ns: Distribution::of(&all), ..result }
        };
        let found = endpoints([&mixed(50), &mixed(60)], &[P50]);
        let change = 100.0 * (1.0 - found[0].ratio.unwrap());
        assert!((change + 20.0).abs() < 0.2, "{change}");
        assert_eq!(found[0].ratio, Some(found[0].candidate / found[0].baseline));
        assert_eq!(found[0].interval, None, "there is no interval log");
        // four or five answers in an interval
        let of = |few: u64, every: usize| -> Vec<u64> {
            (0..50).map(|at| if at % every == 0 { few } else { 5 }).collect()
        };
        let (baseline, candidate) = (of(4, 5), of(4, 1));
        let found = &endpoints([&run(&baseline), &run(&candidate)], &[THROUGHPUT])[0];
        let (quotient, interval) = (200.0 / 240.0, found.interval.unwrap());
        assert_eq!(found.ratio, Some(quotient));
        assert!(interval.low < quotient && quotient < interval.high, "{interval:?}");
    }

    #[test]
    fn seconds_without_an_answer_belong_to_the_throughput() {
        let stalled = throughput(&[1_000, 0, 1_000, 0, 1_000, 0, 1_000, 0, 1_000, 1_000]);
        assert_eq!((stalled.candidate, stalled.ratio), (600.0, Some(0.6)));
        let wide = stalled.interval.unwrap();
        assert!(wide.low < 0.5 && wide.high > 0.7, "{wide:?}");
        assert_eq!(stalled.blocks[1].candidate, Some(0.0));
        let slower = throughput(&[500; 10]);
        assert_eq!(slower.ratio, Some(0.5));
        let narrow = slower.interval.unwrap();
        assert!(narrow.low > 0.49 && narrow.high < 0.51, "{narrow:?}");
        let none = throughput(&[0; 10]);
        assert_eq!((none.ratio, none.interval), (Some(0.0), None));
    }

    #[test]
    fn calls_that_were_looked_into_count_in_the_throughput() {
        // of 1,250 and of 2,500 calls so many are in no interval
        let looked_into = |timed: u64, observed: u64| ResultRecord {
            operations: 10 * timed + observed,
            observed,
            throughput_per_s: f64::from(u32::try_from(10 * timed + observed).unwrap()) / 10.0,
            ..run(&[timed; 10])
        };
        let found = endpoints([&looked_into(93, 320), &looked_into(218, 320)], &[THROUGHPUT]);
        assert_eq!((found[0].baseline, found[0].candidate), (125.0, 250.0));
        assert!(found[0].ratio.is_some_and(|it| (it - 2.0).abs() < 1e-9), "{found:?}");
    }
}
