//! What a sizing says, in words and tables.

use crate::page::{Head, Outcome, Page};
use plumb_measure::statistics::Bounded;
use plumb_measure::{counted, real, show_rate};
use plumb_size::analysis::{Figure, Tail};
use plumb_size::ladder::{Step, counted_users};
use plumb_size::model::{INSIDE, OUTSIDE, Setup};
use plumb_size::sizing::{Answer, DRAWS_ENLARGED, Need, RANGE_MAX, Sizing};

use crate::declared::Repeated;
use crate::figures::{
    GIB, between, gibibytes, mebibytes, plain, target_words, time, times, who_think, whole,
};
use crate::{Offered, Report, apart, changed, charts, next, sales};

/// Processors that are busy without any load from which on they are told of.
const REST_TOLD: f64 = 0.01;
/// Times as far above the mean as the model's that a p95 is told to lie, at most.
const FACTOR_TOLD_MAX: f64 = 10.0;

/// The one sentence that answers, or says why not.
pub(crate) fn sentence(sizing: &Sizing) -> String {
    let Some(answer) = &sizing.answer else {
        return refused(sizing.refusals.first().map_or("", String::as_str));
    };
    let users = sizing.question.users;
    let base = format!(
        "{} {} {} operations a second at a p95 of {} and a mean of {} on what was measured",
        who_think(users, answer.think_s),
        if users == 1 { "gets" } else { "get" },
        between(answer.throughput_per_s),
        times(answer.p95_s),
        times(answer.mean_s),
    );
    match (sizing.question.target, &answer.users_within) {
        (Some(target), Some(within)) => {
            let largest = largest(*within, sizing.users_max());
            let (kept, missed) = (apart::kept(sizing), apart::missed(sizing));
            format!("{base}; {largest} ({}){kept}{missed}.", target_words(target))
        }
        _ => format!("{base}{}.", apart::missed(sizing)),
    }
}

/// That nothing is answered, and why.
fn refused(why: &str) -> String {
    format!("Not answered: {why}.")
}

/// How many users the target holds, of at most `most` of whom anything is said.
fn largest(within: Bounded, most: f64) -> String {
    const END: &str = "the end of what may be said from this ladder";
    let Bounded { value, low, high } = within;
    if high < 1.0 {
        return "not even one user is within the target".into();
    }
    if value + 1.0 <= most {
        return format!("the target holds up to {} users", whole(within));
    }
    let least = counted_users(low.floor());
    if low + 1.0 > most {
        return format!("the target holds up to at least {least}, {END}");
    }
    format!(
        "the target holds up to at least {least}, by the model up to {:.0}, {END}",
        value.floor()
    )
}

/// Everything, on one page.
pub(crate) fn page(report: &Report) -> Page {
    let sizing = &report.sizing;
    let mut page = Page::new(Head {
        target: report.runs.target.clone(),
        about: format!("machine under test: {}", report.runs.machine),
        outcome: outcome(sizing),
        command: report.command.clone(),
        foot: format!("plumb {}, {}", report.runs.version, report.schema),
    });
    page.sentence(&report.sentence);
    for refusal in sizing.refusals.iter().skip(1) {
        page.sentence(format!("Also: {refusal}."));
    }
    if sizing.answer.is_some() && is_falsified(sizing) {
        page.sentence(
            "The highest step was measured outside the interval that the others predict for it: the \
             intervals of this answer are not confirmed.",
        );
    }
    if let Some(recorded) = &report.runs.recorded {
        page.sentence(recorded.words());
    }
    page.figures(charts::figures(sizing));
    page.charts(charts::charts(sizing));
    page.title("How sure that is");
    checks(&mut page, sizing);
    report.runs.repeated.iter().for_each(|it| page.sentence(it.words()));
    if let Some(answer) = &sizing.answer {
        needs(&mut page, answer, report.offered);
        memory(&mut page, sizing, answer);
        next::bottlenecks(&mut page, sizing, answer);
        next::sensitivity(&mut page, sizing, answer);
    }
    if let Some(saps_like) = &report.saps_like {
        sales::said(&mut page, saps_like);
    }
    if let Some(asked) = &report.what_if_asked {
        let drifted = report.runs.repeated.iter().find_map(Repeated::refusal);
        let why = drifted.as_deref().map(refused);
        changed::page(&mut page, asked, report.what_if.as_ref(), why, sizing.model.tail.factor);
    }
    ladder(&mut page, report);
    demands(&mut page, sizing);
    page
}

