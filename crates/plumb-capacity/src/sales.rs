//! SAPS-like figures of the scenario of sales and distribution; they are not certified.

use crate::page::Page;
use anyhow::{Context as _, bail, ensure};
use plumb_measure::statistics::Bounded;
use plumb_measure::{ResultRecord, RunRecord, counted, grouped, real};
use plumb_size::sizing::Target;
use serde::Serialize;

use crate::figures::{seconds, time};

/// The scenario in which the figures are defined.
const SCENARIO: &str = include_str!("../../../examples/scenarios/sales.toml");
/// Its last step: with it the items of an order are fully processed.
const INVOICE: &str = "save invoice";
/// Line items of an order, and dialog steps for it, of the scenario.
const ITEMS: f64 = 5.0;
const DIALOG_STEPS: f64 = 15.0;
/// Fully processed order line items an hour that are 100.
const ITEMS_PER_100: f64 = 2_000.0;
/// Mean response time below which the steps must stay, seconds.
const MEAN_MAX_S: f64 = 1.0;
/// How far think time and steps of an order may be from those of the scenario, as a share.
const TOLERANCE: f64 = 0.02;

/// A valid step of a ladder of the scenario.
#[derive(Clone, Debug)]
pub(crate) struct SalesStep {
    users: u32,
    /// Dialog steps that were right, and orders that were invoiced.
    dialog_steps: u64,
    invoices: u64,
    failed: u64,
    begun_s: f64,
    mean_s: f64,
    p95_s: f64,
}

/// What came of the highest step within the target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SapsLike {
    /// What the figure is.
    pub(crate) means: &'static str,
    /// Its users.
    pub(crate) users: u32,
    /// Fully processed order line items an hour.
    pub(crate) items_per_hour: Bounded,
    /// Dialog steps an hour.
    pub(crate) dialog_steps_per_hour: f64,
    /// The figure: 100 are 2,000 order line items an hour.
    pub(crate) saps_like: Bounded,
    /// Mean response time of a dialog step, seconds.
    pub(crate) mean_s: f64,
}

const MEANS: &str =
    "SAPS-like, not certified: 100 are 2,000 fully processed order line items an hour";

impl SalesStep {
    /// The step of a run, of which `begun_s` are the seconds within which its operations began.
    pub(crate) fn of(result: &ResultRecord, users: u32, begun_s: f64) -> Option<Self> {
        let response = result.response_ns.as_ref()?;
        let invoices = result.parts.iter().filter(|part| part.name == INVOICE);
        Some(Self {
            users,
            dialog_steps: result.operations,
            invoices: invoices.map(|part| part.operations).sum(),
            failed: result.failures.values().sum(),
            begun_s,
            mean_s: seconds(response.mean),
            p95_s: seconds(response.p95),
        })
    }
}

/// Says why a run is not one of the scenario.
pub(crate) fn check(record: &RunRecord) -> anyhow::Result<()> {
    let text = record.plan.options.get("scenario-text").and_then(|it| it.as_str());
    let text = text.context("the run is of no scenario: measure examples/scenarios/sales.toml")?;
    let (asked, published) = (steps(text)?, steps(SCENARIO)?);
    ensure!(
        asked == published,
        "the steps of the scenario are not those of examples/scenarios/sales.toml, of which \
         SAPS-like figures are defined"
    );
    Ok(())
}

/// The steps of a scenario, with their bodies and checks, and the think time after each.
fn steps(text: &str) -> anyhow::Result<(toml::Value, Option<toml::Value>)> {
    let scenario: toml::Table = text.parse().context("the scenario of the run cannot be read")?;
    let groups = scenario.get("scenario").and_then(|it| it.as_array());
    match groups.map(Vec::as_slice) {
        Some([only]) => {
            let steps = only.get("step").cloned().context("the scenario has no step")?;
            Ok((steps, only.get("think").cloned()))
        }
        _ => bail!("the scenario has not one group of users, as SAPS-like figures need"),
    }
}

