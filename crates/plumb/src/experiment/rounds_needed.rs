//! Whether an experiment has rounds enough to show anything, said before it is measured.

use plumb_lab::Extent;
use plumb_measure::counted;

use super::plan::{Plan, ROUNDS};

/// What is to be said of the rounds of `plan` before any is taken; `None` when nothing is.
/// `expected` are the rounds of one that ends by time, where somebody has told them already.
pub(crate) fn remark(plan: &Plan, expected: Option<u64>) -> Option<String> {
    let (tests, needed) = (plan.tests(), plan.rounds_needed());
    let at_once = if tests == 1 { String::new() } else { format!(" in {tests} tests at once") };
    let rounds = match plan.extent {
        Extent::Pairs(rounds) => rounds,
        Extent::Time(ns) => expected.or_else(|| within(plan, ns))?,
        Extent::Precision(_) => return None,
    };
    if rounds < needed {
        return Some(format!(
            "with {} no difference, however large, can be shown{at_once}: take {needed} or more",
            counted(rounds, "round")
        ));
    }
    (plan.own_extent && rounds > ROUNDS).then(|| {
        format!(
            "{rounds} rounds, so that a difference can be shown in each of {tests} tests at once"
        )
    })
}

/// The rounds that fit into a time; `None` where a block has no known length.
fn within(plan: &Plan, ns: u64) -> Option<u64> {
    let pause_ns = if plan.switches() { plan.settle.ns() } else { 0 };
    let mut round_ns: u64 = 0;
    for block in plan.cells.iter().flat_map(|cell| &cell.blocks) {
        round_ns = round_ns.saturating_add(block.probe.takes_ns?).saturating_add(pause_ns);
    }
    Some((ns / round_ns.max(1)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{TWO_VARIANTS, plan_of};

    const FILE: &str = r#"
        [[variant]]
        name = "a"
        [[variant]]
        name = "b"
        [[factor]]
        name = "size"
        levels = [1, 2, 3, 4, 5, 6, 7, 8, 9]
        [[factor]]
        name = "users"
        levels = [1, 2, 3, 4]
        [[probe]]
        exec = "echo ${size} ${users}"
    "#;

    fn plan(text: &str) -> Plan {
        plan_of(text).unwrap()
    }

    #[test]
    fn so_many_rounds_are_taken_as_every_primary_figure_needs() {
        let many = plan(FILE);
        assert_eq!((many.tests(), many.rounds_needed(), many.extent), (36, 11, Extent::Pairs(11)));
        let said = remark(&many, None).unwrap();
        assert_eq!(
            said,
            "11 rounds, so that a difference can be shown in each of 36 tests at once"
        );
        let few =
            plan(&FILE.replace(", 2, 3, 4]", "]").replace("[1, 2, 3, 4, 5, 6, 7, 8, 9]", "[1]"));
        assert_eq!((few.tests(), few.extent, remark(&few, None)), (1, Extent::Pairs(10), None));
    }

    #[test]
    fn too_few_rounds_are_said_with_the_number_that_would_do() {
        let said = remark(&plan(&format!("rounds = 10\n{FILE}")), None).unwrap();
        assert_eq!(
            said,
            "with 10 rounds no difference, however large, can be shown in 36 tests at once: take 11 \
             or more"
        );
        assert_eq!(remark(&plan(&format!("rounds = 11\n{FILE}")), None), None);
        let timed = plan(&format!("time = \"1m\"\n{FILE}"));
        assert_eq!(remark(&timed, None), None, "nobody knows how long a shell command takes");
        assert!(remark(&timed, Some(1)).unwrap().starts_with("with 1 round no difference"));
    }

    #[test]
    fn a_time_that_is_too_short_for_a_verdict_is_said() {
        let of = |time: &str| {
            let probe = "[[probe]]\nrun = \"net ping 127.0.0.1 --size 1B --warmup 0s\"\n";
            let text = format!("time = \"{time}\"\nblock = \"1s\"\n{TWO_VARIANTS}{probe}");
            remark(&plan(&text), None)
        };
        assert!(of("8s").is_some_and(|said| said.contains("take 6 or more")), "{:?}", of("8s"));
        assert_eq!(of("1m"), None);
    }

    #[test]
    fn every_point_of_a_plan_is_tested() {
        let sizes = plan(
            r#"
            [[variant]]
            name = "a"
            [[variant]]
            name = "b"
            options = { nagle = true }
            [[variant]]
            name = "c"
            [[probe]]
            run = "net ping 127.0.0.1 --size 1B,2B,3B"
            "#,
        );
        assert_eq!(sizes.tests(), 6);
        let same: Vec<bool> = sizes.variants.iter().map(|it| it.same_as_baseline).collect();
        assert_eq!(same, [false, false, true]);
    }
}
