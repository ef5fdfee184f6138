//! Asks a server how long it had single requests, and what it said.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::num::NonZeroU32;

use plumb_measure::Residence;
use plumb_wire::http::{ASK_HEADER, MessageName, RawHead, StampedRequest, TOLD_HEADER};

/// What was asked on one connection.
///
/// A request is asked for by a name that no other connection uses: a proxy may send requests of several
/// clients over one connection to its server, and what that tells of one may reach another.
#[derive(Debug, Default)]
pub struct StampedRequests {
    /// Requests so far, modulo 2^32.
    requests: u32,
    /// The names of requests are their numbers behind this.
    before: u64,
    /// Heads are looked into: something was asked that was not answered.
    expects: bool,
    /// The number of the request that was asked for last; 0 before there is one.
    asked: u32,
    tells: bool,
    told: Option<(u32, Residence)>,
}

impl StampedRequests {
    /// The request of `out` that begins at `begins` is about to be sent: asks for it, one in `every` and
    /// the first, which has the server begin.
    pub fn ask(&mut self, every: NonZeroU32, begins: usize, out: &mut Vec<u8>) {
        if let Some(name) = self.next(every) {
            name.insert_line(begins, out);
        }
    }

    fn next(&mut self, every: NonZeroU32) -> Option<MessageName> {
        if self.requests == 0 {
            self.before = RandomState::new().build_hasher().finish();
        }
        self.requests = self.requests.wrapping_add(1);
        let asks = self.requests.is_multiple_of(every.get()) && self.tells;
        if !asks && self.requests != 1 {
            return None;
        }
        self.expects = true;
        if !asks {
            return Some(MessageName::default());
        }
        self.asked = self.requests;
        Some(MessageName(self.before.wrapping_add(self.requests.into())))
    }

    /// True when something in the next head may be for us.
    #[inline]
    #[must_use]
    pub fn expects(&self) -> bool {
        self.expects
    }

    /// Reads the `head` of an answer.
    pub fn read(&mut self, head: &RawHead<'_>) {
        self.tells |= head.values(ASK_HEADER).next().is_some();
        self.expects = self.tells && self.asked > 0;
        let told = head.values(TOLD_HEADER).find_map(StampedRequest::read);
        let Some(StampedRequest { name, waking_ns, work_ns, sending_ns }) = told else { return };
        let number = name.0.wrapping_sub(self.before);
        if let Ok(number) = u32::try_from(number)
            && (1..=self.requests).contains(&number)
        {
            self.expects = number != self.asked;
            self.told = Some((number, Residence { waking_ns, work_ns, sending_ns }));
        }
    }

    /// True when the server tells of requests that it is asked for.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.tells
    }

    /// What it told, once.
    pub fn take(&mut self) -> Option<(u32, Residence)> {
        self.told.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(lines: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n").into_bytes()
    }

    fn read(asking: &mut StampedRequests, lines: &str) {
        asking.read(&RawHead::new(&head(lines)));
    }

    fn every(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    #[test]
    fn a_server_that_answers_the_first_request_is_asked_and_tells_later() {
        let mut asking = StampedRequests::default();
        assert_eq!(asking.next(every(3)), Some(MessageName(0)));
        assert!(asking.expects() && !asking.tells());
        read(&mut asking, "Plumb-Stamp: 0\r\n");
        assert!(asking.tells() && !asking.expects());
        assert_eq!(asking.next(every(3)), None);
        let name = asking.next(every(3)).unwrap();
        read(&mut asking, "plumb-stamp: 1\r\n");
        assert_eq!(asking.take(), None);
        assert_eq!(asking.next(every(3)), None);
        let told = StampedRequest { name, waking_ns: 12, work_ns: 3, sending_ns: 4 };
        read(&mut asking, &format!("Plumb-Stamped: {}\r\n", told.value()));
        let residence = Residence { waking_ns: 12, work_ns: 3, sending_ns: 4 };
        assert_eq!(asking.take(), Some((3, residence)));
        assert!(!asking.expects());
        assert_eq!(asking.take(), None);
    }

    #[test]
    fn what_is_told_of_a_request_of_another_connection_is_not_heard() {
        let (mut asking, mut other) = (StampedRequests::default(), StampedRequests::default());
        for asking in [&mut asking, &mut other] {
            asking.next(every(1));
            read(asking, "Plumb-Stamp: 0\r\n");
        }
        let name = other.next(every(1)).unwrap();
        asking.next(every(1));
        let told = StampedRequest { name, ..StampedRequest::default() };
        read(&mut asking, &format!("Plumb-Stamped: {}\r\n", told.value()));
        assert_eq!(asking.take(), None);
    }

    #[test]
    fn of_a_server_that_knows_nothing_of_it_no_more_heads_are_read() {
        let mut asking = StampedRequests::default();
        asking.next(every(1));
        read(&mut asking, "");
        assert!(!asking.expects() && !asking.tells());
        assert_eq!(asking.next(every(1)), None, "asked once");
    }
}