/// The figure of the highest step within the target.
pub(crate) fn figure(
    steps: &[SalesStep],
    think_s: f64,
    target: Option<Target>,
) -> anyhow::Result<SapsLike> {
    ensure!(
        (think_s / 10.0 - 1.0).abs() <= TOLERANCE,
        "users thought for {} between two dialog steps, the scenario says 10 s",
        time(think_s)
    );
    let kept = |step: &&SalesStep| {
        let asked = target.is_none_or(|target| match target.figure {
            plumb_size::analysis::Figure::Mean => step.mean_s <= target.most_s,
            plumb_size::analysis::Figure::P95 => step.p95_s <= target.most_s,
        });
        asked && step.mean_s < MEAN_MAX_S
    };
    let highest = steps.iter().filter(kept).max_by_key(|step| step.users);
    let Some(step) = highest else {
        bail!("no valid step keeps a mean below {} and the target", time(MEAN_MAX_S));
    };
    let users = counted(u64::from(step.users), "user");
    ensure!(step.failed == 0, "with {users} {} failed", counted(step.failed, "dialog step"));
    let (invoices, dialog_steps) = (real(step.invoices), real(step.dialog_steps));
    ensure!(step.invoices > 0, "with {users} no order was invoiced");
    let per_order = dialog_steps / invoices;
    ensure!(
        (per_order / DIALOG_STEPS - 1.0).abs() <= TOLERANCE,
        "with {users} there were {per_order:.1} dialog steps for each invoiced order, and 15 are one: \
         the step is too short; a loop takes 150 s and more, measure at least ten of them"
    );
    let hours = step.begun_s / 3_600.0;
    // as if orders ended independently; clerks who take turns scatter less
    let half = 1.96 * invoices.sqrt();
    let items_per_hour = Bounded::around(invoices, half).times(ITEMS / hours);
    Ok(SapsLike {
        means: MEANS,
        users: step.users,
        items_per_hour,
        dialog_steps_per_hour: dialog_steps / hours,
        saps_like: items_per_hour.times(100.0 / ITEMS_PER_100),
        mean_s: step.mean_s,
    })
}

/// The figure, or why there is none.
pub(crate) fn said(page: &mut Page, found: &Result<SapsLike, String>) {
    page.title("SAPS-like, not certified");
    match found {
        Ok(found) => page.sentence(format!(
            "{:.0} ({:.0} to {:.0}) SAPS-like, not certified: {} ({} to {}) fully processed order line \
             items an hour, {} dialog steps an hour, of {} users at a mean response time of {}. 100 are \
             2,000 order line items an hour. It is of the highest valid step within the target.",
            found.saps_like.value,
            found.saps_like.low,
            found.saps_like.high,
            whole(found.items_per_hour.value),
            whole(found.items_per_hour.low),
            whole(found.items_per_hour.high),
            whole(found.dialog_steps_per_hour),
            found.users,
            time(found.mean_s),
        )),
        Err(why) => page.sentence(format!("Not said: {why}.")),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count an hour")]
fn whole(figure: f64) -> String {
    grouped(figure.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(users: u32, invoices: u64, mean_s: f64) -> SalesStep {
        let dialog_steps = invoices * 15;
        let (begun_s, failed, p95_s) = (3_600.0, 0, 2.0 * mean_s);
        SalesStep { users, dialog_steps, invoices, failed, begun_s, mean_s, p95_s }
    }

    #[test]
    fn two_thousand_items_an_hour_are_a_hundred() {
        // the step of 200 users is too slow
        let steps = [step(10, 240, 0.1), step(17, 400, 0.4), step(200, 900, 1.5)];
        let found = figure(&steps, 10.0, None).unwrap();
        assert_eq!((found.users, found.saps_like.value.round()), (17, 100.0));
        assert!((found.items_per_hour.value - 2_000.0).abs() < 1e-6);
        assert!((found.dialog_steps_per_hour - 6_000.0).abs() < 1e-6);
        assert!(found.saps_like.low < 100.0 && found.saps_like.high > 100.0);
        let figure_of = |most_s| Target { figure: plumb_size::analysis::Figure::P95, most_s };
        assert_eq!(figure(&steps, 10.0, Some(figure_of(0.5))).unwrap().users, 10);
    }

    #[test]
    fn what_is_not_as_defined_is_refused_with_the_reason() {
        let refused = |steps: &[SalesStep], think_s, why: &str| {
            let error = figure(steps, think_s, None).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(&[step(10, 240, 0.1)], 5.0, "the scenario says 10 s");
        refused(&[step(10, 240, 1.2)], 10.0, "no valid step");
        refused(&[step(10, 0, 0.1)], 10.0, "no order was invoiced");
        refused(&[SalesStep { failed: 2, ..step(10, 240, 0.1) }], 10.0, "2 dialog steps failed");
        let short = SalesStep { dialog_steps: 100, ..step(10, 5, 0.1) };
        refused(&[short], 10.0, "20.0 dialog steps");
        let (published, think) = steps(SCENARIO).unwrap();
        assert_eq!((published.as_array().unwrap().len(), think), (15, Some("10s".into())));
        assert!(steps("for = \"1s\"").is_err());
    }
}
