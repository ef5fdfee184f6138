//! What was spoken where HTTP/2 was asked for, and what came of it.

use std::collections::BTreeMap;

use plumb_measure::{Http2Figures, RunRecord, counted};

use crate::figures::grouped;

/// What connections that spoke HTTP/2 did in all results together; `None` where none did.
pub(crate) fn words(record: &RunRecord) -> Option<String> {
    let mut results = record.results.iter().filter_map(|result| result.http2.as_ref());
    let mut all = results.next()?.clone();
    results.for_each(|other| all.merge(other));
    Some(said(&all))
}

fn said(figures: &Http2Figures) -> String {
    let allowed = match figures.streams_allowed {
        None => "the server names no limit".into(),
        Some(most) => format!("the server allows {}", grouped(most)),
    };
    let mut words = vec![format!(
        "spoken on {}: {}, up to {} at once on each ({allowed})",
        counted(figures.connections, "connection"),
        counted(figures.streams, "stream"),
        grouped(figures.streams_at_once),
    )];
    if figures.farewells > 0 {
        words.push(format!(
            "the server ended {} in order, {} sent again",
            counted(figures.farewells, "connection"),
            counted(figures.sent_again, "request"),
        ));
    }
    for (name, errors) in
        [("streams", &figures.stream_errors), ("connections", &figures.connection_errors)]
    {
        if !errors.is_empty() {
            words.push(format!("{name} that ended with an error: {}", listed(errors)));
        }
    }
    words.join("; ")
}

fn listed(errors: &BTreeMap<String, u64>) -> String {
    let words: Vec<String> =
        errors.iter().map(|(code, n)| format!("{code} {}", grouped(*n))).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_happen_is_not_spoken_of() {
        let plain = Http2Figures {
            connections: 1,
            streams: 1_200,
            streams_at_once: 10,
            ..Http2Figures::default()
        };
        let first = "spoken on 1 connection: 1,200 streams, up to 10 at once on each";
        assert_eq!(said(&plain), format!("{first} (the server names no limit)"));
        let much = Http2Figures {
            streams_allowed: Some(128),
            farewells: 1,
            sent_again: 9,
            stream_errors: BTreeMap::from([("REFUSED_STREAM".into(), 2), ("CANCEL".into(), 1)]),
            connection_errors: BTreeMap::from([("PROTOCOL_ERROR".into(), 1)]),
            ..plain
        };
        assert_eq!(
            said(&much),
            format!(
                "{first} (the server allows 128); the server ended 1 connection in order, 9 requests \
                 sent again; streams that ended with an error: CANCEL 1, REFUSED_STREAM 2; connections \
                 that ended with an error: PROTOCOL_ERROR 1"
            )
        );
    }
}
