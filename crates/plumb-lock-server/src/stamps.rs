//! What a server says of the time it had single commands, between its replies.

use plumb_measure::Residence;
use plumb_wire::resp::Reply;

/// How such a message starts.
pub const STAMPS: &[u8] = b"stamps";

/// Reads `reply` as such a message: the number of the command, and how long the server had it.
#[must_use]
pub fn told(reply: Reply<'_>) -> Option<(u32, Residence)> {
    let Reply::Array(mut items) = reply else { return None };
    if items.len() != 5 || items.next() != Some(Reply::Bulk(STAMPS)) {
        return None;
    }
    let mut number = || match items.next() {
        Some(Reply::Integer(number)) => u64::try_from(number).ok(),
        _ => None,
    };
    let message = u32::try_from(number()?).ok()?;
    let (waking_ns, work_ns, sending_ns) = (number()?, number()?, number()?);
    Some((message, Residence { waking_ns, work_ns, sending_ns }))
}

#[cfg(test)]
mod tests {
    use plumb_wire::resp::{self, ReplyLimits};
    use proptest::prelude::*;

    use super::*;

    const LIMITS: ReplyLimits = ReplyLimits { bytes: 1 << 10, items: 100 };

    fn read(bytes: &[u8]) -> Option<(u32, Residence)> {
        let (reply, _) = resp::reply(bytes, &LIMITS).ok()??;
        told(reply)
    }

    #[test]
    fn what_is_told_is_told_from_a_reply() {
        let message = b"*5\r\n$6\r\nstamps\r\n:64\r\n:12\r\n:3\r\n:4\r\n";
        let residence = Residence { waking_ns: 12, work_ns: 3, sending_ns: 4 };
        assert_eq!(read(message), Some((64, residence)));
        for other in [
            &b"*5\r\n$6\r\nstumps\r\n:64\r\n:12\r\n:3\r\n:4\r\n"[..],
            b"*5\r\n$6\r\nstamps\r\n:64\r\n:-1\r\n:3\r\n:4\r\n",
            b"*5\r\n$6\r\nstamps\r\n:64\r\n:1\r\n:3\r\n$1\r\n4\r\n",
            b"*1\r\n$6\r\nstamps\r\n",
            b"+OK\r\n",
        ] {
            assert_eq!(read(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(at in 0_usize..40, byte: u8, cut in 0_usize..48) {
            let mut message = b"*5\r\n$6\r\nstamps\r\n:64\r\n:12\r\n:3\r\n:4\r\n".to_vec();
            let at = at % message.len();
            message[at] = byte;
            message.truncate(cut);
            let _ = read(&message);
        }
    }
}
