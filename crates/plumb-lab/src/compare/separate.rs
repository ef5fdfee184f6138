//! From separate runs to a comparison.

use std::path::PathBuf;

use plumb_comparison::{
    COMPARISON_SCHEMA, Checks, Comparison, Contrast, Design, LowerBound, Variant,
};
use plumb_folder::IntervalLog;
use plumb_measure::{AcceptedLoad, Program, RunRecord, Scope, Validity};

use super::differences::{differences, same_kind, shared};
use super::points::{Labels, common, common_labels, in_order};
use super::whole_run::{P50, WholeRun, endpoints_of};
use crate::driver::drivers_warning;
use crate::figures::{MEAN, THROUGHPUT};
use crate::sentence::{Around, sentence};
use crate::tick::{TickOf, same_tick};
use crate::{Admission, Faults, LabError};

/// Points that are named at most where response times are left out.
const PLACES_MAX: usize = 5;
/// What separate runs cannot exclude.
const SEPARATE: &str = "The runs were not interleaved: whatever changed on the machine, the network \
     or the target between them is part of the difference, and no statistics can take it out. In \
     simulation this design called identical systems different in three of four cases and more. \
     Measure both in turns with `plumb ab` before you conclude anything.";

/// A run that was not interleaved with the others.
#[derive(Clone, Debug)]
pub struct SeparateRun {
    /// As the user named it.
    pub name: String,
    /// Its record.
    pub record: RunRecord,
    /// Its folder, where its interval log lies, or its record there.
    pub folder: PathBuf,
}

/// Compares runs that were taken one after another; the first is the baseline. The quotients of the
/// figures of whole runs are given, with intervals where the runs are long enough; verdicts are not.
///
/// # Errors
/// [`LabError::Folder`] for an interval log that cannot be read, [`LabError::Histogram`] for response
/// times that cannot;
/// [`LabError::Mismatch`] for runs of different kinds, [`LabError::Invalid`] for one that is not
/// valid and [`LabError::Unchecked`] for one that was not checked, unless `faults` accepts it.
pub fn separate(
    plumb: &Program,
    compared: String,
    runs: &[SeparateRun],
    faults: Faults,
) -> Result<Comparison, LabError> {
    same_tick(runs.iter().map(|run| TickOf::of(&run.name, "", &run.record)))?;
    let mut warnings = vec![SEPARATE.to_owned()];
    for run in runs {
        same_kind((&runs[0].name, &runs[0].record), (&run.name, &run.record))?;
        warnings.extend(admitted(run, faults)?);
        warnings.extend(times_left_out(run));
    }
    warnings.extend(drivers_warning(runs.iter().map(|run| &run.record)));
    let accepted_load = AcceptedLoad::of(runs.iter().map(|run| &run.record));
    let mut contrasts = Vec::new();
    let baseline = Logged::of(&runs[0]);
    for candidate in &runs[1..] {
        let (of_one, told) = contrasts_of(&baseline, &Logged::of(candidate), accepted_load)?;
        contrasts.extend(of_one);
        warnings.extend(told);
    }
    let records: Vec<&RunRecord> = runs.iter().map(|run| &run.record).collect();
    let samples: Vec<Option<&RunRecord>> = records.iter().copied().map(Some).collect();
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.into(),
        plumb: plumb.clone(),
        compared,
        design: Design::separate(),
        variants: runs
            .iter()
            .map(|run| Variant {
                name: run.name.clone(),
                command: run.record.plan.command.join(" "),
                same_as_baseline: false,
                blocks: 1,
                left_out: Vec::new(),
            })
            .collect(),
        differences: differences(&samples),
        shared: shared(&records),
        accepted_load,
        warnings,
        contrasts,
    })
}

/// Why the figures of `scope` may not be used; `None` when they may.
fn reason(validity: &Validity, scope: Scope) -> Option<String> {
    let found = validity.reasons.iter().find(|it| it.scope == scope);
    found.map(|found| found.text.clone())
}

