//! What servers say of their own time, and the account that follows from it.

use std::collections::BTreeMap;

use plumb_engine::LoadResult;
use plumb_measure::{
    Attribution, Distribution, PartRecord, Row, ServerHalf, ServerTimes, StepSource, Telling,
    ToldNames,
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

    /// How long the server worked on an answer that told these times: what it calls the whole, else the
    /// longest of them, as others may be parts of it or go on at the same time.
    pub(crate) fn server_half(&self, told: ServerTimes) -> ServerHalf {
        let whole = told.iter().find(|(number, _)| self.names.is_whole(*number));
        let longest = || told.iter().max_by_key(|(_, ns)| *ns);
        whole.or_else(longest).map_or(ServerHalf::Unknown, |(_, ns)| ServerHalf::Said(ns))
    }

    /// The times in `head`, each name once: a whole that is told twice, as by a gateway and the server
    /// behind it, is the longer of both; of anything else the times are added up.
    pub(crate) fn read(&mut self, head: &RawHead<'_>) -> ServerTimes {
        let mut kept = [(0, 0); ServerTimes::MAX];
        let mut count = 0;
        for found in told(head) {
            let Some(name) = self.names.number(found.name) else {
                self.untold += 1;
                continue;
            };
            match kept[..count].iter_mut().find(|(known, _)| *known == name) {
                Some((_, ns)) if self.names.is_whole(name.into()) => *ns = found.ns.max(*ns),
                Some((_, ns)) => *ns = found.ns.saturating_add(*ns),
                None if count < ServerTimes::MAX => {
                    kept[count] = (name, found.ns);
                    count += 1;
                }
                None => self.untold += 1,
            }
        }
        let mut times = ServerTimes::default();
        for (name, ns) in &kept[..count] {
            times.push(*name, *ns);
        }
        times
    }
}

/// `part`, whose operations are those of `row` of `load`, with what the server told and where the time
/// went.
pub(crate) fn accounted<P>(part: PartRecord, row: &Row, load: &LoadResult<P>) -> PartRecord {
    let names = &load.told_names[..];
    let round_trip_ns = load.tcp.map(|tcp| tcp.rtt_min_ns).filter(|ns| *ns > 0);
    let source =
        StepSource { subject: &part.name, row, names, round_trip_ns, telling: Telling::Answers };
    let attribution = Attribution::of_step(source);
    PartRecord { told_ns: by_name(row, names), attribution, ..part }
}

/// Accounts for `parts`, whose operations are those of the last rows of `load`.
pub(crate) fn account_all<P>(parts: &mut Vec<PartRecord>, load: &LoadResult<P>) {
    let rows = load.recorder.rows();
    let Some(first) = rows.len().checked_sub(parts.len()) else { return };
    let both = std::mem::take(parts).into_iter().zip(&rows[first..]);
    *parts = both.map(|(part, row)| accounted(part, row, load)).collect();
}

/// The times that the server told of itself, by name.
fn by_name(row: &Row, names: &[String]) -> BTreeMap<String, Distribution> {
    let named = names.iter().zip(&row.told);
    named.filter_map(|(name, times)| Some((name.clone(), Distribution::of(times)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_in_an_answer_is_one_time() {
        let mut heard = Heard::default();
        let head = b"HTTP/1.1 200 OK\r\nServer-Timing: total;dur=100\r\n\
            Server-Timing: db;dur=10, total;dur=90, db;dur=12\r\n\r\n";
        let times = heard.read(&RawHead::new(head));
        let names = heard.names();
        let named: Vec<_> = times.iter().map(|(name, ns)| (names[name].as_str(), ns)).collect();
        assert_eq!(named, [("total", 100_000_000), ("db", 22_000_000)]);
        assert_eq!(heard.untold(), 0);
    }
}
