//! Groups of the JMeter plugins whose number of users follows a plan of its own: Stepping, Ultimate
//! and Concurrency thread groups.
//!
//! # Source
//! JMeter-Plugins: `kg.apc.jmeter.threads.{SteppingThreadGroup, UltimateThreadGroup}` and
//! `com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup`.

use plumb_measure::Span;
use plumb_scenario::file::Stage;

use super::element::Element;
use super::words::Words;

/// Users that come or go at one moment take a stage; this is the shortest, in milliseconds.
const STEP_MS: u64 = 1;
/// Stages of one group at most.
const STAGES_MAX: u64 = 1_000;
/// Users and seconds of a plan at most.
const NUMBER_MAX: f64 = 1e9;

/// The number of users over time: straight lines between points, and jumps.
#[derive(Clone, Debug, Default, PartialEq)]
struct Plan {
    /// Milliseconds from the one before, and users at the end.
    legs: Vec<(u64, u64)>,
}

/// True for a group that is read here.
pub(super) fn is_staged(group: &Element<'_>) -> bool {
    matches!(group.kind(), "SteppingThreadGroup" | "UltimateThreadGroup" | "ConcurrencyThreadGroup")
}

/// The stages of a group; none when nobody ever takes part in it.
///
/// # Errors
/// In words, when a number is not known before the load.
pub(super) fn read(group: &Element<'_>, words: &Words) -> Result<Vec<Stage>, String> {
    let plan = match group.kind() {
        "SteppingThreadGroup" => stepping(&Numbers { group, words })?,
        "UltimateThreadGroup" => ultimate(group, words)?,
        _ => concurrency(&Numbers { group, words })?,
    };
    Ok(plan.stages())
}

/// Reads the numbers of a group.
struct Numbers<'e, 'a> {
    group: &'e Element<'a>,
    words: &'e Words,
}

impl Numbers<'_, '_> {
    /// A number that is not negative; 0 where none is written.
    fn of(&self, name: &str) -> Result<f64, String> {
        number(self.group.text(name), name, self.words)
    }

    fn count(&self, name: &str) -> Result<u64, String> {
        self.of(name).map(whole)
    }

    fn ms(&self, name: &str) -> Result<u64, String> {
        self.of(name).map(|seconds| whole(seconds * 1000.0))
    }
}