/// What is said of a run with points whose response times say nothing, and that keep their other
/// figures.
fn times_left_out(run: &SeparateRun) -> Option<String> {
    let results = &run.record.results;
    let left_out: Vec<(String, String)> = results
        .iter()
        .filter_map(|it| Some((it.name(), reason(&it.validity, Scope::Latency)?)))
        .collect();
    let name = &run.name;
    let (first, why) = left_out.first()?;
    // memory that was swapped leaves a throughput that is one
    let bound = match results.iter().any(|it| it.validity.is_driver_limited()) {
        true => " Where the load generator was the limit, throughput is a lower bound.",
        false => "",
    };
    if left_out.len() == results.len() {
        return Some(format!(
            "Response times of {name} may not be used ({why}) and are left out.{bound}"
        ));
    }
    let places: Vec<&str> = left_out.iter().take(PLACES_MAX).map(|it| it.0.as_str()).collect();
    let further = match left_out.len() - places.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(format!(
        "Response times of {name} may not be used at {} of {} points ({}{further}) and are left out \
         there; at {first}: {why}.{bound}",
        left_out.len(),
        results.len(),
        places.join("; "),
    ))
}

/// What is said of a run that is compared although its figures may not be used as they are.
fn admitted(run: &SeparateRun, faults: Faults) -> Result<Option<String>, LabError> {
    let reason = |scope| reason(&run.record.validity, scope);
    let name = run.name.clone();
    if let Some(reason) = reason(Scope::Everything) {
        return match faults.invalid {
            Admission::Refuse => Err(LabError::Invalid { name, reason }),
            Admission::Accept => Ok(Some(format!(
                "{name} is not valid ({reason}) and is compared all the same, as asked \
                 (--accept-invalid)."
            ))),
        };
    }
    match (reason(Scope::Unchecked), faults.unchecked) {
        (None, _) => Ok(None),
        (Some(reason), Admission::Refuse) => Err(LabError::Unchecked { name, reason }),
        (Some(reason), Admission::Accept) => Ok(Some(format!(
            "The validity of {name} is not checked ({reason}), and it is compared all the same, as \
             asked (--accept-unchecked)."
        ))),
    }
}

/// A run with its interval log.
struct Logged<'a> {
    run: &'a SeparateRun,
    log: IntervalLog,
}

impl<'a> Logged<'a> {
    fn of(run: &'a SeparateRun) -> Self {
        let folder = run.folder.as_path();
        // beside the record, where that was named
        let folder = if folder.is_file() { folder.parent().unwrap_or(folder) } else { folder };
        Self { run, log: IntervalLog::of(folder) }
    }

    fn whole(&self, at: usize) -> WholeRun<'_> {
        let record = &self.run.record;
        WholeRun { plan: &record.plan, log: &self.log, result: &record.results[at] }
    }
}

/// The contrasts of the points that both have, and in words which other ones there are.
fn contrasts_of(
    baseline: &Logged<'_>,
    candidate: &Logged<'_>,
    accepted_load: Option<AcceptedLoad>,
) -> Result<(Vec<Contrast>, Vec<String>), LabError> {
    let labels = |of: &Logged<'_>| in_order(of.run.record.results.iter().map(|it| &it.labels));
    let (of_baseline, of_candidate) = (labels(baseline), labels(candidate));
    let result = |of: &Logged<'_>, labels: &Labels| {
        of.run.record.results.iter().position(|result| result.labels == *labels)
    };
    let (points, told) =
        common((&baseline.run.name, &of_baseline), (&candidate.run.name, &of_candidate))?;
    let together: Vec<(usize, usize)> = points
        .into_iter()
        .filter_map(|(one, other)| Some((result(baseline, &one)?, result(candidate, &other)?)))
        .collect();
    let contrasts = together.into_iter();
    let of = |(one, other)| contrast_of((baseline, one), (candidate, other), accepted_load);
    Ok((contrasts.map(of).collect::<Result<_, _>>()?, told))
}