/// True when the step that was held out lies outside of what was predicted for it.
fn is_falsified(sizing: &Sizing) -> bool {
    sizing.held_out.as_ref().is_some_and(|it| {
        let mean = sizing.question.target.is_some_and(|target| target.figure == Figure::Mean);
        let time = if mean { it.mean_s } else { it.p95_s };
        !(time.held && it.throughput_per_s.held)
    })
}

fn outcome(sizing: &Sizing) -> Outcome {
    let Some(answer) = &sizing.answer else { return Outcome::Refused };
    let asked = f64::from(sizing.question.users);
    let is_doubted = is_falsified(sizing) || !sizing.apart.is_empty();
    match answer.users_within {
        Some(within) if within.value >= asked && !is_doubted => Outcome::Kept,
        _ => Outcome::Answered,
    }
}

/// Knee, and the step that was held out.
fn checks(page: &mut Page, sizing: &Sizing) {
    let knee = &sizing.knee;
    let highest = sizing.ladder.highest().users;
    if !knee.explained {
        page.sentence("Where the knee of the ladder lies is not known: the model that would say does not follow it.");
    } else if let Some(failed) = sizing.ladder.failed().filter(|_| knee.behind_failures) {
        page.sentence(format!(
            "The ladder shows no knee up to {highest:.0} users, and none is named behind them: with {:.0} \
             users {}, of which the model knows nothing.",
            failed.users, failed.what,
        ));
    } else if knee.shown {
        page.sentence(format!(
            "The knee of the ladder lies at {} users: {} is full first, at {} operations a second.",
            whole(knee.users),
            knee.bottleneck,
            between(knee.limit_per_s),
        ));
    } else {
        page.sentence(format!(
            "The ladder shows no knee up to {}. The model puts it at {} users, where {} would be full; \
             that was not measured.",
            counted_users(highest),
            whole(knee.users),
            knee.bottleneck,
        ));
    }
    match &sizing.held_out {
        Some(step) => page.sentence(format!(
            "Predicted from the other steps, the step of {} has {}.",
            counted_users(step.users),
            apart::figures(step),
        )),
        None => page.sentence(
            "The highest step could not be held out: too few steps are left without it, so nothing \
             checks the prediction.",
        ),
    }
    apart::steps(page, sizing);
    if let Some(law) = &sizing.scalability {
        let reach = sizing.reach_users();
        let peak = law.peak_users().filter(|peak| *peak <= reach);
        let peak = peak.map_or_else(
            || format!("no peak up to {}", counted_users(reach)),
            |peak| format!("a peak at {}", counted_users(peak)),
        );
        page.sentence(format!(
            "Scalability law: {} operations a second of one user, contention {}, coherency {}, {peak}.",
            between(law.single_per_s),
            plain(law.contention),
            plain(law.coherency),
        ));
    }
}

fn needs(page: &mut Page, answer: &Answer, offered: Option<Offered>) {
    let busy = |name: &str| {
        let found = answer.at.resources.iter().find(|it| it.name == name);
        found.map_or_else(String::new, |it| format!("{:.0} %", it.share * 100.0))
    };
    page.title("What these users need");
    let Some(needs) = &answer.needs else {
        page.sentence(if answer.users_within.is_none() {
            "No box is named without a response time to keep: give --target, such as p95=1s."
        } else {
            "No box is named: the target needs more than twice the places that were measured, or \
             cannot be kept at all. Measure on a larger machine."
        });
        return;
    };
    let row = |need: &Need| {
        let name = need.name.clone();
        vec![name, need.had.to_string(), busy(&need.name), whole(need.places)]
    };
    page.table(
        "Boxes: what these users need",
        &["resource", "measured", "busy then", "needed"],
        needs.iter().map(row).collect(),
    );
    if answer.needs_unmet > 0 {
        page.sentence(format!(
            "In {} of the {DRAWS_ENLARGED} landscapes drawn for these intervals, {RANGE_MAX:.0} times \
             the places that were measured do not keep the target, or no number of them does; they \
             count as {RANGE_MAX:.0} times.",
            answer.needs_unmet
        ));
    }
    if let Some(offered) = offered {
        page.sentence(boxes(needs, answer.memory_bytes, offered));
    }
}

