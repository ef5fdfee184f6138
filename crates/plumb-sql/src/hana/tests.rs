use proptest::collection::vec;
use proptest::prelude::*;

use super::proof::{Method, answer, is_proven};
use super::wire::{self, Ask, Reply, Transaction, part};

/// Sums that were worked out with another implementation of HMAC, SHA-256 and PBKDF2 (those of Python).
#[test]
fn proofs_are_those_of_the_protocol() {
    let challenge = [3; 64];
    let one = wire::fields(&[&[1; 16], &[2; 48]]);
    let proofs = answer(Method::One, "sesame", &challenge, &one).unwrap();
    assert_eq!(hex(&proofs.of_client), ONE);
    assert_eq!(proofs.of_server, None);
    let rounds = wire::fields(&[&[1; 16], &[2; 48], &15_000_u32.to_be_bytes()]);
    let proofs = answer(Method::Rounds, "sesame", &challenge, &rounds).unwrap();
    assert_eq!(hex(&proofs.of_client), ROUNDS);
    assert_eq!(hex(proofs.of_server.as_deref().unwrap()), OF_SERVER);
    let many = wire::fields(&[&[1; 16], &[2; 48], &u32::MAX.to_be_bytes()]);
    assert_eq!(answer(Method::Rounds, "sesame", &challenge, &many), None);
    assert!(is_proven(&wire::fields(&[b"ab"]), b"ab") && !is_proven(b"", b"ab"));
}

const ONE: &str = "000120b347265cb2c7290814fec08fb26e4ddd79de2cd39a7251aa45d8caba515cfaad";
const ROUNDS: &str = "00012056186d340096e9c9e0a6ffa21e8d66b259721d25dca85caed7c7d13513685638";
const OF_SERVER: &str = "d1b3f0bde3e0cc0359f8ab3ee85d4a1a4f35fb1304eb724efe055e782267aca8";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn values_of_every_length_are_read_as_they_were_written() {
    let long = vec![5; 1_000];
    let written = wire::fields(&[b"", &[1; 245], &[2; 246], &long]);
    let read = wire::values(&written).unwrap();
    assert_eq!(read, [&b""[..], &[1; 245], &[2; 246], &long]);
    assert_eq!(wire::values(&written[..written.len() - 1]), None);
    assert_eq!(wire::values(&[1, 0, 255, 0, 2, 7, 8]).unwrap(), [&[7, 8]]);
    assert_eq!(wire::values(&[1, 0, 250, 0]), None);
    assert_eq!(wire::numbers(&[1, 5, 0, 0, 0, 0, 0, 0, 0, 0], 2).unwrap(), [Some(5), None]);
    assert_eq!(wire::numbers(&[1, 5], 1), None);
}

#[test]
fn texts_of_rows_are_read_to_their_number() {
    let long = [&[246, 44, 1][..], &[b'x'; 300]].concat();
    let rows = [&[2, b'a', b'b', 255][..], &long].concat();
    let found = wire::texts(&rows, 3).unwrap();
    assert_eq!(found, [Some("ab".to_owned()), None, Some("x".repeat(300))]);
    assert_eq!((wire::texts(&rows, 4), wire::texts(&rows, u64::MAX)), (None, None));
    assert_eq!(wire::texts(&[250], 1), None);
}

#[test]
fn what_became_of_a_transaction_is_read() {
    let told = |flags: &[(u8, u8)]| {
        let data: Vec<u8> = flags.iter().flat_map(|(flag, set)| [*flag, 28, *set]).collect();
        let mut out = vec![0; 24 + 16];
        out[8] = 1; // a part
        out[12] = 2; // a reply
        out[24] = part::TRANSACTION;
        out[26] = u8::try_from(flags.len()).unwrap();
        out[32] = u8::try_from(data.len()).unwrap();
        out.extend(data);
        out[0] = u8::try_from(out.len()).unwrap();
        Reply::read(&out).unwrap().transaction()
    };
    let (none, ended) = (Transaction::default(), Transaction { ended: true, writes: false });
    assert_eq!((told(&[]), told(&[(5, 1), (0, 0)]), told(&[(1, 1)])), (none, none, ended));
    assert_eq!(told(&[(0, 1), (4, 1)]), Transaction { ended: true, writes: true });
}

#[test]
fn a_message_has_its_head_its_segment_and_its_parts() {
    let mut out = Vec::new();
    wire::message(&mut out, (5, 3), Ask::Directly, true, &[(part::COMMAND, 1, b"SELECT 1")]);
    assert_eq!(out.len(), 32 + 24 + 16 + 8);
    assert_eq!((wire::head(out[..32].try_into().unwrap()), out[8]), ((5, 48), 3));
    assert_eq!(&out[32..48], &[48, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 2, 1, 0]);
    assert_eq!(&out[56..72], &[3, 0, 1, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 2, 0]);
}

/// A segment with two rows, and the time that the server tells.
fn right_reply() -> Vec<u8> {
    let mut out = [&[96, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 2, 0, 5, 0][..], &[0; 8]].concat();
    out.extend([5, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 0, 0, 0, 0, 0, 0]);
    out.extend([39, 0, 1, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0]);
    out.extend([2, 4, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let length = u8::try_from(out.len()).unwrap();
    out[0] = length;
    out
}

#[test]
fn a_reply_has_its_rows_and_the_time_of_the_server() {
    let payload = right_reply();
    let reply = Reply::read(&payload).unwrap();
    let rows = reply.rows().unwrap();
    assert_eq!((rows.count, rows.data, rows.are_last), (2, &b"ab"[..], false));
    assert_eq!((reply.server_us(), reply.refusal(), reply.function), (Some(30), None, 5));
    assert!(Reply::read(&payload[..50]).is_none());
}

proptest! {
    #[test]
    fn no_reply_brings_it_down(
        mut payload in vec(any::<u8>(), 0..200), right in any::<bool>(), at in 0..100_usize,
    ) {
        if right {
            let changed = payload.first().copied().unwrap_or(0);
            payload = right_reply();
            if let Some(byte) = payload.get_mut(at) {
                *byte = changed;
            }
        }
        if let Some(reply) = Reply::read(&payload) {
            let _ = (reply.refusal(), reply.server_us(), reply.version(), reply.rows());
            let _ = reply.transaction();
            let _ = reply.part(part::AUTHENTICATION).map(|part| wire::values(part.data));
        }
        let _ = wire::values(&payload);
        let _ = (wire::numbers(&payload, 3), wire::texts(&payload, u64::MAX));
        let _ = answer(Method::One, "a", &payload, &payload);
    }
}
