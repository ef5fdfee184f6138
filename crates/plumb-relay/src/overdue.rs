//! The limits of a connection's life.

use crate::pair::{FAR, Pair};
use crate::plan::{Idle, Limit, RelayPlan};

/// Which limit of a connection's life comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overdue {
    Connect,
    Cut,
    Idle(Idle),
}

/// The limit that comes next, and when; of a connection that is forgotten nothing is kept, and none
/// comes any more.
pub(crate) fn overdue(plan: &RelayPlan, pair: &Pair) -> Option<(u64, Overdue)> {
    if pair.forgotten {
        return None;
    }
    let connect = pair.sides[FAR]
        .connected_at
        .is_none()
        .then(|| (pair.attempt_since + plan.connect_timeout.ns(), Overdue::Connect));
    let cut = match pair.cut {
        Some(Limit::After(time)) => Some((pair.since + time.ns(), Overdue::Cut)),
        Some(Limit::Bytes(_)) | None => None,
    };
    let idle = plan.loss.idle.map(|(time, how)| (pair.last_heard + time.ns(), Overdue::Idle(how)));
    [connect, cut, idle].into_iter().flatten().min_by_key(|(at, _)| *at)
}