fn boxes(needs: &[Need], memory: Option<Bounded>, offered: Offered) -> String {
    let cores = needs.iter().find(|need| need.name == plumb_size::model::CORES);
    let of_cores = cores.map_or(Bounded::around(1.0, 0.0), |need| need.places);
    let number = |cores: f64, memory: Option<f64>| {
        let by_cores = (cores / f64::from(offered.cores)).ceil();
        let by_memory = offered.memory_bytes.zip(memory);
        let by_memory = by_memory.map_or(1.0, |(size, bytes)| (bytes / real(size)).ceil());
        by_cores.max(by_memory).max(1.0)
    };
    let bounded = Bounded {
        value: number(of_cores.value, memory.map(|it| it.value)),
        low: number(of_cores.low, memory.map(|it| it.low)),
        high: number(of_cores.high, memory.map(|it| it.high)),
    };
    let known = if offered.memory_bytes.is_some() && memory.is_none() {
        "; memory is not in it, because it is not known for these users"
    } else {
        ""
    };
    let cores = counted(u64::from(offered.cores), "core");
    format!("Boxes of {cores}: {}{known}.", whole(bounded))
}

fn memory(page: &mut Page, sizing: &Sizing, answer: &Answer) {
    let Some(line) = &sizing.memory else {
        page.sentence("Memory was not recorded in at least three steps, so none is named.");
        return;
    };
    let Some(bytes) = answer.memory_bytes else {
        page.sentence(format!(
            "Memory is not answered: {} are more than {RANGE_MAX:.0} times the {:.0} that were measured.",
            counted(u64::from(sizing.question.users), "user"),
            sizing.ladder.highest().users,
        ));
        return;
    };
    let grows = if line.slope.low > 0.0 {
        format!("a user adds {}", mebibytes(line.slope))
    } else {
        format!("that a user adds anything is not shown ({})", mebibytes(line.slope))
    };
    page.sentence(format!("Memory in use with these users: {}; {grows}.", gibibytes(bytes)));
}

fn ladder(page: &mut Page, report: &Report) {
    page.title("The ladder");
    let row = |step: &Step| {
        let unknown = || "not known".to_owned();
        vec![
            format!("{:.0}", step.users),
            show_rate(step.throughput_per_s),
            time(step.mean_s),
            time(step.p95_s),
            step.busy_cores.map_or_else(unknown, |busy| format!("{busy:.2}")),
            step.memory_bytes.map_or_else(unknown, |it| format!("{:.2} GiB", it / GIB)),
        ]
    };
    page.table(
        "The valid steps of the ladder",
        &["users", "a second", "mean", "p95", "busy cores", "memory"],
        report.sizing.ladder.steps().iter().map(row).collect(),
    );
    for left_out in &report.runs.left_out {
        page.sentence(format!("Left out, not valid: {left_out}."));
    }
    let generator = if report.runs.shared {
        ", on which the load generator ran, too; its processor time is not in what users need"
    } else {
        ""
    };
    let setup = &report.sizing.model.setup;
    let quota = setup.quota.map(|it| format!(", of which a control group leaves {it:.2}"));
    let of_server = |it: f64| format!(", of which a control group leaves the server {it:.2}");
    let quota = quota.or_else(|| setup.server_quota.map(of_server));
    page.sentence(format!(
        "Think time of the ladder: {}. Machine under test: {}, {}{}{generator}.",
        time(report.sizing.model.think_s),
        report.runs.machine,
        counted(u64::from(setup.cores), "core"),
        quota.unwrap_or_default(),
    ));
}

