//! A page as it comes, drawn: the first one on a fresh connection, and the mean of those after it.

use maud::{Markup, html};
use plumb_measure::{PartRecord, ResultRecord, RunRecord, show_ns};

use super::name::names;
use crate::figures::{real, typeset};
use crate::points::Points;
use crate::scenarios;
use crate::trust::Trust;

/// Pages that are drawn; of more the tables tell.
const PAGES_MAX: usize = 12;

/// A stage of a page: its name, the class of its colour, and how long it took, nanoseconds.
type Stage = (&'static str, &'static str, u64);

/// True where the pages of a record are drawn; then no table need tell the same.
pub(crate) fn is_for(record: &RunRecord) -> bool {
    let parts = record.results.iter().map(|result| result.parts.len()).sum::<usize>();
    let pages = record.plan.layer == "http" && !scenarios::are_in(record);
    pages && parts <= PAGES_MAX && record.results.iter().flat_map(|it| &it.parts).any(has_times)
}

/// The pages; nothing where they are not drawn.
pub(crate) fn section(record: &RunRecord) -> Markup {
    if !is_for(record) {
        return html! {};
    }
    let points = Points::of(record);
    let several = points.results.len() > 1;
    html! {
        section {
            h2 { "A page as it comes" }
            p class="about" {
                "On the same axis: the first answer of all, on a fresh connection before the warm-up, and the "
                "mean of the answers that count, whose connection stands. Wait: from the send to the first "
                "byte. Receive: from the first byte to the last; none when one read brought both."
            }
            @for result in &points.results {
                @for (name, part) in names(&result.parts).into_iter().zip(&result.parts) {
                    @if has_times(part) {
                        @let own = if several { format!("{}: {name}", points.name(result)) } else { name };
                        (page(&own, part, result))
                    }
                }
            }
        }
    }
}

fn has_times(part: &PartRecord) -> bool {
    part.service_ns.is_some()
}

fn page(name: &str, part: &PartRecord, result: &ResultRecord) -> Markup {
    let first = first(part);
    let mean = mean(part);
    let whole = |stages: &[Stage]| stages.iter().map(|(_, _, ns)| *ns).sum::<u64>();
    let longest = whole(&first).max(whole(&mean)).max(1);
    let trust = Trust::of(&result.validity);
    html! {
        div class={ "stack" @if !trust.is_full() { " doubt" } } {
            h3 { (name) @if !trust.is_full() { " (" (trust.denial()) ")" } }
            div class="falls" {
                @if !first.is_empty() { (lanes("The first answer", &first, longest)) }
                (lanes("The mean of the others", &mean, longest))
            }
        }
    }
}

fn first(part: &PartRecord) -> Vec<Stage> {
    let Some(hit) = part.first_hit else { return Vec::new() };
    let tls = hit.tls_ns.map(|ns| ("TLS", "k-door", ns));
    let receive = hit.last_byte_ns.saturating_sub(hit.first_byte_ns);
    let connect = [("connect", "k-connect", hit.connect_ns)];
    let answer = [("wait", "k-server", hit.first_byte_ns), ("receive", "k-transfer", receive)];
    connect.into_iter().chain(tls).chain(answer).collect()
}

fn mean(part: &PartRecord) -> Vec<Stage> {
    let Some(whole) = part.service_ns.as_ref().map(|times| times.mean) else { return Vec::new() };
    let wait = part.first_byte_ns.as_ref().map_or(whole, |times| times.mean).min(whole);
    vec![("wait", "k-server", wait), ("receive", "k-transfer", whole - wait)]
}

/// The stages one below the other, each where the one before ended.
fn lanes(title: &str, stages: &[Stage], longest: u64) -> Markup {
    let share = |ns: u64| 100.0 * real(ns) / real(longest);
    let before = stages.iter().scan(0, |at, (_, _, ns)| {
        let start = *at;
        *at += ns;
        Some(start)
    });
    let whole: u64 = stages.iter().map(|(_, _, ns)| *ns).sum();
    html! {
        figure class="waterfall" {
            figcaption { (title) ": " (typeset(&show_ns(whole))) }
            @for ((name, class, ns), start) in stages.iter().zip(before) {
                div class="fall" {
                    span class="what" { (name) }
                    span class="lane" {
                        span class={ "seg " (class) }
                            style=(format!("left:{:.2}%;width:{:.2}%", share(start), share(*ns))) {}
                    }
                    span class="value" { (typeset(&show_ns(*ns))) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Distribution, FirstHit, Histogram};

    use super::*;

    fn times(ns: u64) -> Option<Distribution> {
        let mut histogram = Histogram::new();
        histogram.record_n(ns, 10);
        Distribution::of(&histogram)
    }

    #[test]
    fn the_stages_of_a_page_follow_each_other_and_are_its_whole() {
        let hit = FirstHit {
            connect_ns: 80_000,
            tls_ns: Some(900_000),
            first_byte_ns: 500_000,
            last_byte_ns: 520_000,
            length: 6_000,
        };
        let part = PartRecord {
            first_hit: Some(hit),
            service_ns: times(200_000),
            first_byte_ns: times(150_000),
            ..PartRecord::default()
        };
        let sum = |stages: &[Stage]| stages.iter().map(|it| it.2).sum::<u64>();
        let (first, mean) = (first(&part), mean(&part));
        assert_eq!(sum(&first), 80_000 + 900_000 + 520_000);
        assert_eq!(sum(&mean), part.service_ns.as_ref().unwrap().mean);
        let drawn = lanes("x", &first, sum(&first)).into_string();
        assert!(drawn.contains("left:5.33%;width:60.00%"), "{drawn}");
        assert!(drawn.contains("1.50\u{a0}ms"), "{drawn}");
    }
}
