//! What would be: the model and the simulation beside each other.

use crate::page::Page;
use plumb_measure::show_rate;
use plumb_measure::statistics::Bounded;
use plumb_size::ladder::FailedStep;
use plumb_size::simulation::{Load, Simulated};
use plumb_size::what_if::{Figures, WhatIf};

use crate::figures::{between, time, times, who_think};

/// How far model and simulation may be apart, as a share.
const APART_MAX: f64 = 0.10;

/// The same of the 95th percentile, which the model only approximates.
const P95_APART_MAX: f64 = 0.25;

/// Everything about a what-if of the changes that were `asked` for, or the sentence that says why
/// they were not made.
pub(crate) fn page(
    page: &mut Page,
    asked: &str,
    what_if: Option<&WhatIf>,
    refused: Option<String>,
    tail_factor: f64,
) {
    let changes: Vec<&str> = asked.split(',').map(str::trim).collect();
    let heading = format!("What if {}", changes.join(", "));
    let Some(what_if) = what_if else {
        page.title(heading);
        page.sentence(refused.unwrap_or_default());
        return;
    };
    let heading = format!("{heading}: {}", load(what_if.plan.load));
    page.title(if what_if.beyond { format!("{heading} (model, not measured)") } else { heading });
    if let Some(FailedStep { users, what }) = &what_if.failed {
        page.sentence(format!(
            "With {users:.0} users, who ask for no more than this, {what}: neither the model nor the \
             simulation knows of that, so that their figures are of a server that would not fail."
        ));
    }
    figures(page, what_if);
    agreement(page, what_if, tail_factor);
    let found = &what_if.simulated;
    let failed = failures(found);
    if !failed.is_empty() {
        page.sentence(format!("Simulated: {}.", failed.join(", ")));
    }
    let fullest = found.resources.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    if let Some(fullest) = fullest {
        page.sentence(format!(
            "The fullest is {}: {:.0} % busy, {:.1} operations wait for it.",
            fullest.name,
            fullest.share * 100.0,
            fullest.waiting
        ));
    }
}

/// The table, and what its intervals know.
fn figures(page: &mut Page, what_if: &WhatIf) {
    let found = &what_if.simulated;
    let own_noise = Figures {
        throughput_per_s: found.throughput_per_s,
        mean_s: found.mean_s,
        p95_s: found.p95_s,
    };
    let model = what_if.ranges.map(|it| it.model);
    let simulated = what_if.ranges.map_or(own_noise, |it| it.simulated);
    let alone = what_if.model.as_ref();
    let row =
        |name: &str, of: fn(&Figures) -> Option<Bounded>, show: fn(Bounded) -> String, model_s| {
            let model = match (model.as_ref().and_then(of), model_s) {
                (Some(known), _) => show(known),
                (None, Some(text)) => text,
                (None, None) => "none".into(),
            };
            vec![name.to_owned(), model, of(&simulated).map_or_else(|| "too few".into(), show)]
        };
    let rows = vec![
        row(
            "operations a second",
            |it| it.throughput_per_s,
            between,
            alone.map(|it| show_rate(it.throughput_per_s)),
        ),
        row("mean", |it| it.mean_s, times, alone.map(|it| time(it.mean_s))),
        row("p95", |it| it.p95_s, times, what_if.model_p95_s.map(time)),
    ];
    page.table("The model and the simulation beside each other", &["", "model", "simulated"], rows);
    page.sentence(certainty(what_if, own_noise));
}