/// A run, and the place of one of its results.
type Placed<'a> = (&'a Logged<'a>, usize);

fn contrast_of(
    (baseline, one): Placed<'_>,
    (candidate, other): Placed<'_>,
    accepted_load: Option<AcceptedLoad>,
) -> Result<Contrast, LabError> {
    let runs = [baseline.whole(one), candidate.whole(other)];
    let results = runs.map(|run| run.result);
    let (baseline, candidate) = (baseline.run, candidate.run);
    // both are of one kind; of a stream at a rate the throughput is what arrived
    let open = baseline.record.plan.load == "open" && results.iter().all(|it| it.stream.is_none());
    let timed = results.iter().all(|it| reason(&it.validity, Scope::Latency).is_none());
    // the plan sets the throughput of an open load: the same figure of both says nothing; and where users
    // think between two steps, what these take is a small part of it
    let thinks = results.iter().any(|it| !it.scenarios.is_empty());
    let mean = timed && (open || thinks);
    let deciding = [timed.then_some(P50), (!open).then_some(THROUGHPUT), mean.then_some(MEAN)];
    let deciding: Vec<&str> = deciding.into_iter().flatten().collect();
    let mut endpoints = endpoints_of(runs, &deciding)?;
    let [by, of] = results.map(|it| it.validity.is_driver_limited());
    for rate in endpoints.iter_mut().filter(|it| it.key == THROUGHPUT) {
        rate.lower_bound = LowerBound::of(by, of);
    }
    let mut contrast = Contrast {
        baseline: baseline.name.clone(),
        candidate: candidate.name.clone(),
        labels: common_labels(&results[0].labels, &results[1].labels),
        same_treatment: false,
        sentence: String::new(),
        endpoints,
        checks: Checks::default(),
        tails: Vec::new(),
    };
    let trouble = (open && !timed)
        .then(|| "response times may not be used, and the plan sets the rate".to_owned());
    contrast.sentence = sentence(&contrast, &Around { tests: None, trouble, accepted_load });
    Ok(contrast)
}

#[cfg(test)]
mod tests {
    use plumb_measure::{FindingKind, ResultRecord};

    use super::*;
    use crate::fixture;

    /// A run of 10 ms against one of 1 ms under `load`, in which something was `found`.
    fn slower(load: &str, found: Option<(FindingKind, Scope)>, faults: Faults) -> Comparison {
        let run =
            |name: &str, record| SeparateRun { name: name.into(), record, folder: PathBuf::new() };
        let runs = [
            run("a", fixture::run(load, 1_000_000, None)),
            run("b", fixture::run(load, 10_000_000, found)),
        ];
        separate(&fixture::plumb(), "now".into(), &runs, faults).unwrap()
    }

