//! On which processors client, server and receiving ran, for people.

use plumb_measure::{Placement, ProcessorShare, RunRecord};

use crate::points::Points;

/// A processor with less of the work, percent, is not worth a word.
const WORTH_PCT: f64 = 10.0;
/// Work on so much of one processor, percent, is on it alone.
const ALONE_PCT: f64 = 90.0;
/// Processors that are named.
const NAMED: usize = 4;
/// Results that are named when they differ.
const RESULTS_MAX: usize = 4;

/// On which processors the work was done, over all results; `None` where that was not looked at.
pub(crate) fn all(record: &RunRecord) -> Option<String> {
    let points = Points::of(record);
    let each = points.results.iter().filter_map(|result| {
        let words = words(result.host.as_ref()?.placement.as_ref()?)?;
        Some((result.name(), words))
    });
    let each: Vec<(String, String)> = each.collect();
    let (_, first) = each.first()?;
    if each.iter().all(|(_, words)| words == first) {
        return Some(first.clone());
    }
    if each.len() > RESULTS_MAX {
        return Some("differ from result to result: see `seats` in run.json".into());
    }
    let named: Vec<String> = each.iter().map(|(name, words)| format!("{name}: {words}")).collect();
    Some(named.join("; "))
}

fn words(placement: &Placement) -> Option<String> {
    let side =
        |name: &str, shares: &[ProcessorShare]| cpus(shares).map(|cpus| format!("{name} {cpus}"));
    let sides = [
        side("client", &placement.client),
        side("server", &placement.server),
        side("receiving", &placement.receive),
    ];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    let together = match placement.same_core {
        Some(true) => " (client and server on the same core)",
        Some(false) => " (client and server on different cores)",
        None => "",
    };
    (!sides.is_empty()).then(|| sides.join(", ") + together)
}

/// `CPU 0`, or `CPUs 0 (60 %) and 1 (40 %)`.
fn cpus(shares: &[ProcessorShare]) -> Option<String> {
    let first = shares.first()?;
    if first.share_pct >= ALONE_PCT {
        return Some(format!("CPU {}", first.cpu));
    }
    let worth = shares.iter().filter(|it| it.share_pct >= WORTH_PCT);
    let named: Vec<String> =
        worth.take(NAMED).map(|it| format!("{} ({:.0} %)", it.cpu, it.share_pct)).collect();
    match named.as_slice() {
        [] => Some("many CPUs".into()),
        [only] => Some(format!("CPU {only}")),
        [most @ .., last] => Some(format!("CPUs {} and {last}", most.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(list: &[(u32, f64)]) -> Vec<ProcessorShare> {
        list.iter()
            .map(|(cpu, share_pct)| ProcessorShare { cpu: *cpu, share_pct: *share_pct })
            .collect()
    }

    #[test]
    fn everybody_is_named_with_the_processors_that_matter() {
        let both = Placement {
            client: shares(&[(0, 99.0), (1, 1.0)]),
            server: shares(&[(1, 60.0), (0, 38.0), (2, 2.0)]),
            receive: shares(&[(1, 80.0), (3, 4.0)]),
            same_core: Some(false),
        };
        assert_eq!(
            words(&both).as_deref(),
            Some(
                "client CPU 0, server CPUs 1 (60 %) and 0 (38 %), receiving CPU 1 (80 %) (client \
                 and server on different cores)"
            )
        );
        let alone = Placement { client: shares(&[(0, 100.0)]), ..Placement::default() };
        assert_eq!(words(&alone).as_deref(), Some("client CPU 0"));
        assert_eq!(words(&Placement::default()), None);
    }
}
