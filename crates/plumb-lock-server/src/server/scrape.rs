//! Prometheus, which asks over HTTP on the port that everybody uses.
//!
//! A request line reads as three words of one line, which no command of ours has behind GET. It is
//! answered once its head is there, and nothing in or behind the head is taken for a command.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_engine::Served;
use plumb_lock_table::table::Rules;
use plumb_measure::Clock;
use plumb_wire::prometheus::{self, HEAD_BYTES_MAX, Page};

use super::LockServer;
use super::connection::same;
use super::guesses::Turn;
use super::words::Command;

/// True for the line `GET path HTTP/1.x`.
pub(super) fn is_request(command: Command<'_>) -> bool {
    let line = !command.bytes.starts_with(b"*");
    line && command.len() == 3 && command.get(2).starts_with(b"HTTP/1.")
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// Answers the request that `bytes` begin with, behind `before` bytes that are dealt with.
    pub(super) fn page(
        &mut self,
        client: usize,
        (bytes, before): (&[u8], usize),
        out: &mut Vec<u8>,
    ) -> Served {
        let Some(head) = prometheus::head(bytes) else {
            let endless = bytes.len() > HEAD_BYTES_MAX;
            if endless {
                self.counts.errors += 1;
            } else {
                self.counts.commands -= 1; // it is looked at again
            }
            return Served { consumed: before, close: endless, ..Served::default() };
        };
        let (end, head) = (head.len(), String::from_utf8_lossy(head));
        let open = self.plan.password.is_none() && self.plan.users.is_none();
        let known = open || self.knows(client, login_of(&head));
        let asked = match &self.plan.users {
            Some(_) => "a user of this server and its password",
            None => "the password, with any user",
        };
        let page = match known {
            true => Page::of(&head, || self.metrics()),
            false => Page::locked("locks", asked),
        };
        self.counts.errors += u64::from(!page.found);
        out.extend_from_slice(page.text.as_bytes());
        Served { consumed: before + end, close: true, ..Served::default() }
    }

    /// True when the password of a request is right. Behind wrong ones it is not looked at before
    /// its time: the request is refused.
    fn knows(&mut self, client: usize, given: Option<(Vec<u8>, Vec<u8>)>) -> bool {
        let Some((user, given)) = given else {
            return false;
        };
        let right = match (&self.plan.users, &self.plan.password) {
            (Some(users), _) => users.prove(&user, &given).is_some(),
            (None, Some(expected)) => same(expected, &given),
            (None, None) => false,
        };
        let Some(peer) = self.clients[client].as_ref().map(|client| client.peer.clone()) else {
            return false;
        };
        if self.guesses.turn(&peer, self.clock.now_ns()) != Turn::Now {
            return false;
        }
        if !right {
            self.guessed(&peer);
        }
        right
    }
}

/// What the head names as user and password of Basic authentication.
fn login_of(head: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let value = head.lines().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("authorization").then_some(value.trim())
    })?;
    let (scheme, coded) = value.split_once(' ')?;
    let plain = STANDARD.decode(coded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"));
    let plain = plain?;
    let colon = plain.iter().position(|byte| *byte == b':')?;
    Some((plain[..colon].to_vec(), plain[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_stands_behind_the_user() {
        // RFC 7617, section 2
        let head = "GET / HTTP/1.1\r\nauthorization: basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n";
        assert_eq!(login_of(head), Some((b"Aladdin".to_vec(), b"open sesame".to_vec())));
        for none in ["Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic", "Basic ?", "Basic QQ=="] {
            assert_eq!(login_of(&format!("GET / HTTP/1.1\r\nAuthorization: {none}\r\n")), None);
        }
    }
}