    #[test]
    fn a_limit_that_was_raised_for_one_of_them_stands_under_all() {
        let run = |name: &str, limit: Option<&str>, took: Option<f64>| {
            let mut record = fixture::run("closed", 1_000_000, None);
            record.validity.foreign_limit = limit.map(|share| plumb_measure::ForeignLimit {
                share: share.parse().unwrap(),
                source: plumb_measure::LimitSource::Environment,
            });
            record.results[0].host =
                Some(plumb_measure::HostUse { foreign_pct: took, ..Default::default() });
            SeparateRun { name: name.into(), record, folder: PathBuf::new() }
        };
        let compared = |runs: &[SeparateRun]| {
            separate(&fixture::plumb(), "now".into(), runs, Faults::default()).unwrap()
        };
        let found = compared(&[
            run("a", Some("5%"), Some(2.0)),
            run("b", Some("40%"), Some(30.0)),
            run("c", Some("100%"), Some(84.0)),
        ]);
        let accepted = found.accepted_load.unwrap();
        assert_eq!((accepted.limit.percent(), accepted.most_pct), (100.0, Some(84.0)));
        let end = "; limit of foreign load raised to 100 %, others took up to 84.0 %.";
        assert!(found.contrasts.iter().all(|it| it.sentence.ends_with(end)), "{found:?}");
        let text = found.to_json();
        assert_eq!(Comparison::from_json(&text).unwrap().accepted_load, Some(accepted));
        let usual = compared(&[run("a", Some("5%"), Some(2.0)), run("b", None, Some(1.0))]);
        assert_eq!(usual.accepted_load, None);
        assert!(!usual.contrasts[0].sentence.contains("raised"), "{usual:?}");

        let took = |runs: &[SeparateRun]| {
            let found = compared(runs);
            let words = found.accepted_load.unwrap().words();
            assert_eq!(Comparison::from_json(&found.to_json()).unwrap(), found);
            words.rsplit_once(", ").unwrap().1.to_owned()
        };
        let usual = run("a", Some("5%"), Some(2.0));
        let unwatched = run("b", Some("100%"), None);
        let runs = [usual.clone(), unwatched];
        assert_eq!(took(&runs), "what others took is not known", "2 % were of the other run");
        let [usual, unwatched] = runs;
        let some = [run("c", Some("100%"), Some(84.0)), unwatched];
        assert_eq!(took(&some), "others took up to 84.0 % where that is known");
        let [_, mut remote] = some;
        remote.record.plan.options.insert("remotes".into(), "a:7878".into());
        let each = "what others took is in the record of each remote (remotes/NAME.json)";
        assert_eq!(took(&[usual, remote]), each);
    }

    fn keys(compared: &Comparison) -> Vec<&str> {
        compared.contrasts[0].endpoints.iter().map(|it| it.key.as_str()).collect()
    }

    const PAGED: Option<(FindingKind, Scope)> = Some((FindingKind::Paging, Scope::Latency));

    #[test]
    fn the_throughput_of_a_run_whose_load_generator_was_the_limit_is_a_lower_bound() {
        let bound = |found| {
            let compared = slower("closed", found, Faults::default());
            assert_eq!(Comparison::from_json(&compared.to_json()).unwrap(), compared);
            let said = compared.warnings.iter().any(|it| it.contains("lower bound"));
            (compared.contrasts[0].endpoints[0].lower_bound, said)
        };
        assert_eq!(bound(Some(fixture::LIMITED)), (Some(LowerBound::Candidate), true));
        assert_eq!(bound(PAGED), (None, false), "what was swapped bounds no rate");
    }

    #[test]
    fn a_throughput_that_the_plan_sets_decides_nothing() {
        let none = Faults::default();
        assert_eq!(keys(&slower("open", None, none)), ["p50", "mean", "client-cpu"]);
        assert_eq!(keys(&slower("closed", None, none)), ["p50", "throughput", "client-cpu"]);
        assert_eq!(keys(&slower("closed", PAGED, none)), ["throughput", "client-cpu"]);
        // processor time does not step in for response times that may not be used
        let paged = slower("open", PAGED, none);
        assert_eq!(keys(&paged), [""; 0]);
        let left_out = "Response times of b may not be used (found) and are left out.";
        assert!(paged.warnings.iter().any(|it| it == left_out), "{:?}", paged.warnings);
        let said = &paged.contrasts[0].sentence;
        assert!(said.contains("and the plan sets the rate: b cannot be compared with a"), "{said}");
    }

    #[test]
    fn a_stream_of_datagrams_is_compared_by_what_arrived() {
        let stream = |name: &str, throughput_per_s| {
            let mut record = fixture::run("open", 1_000_000, None);
            let result = &mut record.results[0];
            result.response_ns = None;
            result.throughput_per_s = throughput_per_s;
            result.stream = Some(plumb_measure::StreamFigures::default());
            SeparateRun { name: name.into(), record, folder: PathBuf::new() }
        };
        let runs = [stream("a", 100.0), stream("b", 70.0)];
        let compared = separate(&fixture::plumb(), "now".into(), &runs, Faults::default()).unwrap();
        assert_eq!(keys(&compared), ["throughput", "client-cpu"]);
        let primary = &compared.contrasts[0].endpoints[0];
        assert_eq!((primary.ratio, primary.interval), (Some(0.7), None));
        assert_eq!(primary.intervals_of_time, None, "none is written down");
    }

