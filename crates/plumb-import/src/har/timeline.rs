//! When a person thought: the gaps of a recording in which nothing happened.

use std::collections::BTreeSet;

use plumb_measure::Span;

use super::read::Seen;

/// Finds the think time behind each of `seen`, which stand in the order of their beginnings.
///
/// Between two pages it is the time from the last answer to the first request of the next page.
/// Inside a page it is a time of at least `least` in which nothing was under way: a page whose
/// scripts go on asking has think times, too. A request that outlasts a page, such as one that
/// waits for events, does not hide the gap between pages.
pub(super) fn find_thinks(seen: &mut [Seen<'_>], least: Span) {
    let mut ends = BTreeSet::new();
    for next in 1..seen.len() {
        ends.insert(seen[next - 1].end_ns);
        let start = seen[next].start_ns;
        let new_page = seen[next].entry.pageref != seen[next - 1].entry.pageref;
        let end = if new_page { ends.range(..=start).next_back() } else { ends.last() };
        let gap = end.map_or(0, |end| start - end);
        let enough = if new_page { 1 } else { i128::from(least.ns()).max(1) };
        if gap >= enough {
            seen[next - 1].think_ms = rounded(gap);
        }
    }
}

/// Takes out the one at `at`; the time that somebody thought behind it stands behind the one before.
pub(super) fn remove(seen: &mut Vec<Seen<'_>>, at: usize) {
    let think_ms = seen.remove(at).think_ms;
    if let Some(before) = at.checked_sub(1).map(|before| &mut seen[before]) {
        before.think_ms = before.think_ms.saturating_add(think_ms);
    }
}

/// Leaves out what is not to be kept. The time that somebody thought behind it was thought all the
/// same: it stands behind what was asked before.
pub(super) fn keep<'e>(seen: &mut Vec<Seen<'e>>, mut is_kept: impl FnMut(&Seen<'e>) -> bool) {
    let mut kept: Vec<Seen<'e>> = Vec::with_capacity(seen.len());
    for one in seen.drain(..) {
        if is_kept(&one) {
            kept.push(one);
        } else if let Some(before) = kept.last_mut() {
            before.think_ms = before.think_ms.saturating_add(one.think_ms);
        }
    }
    *seen = kept;
}

/// To milliseconds, as recordings are rarely finer; a gap below half of one is none.
fn rounded(ns: i128) -> u64 {
    u64::try_from((ns + 500_000) / 1_000_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use plumb_scenario::har::Entry;
    use plumb_wire::http::Url;

    use super::*;

    /// Beginnings and ends in milliseconds, each with its page.
    fn of(times: &[(i128, i128, &str)]) -> Vec<u64> {
        with(times, |seen| seen.iter().map(|one| one.think_ms).collect())
    }

    fn with<T>(times: &[(i128, i128, &str)], look: impl FnOnce(&mut Vec<Seen<'_>>) -> T) -> T {
        let entry = r#"{"startedDateTime":"","time":0,"request":{"method":"GET","url":""},
            "response":{"status":200,"content":{}},"timings":{"send":0,"wait":0,"receive":0}}"#;
        let entry: Entry = serde_json::from_str(entry).unwrap();
        let entries: Vec<Entry> = times
            .iter()
            .map(|(_, _, page)| Entry {
                pageref: (!page.is_empty()).then(|| (*page).to_owned()),
                ..entry.clone()
            })
            .collect();
        let mut seen: Vec<Seen<'_>> = times
            .iter()
            .zip(&entries)
            .map(|((start, end, _), entry)| {
                let url = Url::parse("http://h/").unwrap();
                Seen::new((1, entry), url, (start * 1_000_000, end * 1_000_000))
            })
            .collect();
        find_thinks(&mut seen, Span::from_ms(200));
        look(&mut seen)
    }

    #[test]
    fn what_is_left_out_leaves_its_think_time() {
        let times = [(0, 10, "a"), (20, 30, "a"), (1030, 1040, "b"), (3040, 3050, "c")];
        let left = with(&times, |seen| {
            let mut at = 0;
            keep(seen, |_| {
                at += 1;
                at == 1 || at == 4
            });
            seen.iter().map(|one| one.think_ms).collect::<Vec<_>>()
        });
        assert_eq!(left, [3000, 0]);
    }

    #[test]
    fn a_page_thinks_when_nothing_is_under_way() {
        // two requests side by side, a short gap, and one of a second
        let thinks = of(&[(0, 100, "p"), (10, 300, "p"), (320, 400, "p"), (1400, 1500, "p")]);
        assert_eq!(thinks, [0, 0, 1000, 0]);
    }

    #[test]
    fn between_pages_every_gap_counts_even_beside_a_request_that_waits() {
        let thinks = of(&[(0, 100, "a"), (50, 9000, "a"), (130, 200, "b"), (5200, 5300, "c")]);
        assert_eq!(thinks, [0, 30, 5000, 0]);
        // without pages only what is long enough
        assert_eq!(of(&[(0, 100, ""), (130, 200, ""), (5200, 5300, "")]), [0, 5000, 0]);
    }

    #[test]
    fn pages_that_overlap_leave_no_gap() {
        assert_eq!(of(&[(0, 100, "a"), (50, 80, "b")]), [0, 0]);
        assert_eq!(of(&[]), [0; 0]);
    }
}
