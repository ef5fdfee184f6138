//! One span, as far as it says where time went.

use std::sync::Arc;

use plumb_measure::{PartKind, TraceId};

/// Characters of a name that are kept.
const NAME_MAX: usize = 48;

/// The number of a span in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub [u8; 8]);

/// What a span is of.
///
/// # Source
/// `opentelemetry/proto/trace/v1/trace.proto`, `Span.SpanKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanKind {
    /// Work within a service.
    Internal,
    /// A request, as the service that answers it sees it.
    Server,
    /// A request, as the service that asks sees it.
    Client,
    /// A message, as the service that sends it sees it.
    Producer,
    /// A message, as the service that takes it sees it.
    Consumer,
}

impl SpanKind {
    /// The kind with this number; without one, or with one that nobody knows, it is internal, as the
    /// specification says.
    #[must_use]
    pub fn of_number(number: i64) -> Self {
        match number {
            2 => Self::Server,
            3 => Self::Client,
            4 => Self::Producer,
            5 => Self::Consumer,
            _ => Self::Internal,
        }
    }

    /// True where its parent may be of another process, and so of another clock.
    #[must_use]
    pub fn begins_a_service(self) -> bool {
        matches!(self, Self::Server | Self::Consumer)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Server => "server",
            Self::Client => "client",
            Self::Producer => "producer",
            Self::Consumer => "consumer",
        }
    }
}

/// Who did it, and what: spans with the same are one part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpanPart {
    service: Arc<str>,
    kind: SpanKind,
    /// The database that was called.
    database: Option<Arc<str>>,
}

impl SpanPart {
    /// The part of spans of `kind` in `service` that call `database`, if they call one. Of each name
    /// the first 48 printable characters are kept.
    #[must_use]
    pub fn new(service: &str, kind: SpanKind, database: Option<&str>) -> Self {
        let kept = |name: &str| -> Arc<str> {
            let printable = name.chars().filter(|it| !it.is_control());
            printable.take(NAME_MAX).collect::<String>().into()
        };
        let service = if service.is_empty() { "unnamed service" } else { service };
        Self { service: kept(service), kind, database: database.map(kept) }
    }

    /// What time of it was spent on.
    #[must_use]
    pub fn part_kind(&self) -> PartKind {
        match (&self.database, self.kind) {
            (Some(_), _) => PartKind::Database,
            (None, SpanKind::Client | SpanKind::Producer) => PartKind::Called,
            (None, SpanKind::Internal | SpanKind::Server | SpanKind::Consumer) => PartKind::Server,
        }
    }

    /// It in words: `orders server`, `orders client postgresql`.
    #[must_use]
    pub fn name(&self) -> String {
        let database = self.database.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        format!("{} {}{database}", self.service, self.kind.word())
    }
}

/// A stretch of work of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The trace it belongs to.
    pub trace: TraceId,
    /// Its number.
    pub id: SpanId,
    /// The span that caused it.
    pub parent: Option<SpanId>,
    /// Whose clock its times are of: spans with the same number may be placed beside each other, of
    /// others only durations mean anything.
    pub clock: u64,
    /// What its kind is.
    pub kind: SpanKind,
    /// What it counts as.
    pub part: SpanPart,
    /// When it began, nanoseconds on its own clock.
    pub start_ns: u64,
    /// When it ended; not before it began.
    pub end_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_called_by_its_service_its_kind_and_its_database() {
        let part = |kind, database| SpanPart::new("orders", kind, database);
        let client = part(SpanKind::Client, Some("postgresql"));
        assert_eq!(
            (client.name().as_str(), client.part_kind()),
            ("orders client postgresql", PartKind::Database)
        );
        assert_eq!(part(SpanKind::Client, None).part_kind(), PartKind::Called);
        assert_eq!(part(SpanKind::of_number(2), None).name(), "orders server");
        assert_eq!(SpanKind::of_number(77), SpanKind::Internal);
        let hostile = SpanPart::new(&"\x1b[2J€".repeat(100), SpanKind::Server, None);
        assert!(hostile.name().starts_with("[2J€[2J"));
        assert_eq!(hostile.name().chars().count(), NAME_MAX + " server".len());
        assert_eq!(SpanPart::new("", SpanKind::Server, None).name(), "unnamed service server");
    }
}