    #[test]
    fn a_stream_is_compared_with_an_interval_from_its_own_intervals() {
        let compared = |count: u64| {
            let portion = Some(plumb_measure::Portion { bytes: 1_000, duration_ns: 1, lost: None });
            let interval = |start_ns| plumb_measure::StreamInterval {
                start_ns,
                to_server: portion,
                from_server: None,
            };
            let stream = |name: &str, throughput_per_s| {
                let mut record = fixture::run("closed", 1_000_000, None);
                let result = &mut record.results[0];
                result.response_ns = None;
                result.throughput_per_s = throughput_per_s;
                let intervals = (0..count).map(interval).collect();
                let figures = plumb_measure::StreamFigures { intervals, ..Default::default() };
                result.stream = Some(figures);
                SeparateRun { name: name.into(), record, folder: PathBuf::new() }
            };
            let runs = [stream("a", 100.0), stream("b", 89.0)];
            separate(&fixture::plumb(), "now".into(), &runs, Faults::default()).unwrap()
        };
        let known = &compared(50).contrasts[0].endpoints[0];
        let interval = known.interval.unwrap();
        assert!(interval.low < 0.89 && 0.89 < interval.high, "{interval:?}");
        let short = &compared(9).contrasts[0].endpoints[0];
        assert_eq!((short.interval, short.intervals_of_time), (None, Some(9)));
    }

    #[test]
    fn times_are_said_to_be_left_out_at_the_points_where_they_are() {
        let (kind, scope) = fixture::LIMITED;
        let left_out = |limited: &[bool]| {
            let mut record = fixture::run("closed", 1_000_000, None);
            let result = record.results.remove(0);
            record.results = (1..)
                .zip(limited)
                .map(|(connections, limited)| {
                    let text = format!("the limit at {connections}");
                    let found = limited.then_some(plumb_measure::Finding { kind, scope, text });
                    let labels = [("connections".to_owned(), connections.to_string())];
                    ResultRecord {
                        labels: labels.into(),
                        validity: Validity::of(found),
                        ..result.clone()
                    }
                })
                .collect();
            let of_all = record.results.iter().map(|it| (it.name(), &it.validity));
            let of_all: Vec<(String, &Validity)> = of_all.collect();
            record.validity = Validity::of_all(of_all.iter().map(|it| (it.0.as_str(), it.1)));
            times_left_out(&SeparateRun { name: "b".into(), record, folder: PathBuf::new() })
        };
        assert_eq!(left_out(&[false; 3]), None);
        let all = "Response times of b may not be used (the limit at 1) and are left out. Where the \
                   load generator was the limit, throughput is a lower bound.";
        assert_eq!(left_out(&[true; 3]).as_deref(), Some(all));
        let some = "Response times of b may not be used at 2 of 3 points (connections 2; connections \
                    3) and are left out there; at connections 2: the limit at 2. Where the load \
                    generator was the limit, throughput is a lower bound.";
        assert_eq!(left_out(&[false, true, true]).as_deref(), Some(some));
        let mut many = [true; 8];
        many[0] = false;
        let many = left_out(&many).unwrap();
        assert!(many.contains("7 of 8") && many.contains("connections 6; and 2 more)"), "{many}");
    }

    #[test]
    fn what_is_accepted_is_compared_by_its_response_times() {
        let accepted = Faults { unchecked: Admission::Accept, invalid: Admission::Accept };
        let unchecked = Some((FindingKind::ForeignLoad, Scope::Unchecked));
        let failed = Some((FindingKind::Failures, Scope::Everything));
        for found in [unchecked, failed] {
            assert_eq!(keys(&slower("open", found, accepted)), ["p50", "mean", "client-cpu"]);
        }
        assert_eq!(keys(&slower("open", PAGED, accepted)), [""; 0], "that says nothing still");
    }
}
