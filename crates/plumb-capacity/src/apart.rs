//! What a sizing says where the ladder itself says otherwise.

use plumb_measure::show_rate;
use plumb_size::analysis::Figure;
use plumb_size::ladder::counted_users;
use plumb_size::sizing::{Predicted, PredictedStep, Sizing};

use crate::figures::{between, time, times};
use crate::page::Page;

/// That more users kept the target as they were measured than the answer tells of, to be said behind
/// it; nothing otherwise.
pub(crate) fn kept(sizing: &Sizing) -> String {
    let Some((step, target)) = sizing.kept_beyond().zip(sizing.question.target) else {
        return String::new();
    };
    let measured_s = match target.figure {
        Figure::Mean => step.mean_s,
        Figure::P95 => step.p95_s,
    };
    let users = counted_users(step.users);
    format!(", while as measured the step of {users} kept it ({})", time(measured_s))
}

/// That the model misses a step, the one next to the question, to be said at the end of the answer;
/// nothing where it follows all of them.
pub(crate) fn missed(sizing: &Sizing) -> String {
    let asked = sizing.users_of_ladder();
    let far = |step: &PredictedStep| (step.users - asked).abs();
    let Some(step) = sizing.apart.iter().min_by(|a, b| far(a).total_cmp(&far(b))) else {
        return String::new();
    };
    format!(
        "; but the model does not follow the step of {}: measured a mean of {} and {} operations a \
         second, by the model {} and {}",
        counted_users(step.users),
        time(step.mean_s.measured),
        show_rate(step.throughput_per_s.measured),
        times(step.mean_s.predicted),
        between(step.throughput_per_s.predicted),
    )
}

/// Each step that the model misses, and what that may come from.
pub(crate) fn steps(page: &mut Page, sizing: &Sizing) {
    for step in &sizing.apart {
        let users = counted_users(step.users);
        page.sentence(format!(
            "By the model of all steps, the step of {users} has {}.",
            figures(step)
        ));
    }
    if !sizing.apart.is_empty() && sizing.apart.iter().all(|step| step.mean_s.error > 0.0) {
        page.sentence(
            "Users waited less for each other than in the model, which takes service and think times as \
             drawn at random: where they are nearly constant, it says too much near the knee.",
        );
    }
}

/// The figures of a step, predicted and measured.
pub(crate) fn figures(step: &PredictedStep) -> String {
    let one = |name: &str, it: &Predicted, show: fn(f64) -> String| {
        let outside = if it.held { "" } else { ", outside its interval" };
        format!(
            "{name} {} for {} measured ({:+.1} %{outside})",
            show(it.predicted.value),
            show(it.measured),
            it.error * 100.0
        )
    };
    format!(
        "{}, {} and {}",
        one("throughput", &step.throughput_per_s, show_rate),
        one("mean", &step.mean_s, time),
        one("p95", &step.p95_s, time),
    )
}

#[cfg(test)]
mod tests {
    use plumb_size::ladder::{Ladder, Step};
    use plumb_size::model::Setup;
    use plumb_size::sizing::{Question, Target, size};

    use crate::words::sentence;

    use super::*;

    /// Four places of 50 ms and users who think for 200 ms, both constant; or, `drawn`, what the model
    /// itself says of them.
    fn sized(users: u32, most_ms: f64, drawn: bool) -> Sizing {
        let step = |users: f64| {
            let throughput_per_s = (users / 0.25).min(80.0);
            let mean_s = users / throughput_per_s - 0.2;
            let busy_cores = Some(0.05 + 0.001 * throughput_per_s);
            Step { users, throughput_per_s, mean_s, p95_s: mean_s, busy_cores, ..Step::default() }
        };
        let steps: Vec<Step> = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0].map(step).into();
        let target = Some(Target { figure: Figure::Mean, most_s: most_ms / 1e3 });
        let question = Question { users, think_s: None, target, seed: 5 };
        let setup = Setup { cores: 2, pool: Some(("places".into(), 4)), ..Setup::default() };
        let of = |steps| size(Ladder::of(steps).unwrap(), &setup, question).unwrap();
        let sizing = of(steps);
        if !drawn {
            return sizing;
        }
        let analysis =
            plumb_size::analysis::Analysis::of(&sizing.model.landscape(), 0.2, 24).unwrap();
        let again = |step: &Step| {
            let point = analysis.at(plumb_size::model::users(step));
            let (throughput_per_s, mean_s) = (point.throughput_per_s, point.mean_s);
            let busy_cores = Some(0.05 + 0.001 * throughput_per_s);
            Step { throughput_per_s, mean_s, p95_s: point.p95_s, busy_cores, ..step.clone() }
        };
        of(sizing.ladder.steps().iter().map(again).collect())
    }

    #[test]
    fn the_first_sentence_tells_of_a_measured_step_that_the_model_misses() {
        let said = sentence(&sized(20, 80.0, false));
        assert!(
            said.contains("does not follow the step of 20 users: measured a mean of 50.0 ms"),
            "{said}"
        );
        assert!(said.contains(" and 80.0 operations a second, by the model "), "{said}");
        let said = sentence(&sized(16, 55.0, false));
        let kept =
            "(mean at most 55.0 ms), while as measured the step of 20 users kept it (50.0 ms)";
        assert!(said.contains(kept), "{said}");
        assert!(said.contains("; but the model does not follow the step of "), "{said}");
    }

    #[test]
    fn an_ordinary_ladder_has_no_such_warning() {
        for users in [8, 20] {
            let sizing = sized(users, 60.0, true);
            let said = sentence(&sizing);
            assert!(said.contains("the target holds up to "), "{said}");
            assert!(!said.contains("kept it") && !said.contains("does not follow"), "{said}");
        }
    }
}
