//! Any bytes are read as a journal without harm.

use plumb_lock::journal::{MAGIC, Record, Records};
use plumb_lock::table::{Change, Held, Lock, Scope};
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let asked = std::env::var("PLUMB_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(asked.unwrap_or(5_000))
    }
}

fn sample(number: u8) -> Vec<u8> {
    let owner = [b'o', number];
    let lock = Lock {
        owner: &owner,
        user: b"ann",
        since_ms: 7,
        name: b"MARA",
        argument: &[number; 200],
        mode: Held::E,
        dialog: 1,
        update: 2,
        backup: true,
        fence: 3,
    };
    let mut bytes = MAGIC.to_vec();
    for record in [
        Record::Start { epoch: 5, complete: true },
        Record::Change(Change::Lock(lock)),
        Record::Change(Change::Cleared { owner: &owner, scope: Scope::Both, backup: false }),
        Record::Fence(9),
        Record::Life { owner: &owner, ms: 10 },
        Record::Key { key: b"k", ms: 11 },
        Record::End,
    ] {
        record.push(&mut bytes);
    }
    bytes
}

fn count(bytes: &[u8]) -> (usize, bool) {
    let mut records = Records::new(bytes);
    let mut sound = 0;
    let mut trouble = false;
    for record in records.by_ref() {
        sound += usize::from(record.is_ok());
        trouble |= record.is_err();
    }
    assert!(records.at() <= bytes.len());
    (sound, trouble)
}

#[test]
fn a_journal_cut_anywhere_has_the_records_that_are_whole() {
    let bytes = sample(1);
    assert_eq!(count(&bytes), (7, false));
    let mut last = 0;
    for cut in MAGIC.len()..bytes.len() {
        let (sound, _) = count(&bytes[..cut]);
        assert!(sound >= last && sound < 7);
        last = sound;
    }
    assert_eq!(last, 6);
}

#[test]
fn every_bit_that_flips_is_seen() {
    let bytes = sample(2);
    for at in MAGIC.len()..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            assert!(count(&bytes).1, "bit {bit} of byte {at}");
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn noise_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        count(&bytes);
        count(&[MAGIC, &bytes[..]].concat());
        let mut sealed = MAGIC.to_vec();
        let length = u32::try_from(bytes.len()).unwrap();
        sealed.extend_from_slice(&length.to_le_bytes());
        sealed.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        sealed.extend_from_slice(&bytes);
        count(&sealed); // with a right checksum
    }
}
