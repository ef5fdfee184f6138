//! A server whose memory is bounded: how many users it holds.

use plumb_measure::statistics::Bounded;

use super::knee::Knee;
use super::{SizingError, whole};
use crate::analysis::Analysis;
use crate::ladder::Ladder;
use crate::line::Line;
use crate::model::Model;

/// The name of the server's memory where that is full first.
pub const MEMORY: &str = "memory";
/// The name of what one user takes of it.
pub(super) const OF_A_USER: &str = "memory of a user";
const MIB: f64 = 1_048_576.0;

/// The knee, which is that of memory where that is full before anything else.
pub(super) fn or_memory(
    knee: Knee,
    ladder: &Ladder,
    model: &Model,
    memory: Option<&Line>,
) -> Result<Knee, SizingError> {
    let Some(users) = full(model, memory).filter(|it| it.value < knee.users.value) else {
        return Ok(knee);
    };
    let solved =
        Analysis::of(&model.landscape(), model.think_s, whole(users.high.min(knee.users.high)))?;
    let rate = |users: f64| solved.throughput_per_s(whole(users)); // flat beyond the last
    let limit_per_s =
        Bounded { value: rate(users.value), low: rate(users.low), high: rate(users.high) };
    let shown = ladder.highest().users >= users.value;
    // the ladder itself says how much memory a user takes
    let behind_failures = super::is_behind_failures(ladder, users);
    let bottleneck = MEMORY.into();
    Ok(Knee { bottleneck, users, limit_per_s, shown, explained: true, behind_failures })
}

/// Why so many users are more than the memory of the server holds; `None` where it holds them.
pub(super) fn short(model: &Model, memory: Option<&Line>, users: u32) -> Option<String> {
    let held = full(model, memory)?;
    let users = f64::from(users);
    let need = memory?.at(users).value;
    (users > held.value).then(|| {
        let limit = model.setup.memory_limit_bytes.map_or(f64::NAN, bytes);
        format!(
            "{users:.0} users need {:.0} MiB of memory in the server, whose limit of {:.0} MiB holds \
             {:.0} ({:.0} to {:.0}); raise the limit and measure again",
            need / MIB,
            limit / MIB,
            held.value.floor(),
            held.low.floor(),
            held.high.floor(),
        )
    })
}

/// The users with whom the limit of the server's memory is reached; `None` where there is no limit,
/// or it is not shown that users add anything.
pub(super) fn full(model: &Model, memory: Option<&Line>) -> Option<Bounded> {
    held(model.setup.memory_limit_bytes?, memory?)
}

/// The users whom a limit of so many bytes holds; `None` where it is not shown that they add anything.
pub(super) fn held(limit_bytes: u64, line: &Line) -> Option<Bounded> {
    let limit = bytes(limit_bytes);
    let users = |rest: f64, slope: f64| ((limit - rest) / slope).max(0.0);
    (line.slope.low > 0.0).then(|| Bounded {
        value: users(line.rest.value, line.slope.value),
        low: users(line.rest.high, line.slope.high),
        high: users(line.rest.low, line.slope.low),
    })
}

/// So many users, as far as memory of `limit_bytes` holds them.
pub(super) fn capped(users: Bounded, limit_bytes: Option<u64>, memory: Option<&Line>) -> Bounded {
    let held = limit_bytes.zip(memory).and_then(|(limit, line)| held(limit, line));
    held.map_or(users, |held| Bounded {
        value: users.value.min(held.value.floor()),
        low: users.low.min(held.low.floor()),
        high: users.high.min(held.high.floor()),
    })
}

#[expect(clippy::cast_precision_loss, reason = "memory of a machine")]
fn bytes(limit: u64) -> f64 {
    limit as f64
}
