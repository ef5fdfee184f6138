//! Round trips taken apart, as a run record holds them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::{PARTS, RoundTripTimes, Unsplit};
use crate::attribution::split_of_the_same;
use crate::step::of_the_slowest;
use crate::{
    Attribution, CannotBeSplit, Distribution, Estimate, Histogram, PartKind, Split, StepSource,
    Telling, TimePart, real,
};

/// One of so many messages, the slowest, is accounted for apart.
const SLOWEST_ONE_IN: u64 = 100;
/// The name of the whole among the times of its parts.
const WHOLE: &str = "round trip";
/// The clock of a network interface.
pub(super) const HARDWARE: &str = "hardware";
/// Fewer messages have no slowest hundredth.
const SLOWEST_MIN: u64 = 100;

/// What the stamped messages of a result came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// One message in so many of each connection was stamped.
    pub every: NonZeroU32,
    /// Who stamped: `software` is the kernel; `hardware` where the time away of all of them is by the clock
    /// of the network interface.
    pub clock: String,
    /// Stamped messages that could not be taken apart, by reason; they are in every other figure.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub left_out: BTreeMap<String, u64>,
    /// True where the server told its half; without it, how long it had a message is not known.
    pub server_told: bool,
    /// The median of the stamped messages less that of all messages, nanoseconds: what a stamp costs
    /// the message that has it, to the resolution of a distribution. Absent where the 95 % interval of
    /// the former holds the latter, as where messages of very different lengths were sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stamp_costs_ns: Option<i64>,
    /// The whole and its parts. Their means add up.
    pub account: Attribution,
    /// The same of the slowest hundredth of them; absent below 100 messages.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub slowest: Option<SlowestRoundTrips>,
}

/// The slowest of the stamped messages: how many of them, and the means of their parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowestRoundTrips {
    /// The mean of all of them, and their number: a hundredth or a little more.
    pub client: Estimate,
    /// The means of their parts.
    pub parts: Vec<TimePart>,
}

impl SlowestRoundTrips {
    /// The mean and its parts.
    ///
    /// # Errors
    /// [`CannotBeSplit`] when the parts are more than the whole.
    pub fn split(&self) -> Result<Split<PartKind>, CannotBeSplit> {
        split_of_the_same(self.client, &self.parts)
    }
}

/// What the median of `stamped` messages lies above that of all, which is `all_ns`, nanoseconds; `None`
/// unless its distribution-free interval of 95 % does so, too.
fn stamp_costs_ns(stamped: &Histogram, all_ns: u64) -> Option<i64> {
    // the rank of its lower end: half of n less 1.96 standard deviations of a fair coin's count
    let count = real(stamped.count());
    let rank = (0.5 * count - 0.98 * count.sqrt()).floor();
    let is_above = rank >= 1.0 && stamped.quantile(rank / count) > all_ns;
    let costs = stamped.quantile(0.5).saturating_sub(all_ns);
    i64::try_from(costs).ok().filter(|_| is_above)
}

impl RoundTrip {
    /// What came of one stamped message in `every`, where the service times of all messages are
    /// `all`; `None` when none was stamped.
    #[must_use]
    pub fn of(
        times: &RoundTripTimes,
        every: NonZeroU32,
        all: Option<&Distribution>,
    ) -> Option<Self> {
        let left_out: BTreeMap<String, u64> = Unsplit::ALL
            .into_iter()
            .map(|why| (why.name().to_owned(), times.left_out(why)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let names = PARTS.map(|part| part.name.to_owned());
        let kinds = PARTS.map(|part| (part.kind, part.how));
        let source = StepSource {
            subject: "a round trip",
            row: &times.row,
            names: &names,
            round_trip_ns: None,
            telling: Telling::Stamps(&kinds),
        };
        let had = |part: &TimePart| {
            let number = PARTS.iter().position(|known| known.kind == part.kind);
            let own = number.and_then(|number| times.row.told.get(number));
            own.is_some_and(|own| !own.is_empty())
        };
        let stamped = Distribution::of(&times.row.response);
        let account = match Attribution::of_step(source) {
            Some(mut account) => {
                account.parts.retain(had);
                account.percentiles.iter_mut().for_each(|own| own.parts.retain(had));
                account.times.extend(stamped.clone().map(|times| (WHOLE.to_owned(), times)));
                account
            }
            None if left_out.is_empty() => return None,
            None => Attribution::default(),
        };
        let count = times.row.response.count();
        let slowest = (count >= SLOWEST_MIN).then(|| of_the_slowest(source, SLOWEST_ONE_IN));
        let slowest = slowest.flatten().map(|(client, mut parts)| {
            parts.retain(had);
            SlowestRoundTrips { client, parts }
        });
        let server_told = account.parts.iter().any(|part| part.kind == PartKind::Wire);
        Some(Self {
            every,
            clock: match times.by_interface {
                known if known == count && known > 0 => HARDWARE.into(),
                _ => "software".into(),
            },
            left_out,
            server_told,
            stamp_costs_ns: all.and_then(|all| stamp_costs_ns(&times.row.response, all.p50)),
            account,
            slowest,
        })
    }

    /// The same with what the server worked on average on such messages by its own account, which was
    /// taken of others than these: that much of what was away, `how` it was measured. What it exceeds
    /// that by is left out where it is no more than what is not known of the two, or a hundredth. As it
    /// is where it exceeds it by more, and where the server told of the messages themselves.
    #[must_use]
    pub fn with_server(mut self, server: Estimate, how: &str) -> Self {
        let parts = &mut self.account.parts;
        let told = parts.iter().any(|part| part.kind == PartKind::Server);
        let place = parts.iter().position(|part| part.kind == PartKind::Away);
        let Some(at) = place.filter(|_| !told) else { return self };
        let away = parts[at].time;
        let unknown_ns: u64 = [server, away].iter().filter_map(|it| it.half_width_ns).sum();
        let unknown_ns = i64::try_from(unknown_ns).unwrap_or(i64::MAX);
        let most_ns = away.mean_ns.saturating_add(unknown_ns.max(away.mean_ns / 100));
        if (0..=most_ns).contains(&server.mean_ns) {
            let time = Estimate { mean_ns: server.mean_ns.min(away.mean_ns), ..server };
            parts[at].time = away.less(&[time]);
            parts.insert(at + 1, TimePart { kind: PartKind::Server, time, how: how.to_owned() });
        }
        self
    }

    /// The distribution of a part, or of the whole; `None` where there is none.
    #[must_use]
    pub fn times(&self, kind: Option<PartKind>) -> Option<&Distribution> {
        let name = match kind {
            None => WHOLE,
            Some(kind) => PARTS.iter().find(|part| part.kind == kind)?.name,
        };
        self.account.times.get(name)
    }

    /// Messages that were taken apart.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.account.client.count
    }

    /// The mean of a part, nanoseconds; `None` where there is no such part.
    #[must_use]
    pub fn mean_ns(&self, kind: PartKind) -> Option<u64> {
        let part = self.account.parts.iter().find(|part| part.kind == kind)?;
        u64::try_from(part.time.mean_ns).ok()
    }
}
