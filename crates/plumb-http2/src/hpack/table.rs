//! The tables that header blocks refer to.

use std::collections::VecDeque;

/// Fields that both sides know, by their number from one.
///
/// # Source
/// RFC 7541, appendix A.
const KNOWN: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Bytes that each entry takes beside its own.
const ENTRY_BYTES: usize = 32;
/// Bytes of the entries together, as long as nobody agreed to more.
pub(super) const TABLE_BYTES: usize = 4_096;

/// The number of a field that both sides know: with this value, or else with this name.
pub(super) fn known(name: &[u8], value: &[u8]) -> (Option<usize>, Option<usize>) {
    let mut of_name = None;
    for (at, (its_name, its_value)) in KNOWN.iter().enumerate() {
        if its_name.as_bytes() == name {
            of_name = of_name.or(Some(at + 1));
            if its_value.as_bytes() == value {
                return (Some(at + 1), of_name);
            }
        }
    }
    (None, of_name)
}

/// A field that came before.
#[derive(Debug, Default)]
struct Entry {
    /// Name, then value.
    text: Vec<u8>,
    name_bytes: usize,
}

/// Fields that came before on the connection, the last first.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    bytes: usize,
    limit: usize,
    /// Grows with every change.
    generation: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self { entries: VecDeque::new(), bytes: 0, limit: TABLE_BYTES, generation: 0 }
    }
}

impl Table {
    /// Name and value of the field with number `index`.
    pub(super) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let at = index.checked_sub(1)?;
        match KNOWN.get(at) {
            Some((name, value)) => Some((name.as_bytes(), value.as_bytes())),
            None => {
                let entry = self.entries.get(at - KNOWN.len())?;
                Some(entry.text.split_at(entry.name_bytes))
            }
        }
    }

    /// Puts a field before all others; what is too many goes.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let needed = name.len() + value.len() + ENTRY_BYTES;
        let mut entry = self.shrink(self.limit.saturating_sub(needed)).unwrap_or_default();
        if needed > self.limit {
            return;
        }
        entry.text.clear();
        entry.text.extend_from_slice(name);
        entry.text.extend_from_slice(value);
        entry.name_bytes = name.len();
        self.entries.push_front(entry);
        self.bytes += needed;
        self.generation += 1;
    }

    /// Takes no more than `limit` bytes from now on.
    pub(super) fn limit(&mut self, limit: usize) {
        self.generation += u64::from(limit != self.limit);
        self.limit = limit;
        self.shrink(limit);
    }

    /// Grows with every change: what a block meant that changed nothing, it means again.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Lets entries go until the others take `most` bytes; the last of those that went.
    fn shrink(&mut self, most: usize) -> Option<Entry> {
        let mut gone = None;
        while self.bytes > most
            && let Some(entry) = self.entries.pop_back()
        {
            self.bytes -= entry.text.len() + ENTRY_BYTES;
            self.generation += 1;
            gone = Some(entry);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_fields_are_found_by_value_or_by_name() {
        assert_eq!(known(b":method", b"POST"), (Some(3), Some(2)));
        assert_eq!(known(b":path", b"/x"), (None, Some(4)));
        assert_eq!(known(b"x-a", b""), (None, None));
        assert_eq!(known(b"www-authenticate", b""), (Some(61), Some(61)));
    }

    #[test]
    fn the_oldest_entries_go_first_and_a_large_one_empties_the_table() {
        let mut table = Table::default();
        table.limit(2 * (32 + 2));
        table.insert(b"a", b"1");
        table.insert(b"b", b"2");
        assert_eq!(table.get(62), Some((&b"b"[..], &b"2"[..])));
        assert_eq!(table.get(63), Some((&b"a"[..], &b"1"[..])));
        table.insert(b"c", b"3");
        assert_eq!((table.get(62).unwrap().0, table.get(63).unwrap().0), (&b"c"[..], &b"b"[..]));
        assert_eq!(table.get(64), None);
        table.insert(b"d", &[0; 100]);
        assert_eq!((table.get(62), table.bytes), (None, 0));
        assert_eq!(table.get(0), None);
    }

    #[test]
    fn an_empty_table_without_room_stays_as_it_was() {
        let mut table = Table::default();
        table.limit(0);
        let before = table.generation();
        table.insert(b"a", b"1");
        table.limit(0);
        assert_eq!(table.generation(), before);
        table.limit(100);
        assert!(table.generation() > before);
    }
}