/// What the intervals of the table know.
fn certainty(what_if: &WhatIf, own_noise: Figures) -> String {
    let Some(ranges) = what_if.ranges else {
        if what_if.ranges_take_long() {
            return "These intervals are the noise of the simulation alone. How well the ladder was \
                    measured is not in them, because so many users or places take too long to solve for \
                    every landscape that would be drawn."
                .into();
        }
        return "These intervals are the noise of the simulation alone. How well the ladder was measured \
                is not in them, because the model does not know the queue that turns away what is too much."
            .into();
    };
    let mut words =
        "The intervals know how well the ladder was measured and how well the model fits it, as \
                     those of an answer do"
            .to_owned();
    if let Some(noise) = own_noise.throughput_per_s {
        let (low, high) = (show_rate(noise.low), show_rate(noise.high));
        words += &format!("; the simulation's own noise is {low} to {high} operations a second");
    }
    if !what_if.unknown_to_model.is_empty() {
        let unknown = what_if.unknown_to_model.join(", ");
        words += &format!(
            "; the simulation's are widened as the model's are wide, which knows nothing of {unknown}"
        );
    }
    if ranges.model.mean_s.is_some_and(|it| it.high.is_infinite()) {
        words += match what_if.plan.load {
            Load::Open { .. } => "; where they have no end, more may arrive than can be done",
            Load::Closed { .. } => {
                "; where they have no end, what runs without any load may leave nothing of the processors"
            }
        };
    }
    words + "."
}

fn load(load: Load) -> String {
    match load {
        Load::Closed { users, think_s, .. } => who_think(users, think_s),
        Load::Open { rate_per_s } => {
            format!("{} operations a second, whatever is under way", show_rate(rate_per_s))
        }
    }
}

fn agreement(page: &mut Page, what_if: &WhatIf, tail_factor: f64) {
    let unknown = what_if.unknown_to_model.join(", ");
    if what_if.model.is_none() {
        page.sentence(format!(
            "The model knows nothing of {unknown}: without them more arrives than can be done, and ever \
             more would wait, so that it has no figures."
        ));
        return;
    }
    if let (Some(model_s), Some(p95_s)) = (what_if.model_p95_s, what_if.simulated.p95_s) {
        p95_apart(model_s, p95_s.value, tail_factor).into_iter().for_each(|it| page.sentence(it));
    }
    if !unknown.is_empty() {
        page.sentence(format!(
            "The model knows nothing of {unknown}: its column is the same landscape without them."
        ));
    }
    let Some(apart) = what_if.apart.filter(|apart| apart.iter().any(|it| *it > APART_MAX)) else {
        return;
    };
    let so = if unknown.is_empty() {
        "neither may be used alone"
    } else {
        "what it knows nothing of makes the difference, or the model is off"
    };
    page.sentence(format!(
        "The two are apart by {:.0} % in throughput and {:.0} % in the mean: {so}.",
        apart[0] * 100.0,
        apart[1] * 100.0
    ));
}

/// That the 95th percentiles of model and simulation, seconds, are apart, and why: what lies between the
/// mean and that of the model is multiplied by `factor`, the ladder's.
fn p95_apart(model_s: f64, simulated_s: f64, factor: f64) -> Option<String> {
    ((model_s / simulated_s - 1.0).abs() > P95_APART_MAX).then(|| {
        format!(
            "The 95th percentiles are apart: the model's lies {factor:.2} times as far above the mean as \
             computed, as those of the ladder do, and the simulation has only what it draws."
        )
    })
}

/// What was turned away, given up, tried again and failed, as far as there was any.
fn failures(found: &Simulated) -> Vec<String> {
    let all = [
        (found.turned_away, "try", "tries", "turned away by a full queue"),
        (found.timed_out, "try", "tries", "given up after the time-out"),
        (found.retried, "retry", "retries", "made"),
        (found.failed, "operation", "operations", "failed"),
        (found.refused_sessions, "session", "sessions", "refused"),
    ];
    let some = all.into_iter().filter(|(many, ..)| *many > 0);
    let mut words: Vec<String> = some
        .map(|(many, one, more, what)| {
            format!("{many} {} {what}", if many == 1 { one } else { more })
        })
        .collect();
    if !words.is_empty() {
        words.push(format!("beside {} operations done", found.operations));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_that_are_apart_name_the_factor_of_the_ladder() {
        assert_eq!(p95_apart(0.1, 0.1, 0.61), None);
        for model_s in [0.2, 0.5] {
            let said = p95_apart(model_s, 0.1, 0.61).unwrap();
            assert!(said.contains("lies 0.61 times as far above the mean as computed"), "{said}");
        }
    }
}
