//! The bottlenecks one after the other, and what would change the answer.

use crate::page::Page;
use plumb_size::ladder::FailedStep;
use plumb_size::sizing::{
    Answer, Enlarged, MEMORY, RANGE_MAX, SHIFT, Sensitivity, Sizing, Upgrade,
};

use crate::figures::{GIB, whole};

/// Rows of the table of what changes the answer.
const ROWS: usize = 8;

/// What is full first, and what is next when there is just enough of it.
pub(crate) fn bottlenecks(page: &mut Page, sizing: &Sizing, answer: &Answer) {
    page.title("What is full first, and what next");
    for upgrade in answer.upgrades.iter().skip(1) {
        page.sentence(sentence(upgrade, sizing));
    }
    let target = sizing.question.target.is_some();
    let row = |it: &Upgrade| {
        let refused = || "not said".to_owned();
        let enlarged = it.enlarged.as_ref().map_or_else(|| "as measured".into(), change);
        let mut row =
            vec![enlarged, it.bottleneck.clone(), it.knee_users.map_or_else(refused, whole)];
        row.extend(target.then(|| it.users_within.map_or_else(refused, whole)));
        row
    };
    let mut head = vec!["with", "full first", "knee, users"];
    head.extend(target.then_some("users within target"));
    let rows = answer.upgrades.iter().map(row).collect();
    page.table("Bottlenecks, each row on top of the one before", &head, rows);
    let left_out = |it: &Upgrade| it.knee_users.is_none() || it.last;
    if answer.upgrades.iter().any(left_out) {
        page.sentence(match stopped(sizing) {
            Some(failed) => format!(
                "What needs the {:.0} users with whom operations failed, or more, is not said, nor what \
                 needs more than {RANGE_MAX:.0} times the places that were measured.",
                failed.users
            ),
            None => format!(
                "What needs more than {RANGE_MAX:.0} times the users or the places that were measured \
                 is not said: measure a longer ladder, or a larger landscape."
            ),
        });
    }
}

/// `With 14 work-processes in the place of 10 the next bottleneck is database, at 230 (220 to 240) users.`
fn sentence(upgrade: &Upgrade, sizing: &Sizing) -> String {
    let with = upgrade.enlarged.as_ref().map_or_else(String::new, more);
    let bottleneck = &upgrade.bottleneck;
    let is = if upgrade.last { "the bottleneck is still" } else { "the next bottleneck is" };
    let Some(knee) = upgrade.knee_users else {
        return match stopped(sizing) {
            Some(failed) => format!(
                "{with} {is} {bottleneck}, not before the {:.0} users with whom operations failed.",
                failed.users
            ),
            None => format!("{with} {is} {bottleneck}, beyond twice the users that were measured."),
        };
    };
    let within = upgrade
        .users_within
        .map_or_else(String::new, |it| format!("; {} users are within the target", whole(it)));
    format!("{with} {is} {bottleneck}, at {} users{within}.", whole(knee))
}

/// The step whose failures end what may be said, where they do so before twice of what was measured.
fn stopped(sizing: &Sizing) -> Option<&FailedStep> {
    let measured = RANGE_MAX * sizing.ladder.highest().users;
    sizing.ladder.failed().filter(|failed| failed.users <= measured)
}

fn more(enlarged: &Enlarged) -> String {
    let Enlarged { name, from, to } = enlarged;
    if name == MEMORY {
        return format!("With {} of memory in the place of {}", gibibytes(*to), gibibytes(*from));
    }
    format!("With {to} {name} in the place of {from}")
}

fn change(enlarged: &Enlarged) -> String {
    let Enlarged { name, from, to } = enlarged;
    if name == MEMORY {
        return format!("{name}: {} to {}", gibibytes(*from), gibibytes(*to));
    }
    format!("{name}: {from} to {to}")
}

#[expect(clippy::cast_precision_loss, reason = "memory of a machine")]
fn gibibytes(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / GIB)
}

/// What would change the number of users most.
pub(crate) fn sensitivity(page: &mut Page, sizing: &Sizing, answer: &Answer) {
    page.title("What would change the answer most");
    let of = match sizing.question.target {
        Some(_) => "users within the target",
        None => "users at the knee",
    };
    let Some(most) = answer.sensitivity.first() else {
        page.sentence(format!(
            "Not said: {of} are as many as may be answered from this ladder, so that no change of them \
             can be seen."
        ));
        return;
    };
    page.sentence(format!(
        "{:.0} {of} as it is. One figure at a time is taken {:.0} % smaller and larger; {} changes the \
         number most.",
        most.users,
        SHIFT * 100.0,
        most.name,
    ));
    let row = |it: &Sensitivity| {
        vec![it.name.clone(), changed(it, it.users_less), changed(it, it.users_more)]
    };
    let (less, more) =
        (format!("{:.0} % smaller", SHIFT * 100.0), format!("{:.0} % larger", SHIFT * 100.0));
    let rows = answer.sensitivity.iter().take(ROWS).map(row).collect();
    page.table(&format!("{of} when one figure changes"), &["figure", &less, &more], rows);
}

fn changed(of: &Sensitivity, users: Option<f64>) -> String {
    users.map_or_else(
        || "beyond the range".into(),
        |users| format!("{users:.0} ({:+.0} %)", (users / of.users - 1.0) * 100.0),
    )
}