/// What stands in a table of a plan: nothing is 0; of any other text, its number.
pub(super) fn number(text: &str, name: &str, words: &Words) -> Result<f64, String> {
    if text.trim().is_empty() {
        return Ok(0.0);
    }
    let known = words.number(text).filter(|number| (0.0..=NUMBER_MAX).contains(number));
    known.ok_or_else(|| {
        format!("{name} is `{text}`, which is no number that is known before the load")
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1e12")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

impl Plan {
    /// Goes on to `users` within `ms`.
    fn then(&mut self, ms: u64, users: u64) {
        let before = self.legs.last().map_or(0, |(_, users)| *users);
        if ms > 0 || users != before {
            self.legs.push((ms.max(STEP_MS), users));
        }
    }

    fn stages(self) -> Vec<Stage> {
        if self.legs.iter().all(|(_, users)| *users == 0) {
            return Vec::new();
        }
        let stage = |(ms, users)| Stage { over: Span::from_ms(ms), users: Some(users), rate: None };
        self.legs.into_iter().map(stage).collect()
    }
}

/// A first number of users, further ones step by step, a time with all of them, and an end step by
/// step.
fn stepping(numbers: &Numbers<'_, '_>) -> Result<Plan, String> {
    let all = numbers.count("ThreadGroup.num_threads")?;
    let or_all = |count: u64| if count == 0 { all } else { count };
    let up = or_all(numbers.count("Start users count")?);
    let first = match numbers.count("Start users count burst")? {
        0 => up,
        burst => burst,
    };
    let down = or_all(numbers.count("Stop users count")?);
    let (wait_ms, ramp_ms) = (numbers.ms("Threads initial delay")?, numbers.ms("rampUp")?);
    let (up_ms, down_ms) = (numbers.ms("Start users period")?, numbers.ms("Stop users period")?);
    if all.saturating_sub(first) / up.max(1) + all / down.max(1) > STAGES_MAX / 2 {
        return Err(format!("it has more than {STAGES_MAX} steps"));
    }
    let mut plan = Plan::default();
    plan.then(wait_ms, 0);
    let mut users = first.min(all);
    plan.then(ramp_ms, users);
    while users < all {
        plan.then(up_ms, users);
        users = (users + up).min(all);
        plan.then(ramp_ms, users);
    }
    plan.then(numbers.ms("flighttime")?, users);
    while users > 0 {
        users = users.saturating_sub(down);
        plan.then(0, users);
        if users > 0 {
            plan.then(down_ms, users);
        }
    }
    Ok(plan)
}

/// A row of an Ultimate thread group, in users and milliseconds.
#[derive(Clone, Copy, Debug)]
struct Row {
    users: f64,
    /// When they begin, are all there, begin to go, and are gone.
    at: [u64; 4],
}

impl Row {
    /// Its users at `at`, and just after it where they jump.
    fn users(&self, at: u64, after: bool) -> f64 {
        let [begin, there, go, gone] = self.at;
        let is_past = |moment: u64| if after { at >= moment } else { at > moment };
        #[expect(clippy::cast_precision_loss, reason = "times are below 1e13")]
        let part = |from: u64, to: u64| (at - from) as f64 / (to - from) as f64;
        if is_past(gone) || !is_past(begin) {
            0.0
        } else if is_past(go) && gone > go {
            self.users * (1.0 - part(go, gone))
        } else if is_past(there) || there == begin {
            self.users
        } else {
            self.users * part(begin, there)
        }
    }
}

/// Any number of rows, each of which comes, stays and goes; together they are the load.
fn ultimate(group: &Element<'_>, words: &Words) -> Result<Plan, String> {
    let mut rows = Vec::new();
    for row in group.members("ultimatethreadgroupdata") {
        let cells = row.own_texts();
        let [users, delay, startup, hold, shutdown] = &cells[..] else {
            return Err("a row of it has no five numbers".into());
        };
        let ms = |text: &str| number(text, "a time", words).map(|s| whole(s * 1000.0));
        let begin = ms(delay)?;
        let there = begin + ms(startup)?;
        let go = there + ms(hold)?;
        let gone = go + ms(shutdown)?;
        rows.push(Row {
            users: number(users, "a number of users", words)?,
            at: [begin, there, go, gone],
        });
    }
    let mut moments: Vec<u64> = rows.iter().flat_map(|row| row.at).collect();
    moments.sort_unstable();
    moments.dedup();
    if moments.len() as u64 > STAGES_MAX / 2 {
        return Err(format!("it has more than {STAGES_MAX} steps"));
    }
    let sum = |at, after| whole(rows.iter().map(|row| row.users(at, after)).sum());
    let mut plan = Plan::default();
    let mut before = 0;
    for moment in moments {
        plan.then(moment - before, sum(moment, false));
        plan.then(0, sum(moment, true));
        before = moment;
    }
    Ok(plan)
}

/// A number of users that is reached evenly or in steps, and held.
fn concurrency(numbers: &Numbers<'_, '_>) -> Result<Plan, String> {
    // minutes are what it says when it says nothing
    let unit_ms = if numbers.group.text("Unit").trim() == "S" { 1_000.0 } else { 60_000.0 };
    let target = numbers.count("TargetLevel")?;
    let ramp_ms = whole(numbers.of("RampUp")? * unit_ms);
    let hold_ms = whole(numbers.of("Hold")? * unit_ms);
    let steps = numbers.count("Steps")?;
    if steps > STAGES_MAX / 2 {
        return Err(format!("it has more than {STAGES_MAX} steps"));
    }
    let mut plan = Plan::default();
    if steps == 0 || ramp_ms == 0 {
        plan.then(ramp_ms, target);
    } else {
        for step in 1..=steps {
            plan.then(0, target * step / steps);
            plan.then(ramp_ms / steps, target * step / steps);
        }
    }
    plan.then(hold_ms, target);
    Ok(plan)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::tree;

    /// The stages of a group with `properties`, as milliseconds and users.
    fn stages(kind: &str, properties: &str) -> Result<Vec<(u64, u64)>, String> {
        let stages = with_group(kind, properties, |group| read(group, &Words::default()))?;
        Ok(stages.iter().map(|it| (it.over.ns() / 1_000_000, it.users.unwrap_or(0))).collect())
    }

    /// What `of` makes of a group with `properties`.
    pub(crate) fn with_group<T>(
        kind: &str,
        properties: &str,
        of: impl FnOnce(&Element<'_>) -> T,
    ) -> T {
        let text = format!("<hashTree><{kind}>{properties}</{kind}></hashTree>");
        let root = tree::read(&text).unwrap();
        of(&Element::of_tree(&root)[0])
    }

    /// Properties of an element, by name and value.
    pub(crate) fn properties(pairs: &[(&str, &str)]) -> String {
        let one = |(name, value): &(&str, &str)| {
            format!("<stringProp name=\"{name}\">{value}</stringProp>")
        };
        pairs.iter().map(one).collect()
    }

    /// A row of a table in an element.
    pub(crate) fn row(cells: &[&str]) -> String {
        let cells = cells.iter().map(|cell| format!("<stringProp name=\"1\">{cell}</stringProp>"));
        format!("<collectionProp name=\"2\">{}</collectionProp>", cells.collect::<String>())
    }

    #[test]
    fn a_stepping_group_goes_up_step_by_step_and_down_again() {
        let own = properties(&[
            ("ThreadGroup.num_threads", "25"),
            ("Threads initial delay", "3"),
            ("Start users count", "10"),
            ("Start users count burst", "0"),
            ("Start users period", "30"),
            ("rampUp", "5"),
            ("flighttime", "60"),
            ("Stop users count", "20"),
            ("Stop users period", "2"),
        ]);
        let expected = [
            (3_000, 0),
            (5_000, 10),
            (30_000, 10),
            (5_000, 20),
            (30_000, 20),
            (5_000, 25),
            (60_000, 25),
            (1, 5),
            (2_000, 5),
            (1, 0),
        ];
        assert_eq!(stages("kg.apc.jmeter.threads.SteppingThreadGroup", &own).unwrap(), expected);
        let at_once = properties(&[("ThreadGroup.num_threads", "4"), ("flighttime", "10")]);
        assert_eq!(stages("SteppingThreadGroup", &at_once).unwrap(), [(1, 4), (10_000, 4), (1, 0)]);
    }

    #[test]
    fn the_rows_of_an_ultimate_group_are_added() {
        let data = |rows: &[[&str; 5]]| {
            let rows: String = rows.iter().map(|cells| row(cells)).collect();
            format!("<collectionProp name=\"ultimatethreadgroupdata\">{rows}</collectionProp>")
        };
        let two = data(&[["10", "0", "10", "20", "10"], ["4", "20", "0", "5", "0"]]);
        assert_eq!(
            stages("UltimateThreadGroup", &two).unwrap(),
            [(10_000, 10), (10_000, 10), (1, 14), (5_000, 14), (1, 10), (5_000, 10), (10_000, 0)]
        );
        for nobody in [data(&[]), data(&[["0", "5", "1", "10", "1"]])] {
            assert_eq!(stages("UltimateThreadGroup", &nobody).unwrap(), []);
        }
        let open = data(&[["${n}", "0", "1", "1", "1"]]);
        assert!(stages("UltimateThreadGroup", &open).unwrap_err().contains("${n}"));
    }

    #[test]
    fn a_concurrency_group_reaches_its_target_evenly_or_in_steps() {
        let own = |steps, unit| {
            properties(&[
                ("TargetLevel", "9"),
                ("RampUp", "3"),
                ("Steps", steps),
                ("Hold", "10"),
                ("Unit", unit),
            ])
        };
        let kind = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup";
        assert_eq!(stages(kind, &own("", "M")).unwrap(), [(180_000, 9), (600_000, 9)]);
        assert_eq!(
            stages(kind, &own("3", "S")).unwrap(),
            [(1, 3), (1_000, 3), (1, 6), (1_000, 6), (1, 9), (1_000, 9), (10_000, 9)]
        );
    }
}
