//! What connections did that spoke HTTP/2.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was seen of HTTP/2 on the connections of a load, the warm-up included. That there are any says
/// that the server's settings came: it spoke HTTP/2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Http2Figures {
    /// Connections on which the server sent its settings.
    pub connections: u64,
    /// Streams that were begun, each with one request.
    pub streams: u64,
    /// Streams under way at the same time on one connection, at most.
    pub streams_at_once: u64,
    /// The fewest streams at the same time that the server allowed; absent where it named no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams_allowed: Option<u64>,
    /// Connections that the server ended in order (GOAWAY with NO_ERROR).
    pub farewells: u64,
    /// Requests that the server had not begun with when it ended a connection in order, and that were
    /// sent again on the next.
    pub sent_again: u64,
    /// Streams that ended with an error, by its code: by the server, or because what came was no
    /// answer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stream_errors: BTreeMap<String, u64>,
    /// Connections that ended with an error, by its code: by the server, or because it broke the
    /// protocol.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub connection_errors: BTreeMap<String, u64>,
}

impl Http2Figures {
    /// What connections did together; `None` where none came to stand.
    #[must_use]
    pub fn of_all<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut sum = Self::default();
        all.into_iter().for_each(|figures| sum.merge(figures));
        (sum.connections > 0).then_some(sum)
    }

    /// Adds what other connections did.
    pub fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.streams += other.streams;
        self.streams_at_once = self.streams_at_once.max(other.streams_at_once);
        let limits = [self.streams_allowed, other.streams_allowed];
        self.streams_allowed = limits.into_iter().flatten().min();
        self.farewells += other.farewells;
        self.sent_again += other.sent_again;
        for (mine, theirs) in [
            (&mut self.stream_errors, &other.stream_errors),
            (&mut self.connection_errors, &other.connection_errors),
        ] {
            for (code, n) in theirs {
                *mine.entry(code.clone()).or_default() += n;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_several_threads_add_up_and_the_least_limit_stands() {
        let errors = |code: &str, n| BTreeMap::from([(code.to_owned(), n)]);
        let mut one = Http2Figures {
            connections: 1,
            streams_at_once: 3,
            stream_errors: errors("CANCEL", 2),
            ..Http2Figures::default()
        };
        let other = Http2Figures {
            connections: 2,
            streams_at_once: 2,
            streams_allowed: Some(100),
            stream_errors: errors("CANCEL", 1),
            connection_errors: errors("PROTOCOL_ERROR", 1),
            ..Http2Figures::default()
        };
        assert_eq!(Http2Figures::of_all([&Http2Figures::default()]), None);
        let sum = Http2Figures::of_all([&one, &other]);
        one.merge(&other);
        assert_eq!(sum.as_ref(), Some(&one));
        assert_eq!((one.connections, one.streams_at_once, one.streams_allowed), (3, 3, Some(100)));
        assert_eq!((one.stream_errors, one.connection_errors.len()), (errors("CANCEL", 3), 1));
    }
}
