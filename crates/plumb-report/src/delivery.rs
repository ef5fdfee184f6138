//! What became of accepted messages, in a sentence a result.

use maud::{Markup, html};
use plumb_measure::{Delivery, RunRecord, Scope, counted, show_count, show_ns};

use crate::points::Points;

/// One sentence a result that was looked after, with the name of the result where there are several.
pub(crate) fn sentences(record: &RunRecord) -> Vec<String> {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    let of_one = |result: &&plumb_measure::ResultRecord| {
        let sentence = sentence(result.delivery.as_ref()?);
        let name = if several { format!("{}: ", points.name(result)) } else { String::new() };
        Some(name + &sentence)
    };
    points.results.iter().filter_map(of_one).collect()
}

/// The section of a page; nothing where nobody looked.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let sentences = sentences(record);
    html! {
        @if !sentences.is_empty() {
            section {
                h2 { "What became of the messages" }
                @for sentence in &sentences { p { (sentence) } }
            }
        }
    }
}

fn sentence(delivery: &Delivery) -> String {
    let closes = !delivery.findings().iter().any(|finding| finding.scope == Scope::Everything);
    let verdict = if closes { "the count closes" } else { "the count does not close" };
    let rate = match (delivery.rows_per_s(), delivery.span_ns) {
        (Some(rate), Some(span_ns)) => format!(
            ", {} rows/s by its time stamps, first to last {}",
            show_count(rate),
            show_ns(span_ns)
        ),
        _ => String::new(),
    };
    format!(
        "{}: {verdict}. {} in {}{rate}; the warm-up is counted here.",
        delivery.sentence(),
        counted(delivery.rows, "row"),
        delivery.sink
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_where_the_messages_are_and_whether_they_are_all_there() {
        let closed = Delivery {
            sink: "table t of SQLite, x.db".into(),
            accepted: 1_000,
            rows: 994,
            rows_each: 1,
            dead: 6,
            span_ns: Some(500_000_000),
            step_ns: 1_000,
            ..Delivery::default()
        };
        assert_eq!(
            sentence(&closed),
            "1,000 accepted, 994 in the table, 6 dead, 0 waiting: the count closes. 994 rows in \
             table t of SQLite, x.db, 1988 rows/s by its time stamps, first to last 500 ms; the \
             warm-up is counted here."
        );
        let lost = sentence(&Delivery { dead: 5, span_ns: None, ..closed });
        assert!(lost.contains("5 dead, 0 waiting: the count does not close. 994 rows"), "{lost}");
    }
}
