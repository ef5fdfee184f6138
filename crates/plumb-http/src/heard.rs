//! What servers say of their own time, and the account that follows from it.

use std::collections::BTreeMap;

use plumb_engine::LoadResult;
use plumb_measure::{
    Attribution, Distribution, PartRecord, Row, ServerTimes, StepSource, Telling, ToldNames,
};
use plumb_wire::http::{RawHead, told};

/// Reads the times in heads; the numbers of their names are those of every thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    names: ToldNames,
    /// Times that were told but had no room.
    untold: u64,
}

impl Heard {
    /// A reader with the numbers of `names`.
    pub(crate) fn with(names: ToldNames) -> Self {
        Self { names, untold: 0 }
    }

    /// The names of the times, by their numbers.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.all()
    }

    /// Times that were told but not kept, because there were too many.
    pub(crate) fn untold(&self) -> u64 {
        self.untold
    }

    /// The times in `head`.
    pub(crate) fn read(&mut self, head: &RawHead<'_>) -> ServerTimes {
        let mut times = ServerTimes::default();
        for found in told(head) {
            let name = self.names.number(found.name);
            let kept = name.is_some_and(|name| times.push(name, found.ns));
            self.untold += u64::from(!kept);
        }
        times
    }
}

/// `part`, whose operations are those of `row`, with what the server told under `names` and where
/// the time went.
pub(crate) fn accounted<P>(
    part: PartRecord,
    row: &Row,
    names: &[String],
    load: &LoadResult<P>,
) -> PartRecord {
    let round_trip_ns = load.tcp.map(|tcp| tcp.rtt_min_ns).filter(|ns| *ns > 0);
    let source =
        StepSource { subject: &part.name, row, names, round_trip_ns, telling: Telling::Answers };
    let attribution = Attribution::of_step(source);
    PartRecord { told_ns: by_name(row, names), attribution, ..part }
}

/// The times that the server told of itself, by name.
fn by_name(row: &Row, names: &[String]) -> BTreeMap<String, Distribution> {
    let named = names.iter().zip(&row.told);
    named.filter_map(|(name, times)| Some((name.clone(), Distribution::of(times)?))).collect()
}
