//! Keys by which a back end knows a call that it was sent before.

use std::collections::HashMap;

use ring::digest::{Context, SHA256};

use plumb_queue::{ExecutionId, QueueId};
use plumb_transaction::BackEndRequest;

/// Calls of one message so far, by what they ask.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<[u8; 16], u64>);

impl Calls {
    /// The key of the next call of the message `id` of `queue`, 32 hexadecimal digits: that of the same call
    /// when the message is done again, and of no other. It is made of what is asked, header lines among it,
    /// and of how often that was asked before: a call that comes at another place in the next attempt keeps
    /// its key, and one that asks something else never has it.
    pub(super) fn key(
        &mut self,
        (queue, id): (QueueId, ExecutionId),
        request: &BackEndRequest<'_>,
    ) -> String {
        let asked = asked(request);
        let count = self.0.entry(asked).or_default();
        *count += 1;
        let (queue, id, count) = (queue.0.to_le_bytes(), id.0.to_le_bytes(), count.to_le_bytes());
        let parts = [&queue[..], &id, &count, &asked];
        digest(parts).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A digest of what is asked.
fn asked(request: &BackEndRequest<'_>) -> [u8; 16] {
    let BackEndRequest { server, method, target, headers, media_type, body, .. } = *request;
    let lines = headers.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let rest = [server, method, target, media_type].map(str::as_bytes);
    digest(rest.into_iter().chain([body]).chain(lines))
}

/// The first half of the SHA-256 of `parts`, each with its length.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 16] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&context.finish().as_ref()[..16]);
    first
}

#[cfg(test)]
mod tests {
    use plumb_measure::Span;

    use super::*;

    const MESSAGE: (QueueId, ExecutionId) = (QueueId(7), ExecutionId(9));

    fn call(body: &'static str) -> BackEndRequest<'static> {
        BackEndRequest {
            server: "erp",
            method: "POST",
            target: "/orders",
            headers: &[],
            media_type: "text/plain",
            body: body.as_bytes(),
            patience: Span::from_ms(1),
            trace: None,
            idempotency_key: None,
        }
    }

    #[test]
    fn calls_that_ask_the_same_have_keys_of_their_own_and_have_them_again() {
        let keys = |bodies: &[&'static str]| {
            let mut calls = Calls::default();
            bodies.iter().map(|body| calls.key(MESSAGE, &call(body))).collect::<Vec<_>>()
        };
        let first = keys(&["a", "b", "a"]);
        assert!(first.iter().all(|key| key.len() == 32), "known limits begin at 45: {first:?}");
        assert!(first[0] != first[1] && first[0] != first[2], "{first:?}");
        assert_eq!(keys(&["a", "b", "a"]), first);
        // rows that are gone in the next attempt take no key of others with them
        assert_eq!(keys(&["b", "a", "a"]), [&first[1], &first[0], &first[2]].map(Clone::clone));
        let other = Calls::default().key((QueueId(8), MESSAGE.1), &call("a"));
        assert_ne!(other, first[0], "ids of two queues may be the same");
        let get = BackEndRequest { target: "/order", media_type: "stext/plain", ..call("a") };
        assert_ne!(Calls::default().key(MESSAGE, &get), first[0]);
    }

    #[test]
    fn calls_that_differ_in_a_header_alone_never_change_keys() {
        let keys = |actions: &[&str]| {
            let mut calls = Calls::default();
            let key = |action: &&str| {
                let headers = [("SOAPAction", (*action).to_owned())];
                calls.key(MESSAGE, &BackEndRequest { headers: &headers, ..call("<order/>") })
            };
            actions.iter().map(key).collect::<Vec<_>>()
        };
        let both = keys(&["reserve", "confirm"]);
        assert_ne!(both[0], both[1]);
        assert_eq!(keys(&["confirm", "reserve"]), [&both[1], &both[0]].map(Clone::clone));
        assert_eq!(keys(&["confirm"]), both[1..]);
        // a line is no part of what stands beside it
        let mut calls = Calls::default();
        let mut of = |name, value: &str| {
            let headers = [(name, value.to_owned())];
            calls.key(MESSAGE, &BackEndRequest { headers: &headers, ..call("a") })
        };
        assert_ne!(of("X-A", "b"), of("X-Ab", ""));
    }
}