fn demands(page: &mut Page, sizing: &Sizing) {
    page.title("What an operation takes");
    let demands = &sizing.model.demands;
    let mut rows =
        vec![vec!["processor time, everything on the machine".into(), times(demands.cores_s)]];
    if demands.generator_s > 0.0 {
        rows.push(vec!["of this the load generator".into(), time(demands.generator_s)]);
    }
    for (name, it) in &demands.stations_s {
        rows.push(vec![name.clone(), times(*it)]);
    }
    rows.push(vec![format!("{INSIDE}, while a place is held"), times(demands.inside_s)]);
    rows.push(vec![format!("{OUTSIDE}: everything else"), times(demands.outside_s)]);
    page.table("Demands of one operation", &["", "an operation"], rows);
    if demands.cores_rest.value >= REST_TOLD {
        page.sentence(rest(demands.cores_rest, &sizing.model.setup));
    }
    page.sentence(misfit(sizing.model.misfit, &sizing.model.tail));
}

/// How far the steps are off the model. A factor over next to no tail of the model says nothing.
fn misfit(throughput: f64, tail: &Tail) -> String {
    let off = tail.misfit * 100.0;
    let p95 = if tail.factor <= FACTOR_TOLD_MAX {
        let factor = tail.factor;
        format!(
            "lies {factor:.2} times as far above the mean as the model's, and is {off:.0} % off that"
        )
    } else {
        format!("is {off:.0} % off what the model says")
    };
    format!(
        "Throughput of the steps is {:.1} % off the model (root mean square); their p95 {p95}.",
        throughput * 100.0
    )
}

/// What keeps processors busy without any load.
fn rest(rest: Bounded, setup: &Setup) -> String {
    let Bounded { value, low, high } = rest;
    let busy = format!("What runs without any load keeps {value:.2} ({low:.2} to {high:.2})");
    if setup.quota.is_some() {
        let left = setup.processors();
        return format!(
            "{busy} of the {left:.2} cores busy that a control group leaves: operations have the rest."
        );
    }
    let cores = counted(u64::from(setup.cores), "core");
    format!("{busy} of {cores} busy: operations have the rest.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_the_users_within_the_target_is_told_at_both_ends() {
        let of = |value, low, high| largest(Bounded { value, low, high }, 200.0);
        assert_eq!(of(198.0, 150.0, 200.0), "the target holds up to 198 (150 to 200) users");
        let end = "the end of what may be said from this ladder";
        assert_eq!(
            of(200.0, 200.0, 200.0),
            format!("the target holds up to at least 200 users, {end}")
        );
        assert_eq!(
            of(200.0, 150.0, 200.0),
            format!("the target holds up to at least 150 users, by the model up to 200, {end}")
        );
        assert_eq!(of(0.0, 0.0, 0.0), "not even one user is within the target");
        assert_eq!(of(0.0, 0.0, 12.0), "the target holds up to 0 (0 to 12) users");
    }

    #[test]
    fn a_factor_over_next_to_no_tail_is_not_told() {
        let of = |factor| {
            let mut tail = Tail::default();
            (tail.factor, tail.misfit) = (factor, 0.1);
            misfit(0.04, &tail)
        };
        assert!(
            of(0.61).ends_with(
                "0.61 times as far above the mean as the model's, and is 10 % off that."
            )
        );
        assert!(of(1007.11).ends_with("; their p95 is 10 % off what the model says."));
    }

    #[test]
    fn a_box_of_one_core_is_called_that() {
        let said = boxes(&[], None, Offered { cores: 1, memory_bytes: None });
        assert_eq!(said, "Boxes of 1 core: 1 (1 to 1).");
    }

    #[test]
    fn operations_have_the_rest_of_what_a_quota_leaves() {
        let setup = Setup { cores: 2, ..Setup::default() };
        let all = rest(Bounded::around(0.10, 0.05), &setup);
        let begin = "What runs without any load keeps 0.10 (0.05 to 0.15) of";
        assert_eq!(all, format!("{begin} 2 cores busy: operations have the rest."));
        let part = rest(Bounded::around(0.10, 0.05), &Setup { quota: Some(1.5), ..setup });
        let left = "the 1.50 cores busy that a control group leaves: operations have the rest.";
        assert_eq!(part, format!("{begin} {left}"));
    }
}
