//! Any bytes are read as a journal without harm.

use std::fs;

use plumb_lock_table::journal::{MAGIC, NoRecord, Notes, Origin, Policy, Record, Records, outlook};
use plumb_lock_table::table::{Change, Held, Limits, Lock, Scope};
use proptest::prelude::*;

use crate::cases::cases;

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
        Record::Start { epoch: 5, complete: true, origin: Origin::own(5) },
        Record::Start { epoch: 5, complete: false, origin: Origin::of_replica(4) },
        Record::Change(Change::Lock(lock)),
        Record::Change(Change::Cleared { owner: &owner, scope: Scope::Both, backup: false }),
        Record::Fence(9),
        Record::Life { owner: &owner, ms: 10 },
        Record::Key { key: b"k", ms: 11 },
        Record::Replaced { by: 6 },
        Record::Mark,
        Record::Gap,
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
    assert_eq!(count(&bytes), (11, false));
    let mut last = 0;
    for cut in MAGIC.len()..bytes.len() {
        let (sound, _) = count(&bytes[..cut]);
        assert!(sound >= last && sound < 11);
        last = sound;
    }
    assert_eq!(last, 10);
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

#[test]
fn bare_records_read_as_they_were_written_and_a_cut_one_is_none() {
    let (bytes, mut at, mut count) = (sample(3), MAGIC.len(), 0);
    while at < bytes.len() {
        let (record, length) = Record::read(&bytes[at..]).unwrap();
        let mut bare = Vec::new();
        record.push_bare(&mut bare);
        assert_eq!(Record::read_bare(&bare), Ok((record, bare.len())));
        for cut in 0..bare.len() {
            assert_eq!(Record::read_bare(&bare[..cut]), Err(NoRecord::Cut));
        }
        bare[0] -= 1; // a byte of the body too few
        assert_eq!(Record::read_bare(&bare), Err(NoRecord::Unknown));
        (at, count) = (at + length, count + 1);
    }
    assert_eq!(count, 11);
}

/// What a record is made of: its kind, and what its fields are taken from.
fn record() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 8)
}

/// The bytes of a file with these records.
fn written<'a>(records: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for seeds in records {
        let at = |index: usize| seeds.get(index).copied().unwrap_or_default();
        let number = if at(1) == 255 { u64::MAX } else { at(1).into() };
        let (owner, argument) = ([b'o', at(2) % 3], [at(3) % 4]);
        let modes = [Held::S, Held::O, Held::E, Held::X];
        let record = match at(0) % 16 {
            0 => Record::Start {
                epoch: number,
                complete: at(2) % 2 == 0,
                origin: Origin { epoch: number >> (at(3) % 2), of_replica: at(4) % 2 == 0 },
            },
            1 => Record::Fence(number),
            2 => Record::Life { owner: &owner, ms: number },
            3 => Record::Key { key: &argument, ms: number },
            4 => Record::Gap,
            5 => Record::End,
            6 => Record::Replaced { by: number },
            7 => Record::Mark,
            8 => Record::Change(Change::Cleared {
                owner: &owner,
                scope: [Scope::Dialog, Scope::Update, Scope::Both][usize::from(at(4) % 3)],
                backup: at(5) % 2 == 0,
            }),
            _ => Record::Change(Change::Lock(Lock {
                owner: &owner,
                user: b"ann",
                since_ms: number,
                name: if at(6) % 2 == 0 { b"" } else { b"MARA" },
                argument: &argument,
                mode: modes[usize::from(at(4) % 4)],
                dialog: (at(5) % 3).into(),
                update: (at(7) % 3).into(),
                backup: at(6) % 3 == 0,
                fence: number,
            })),
        };
        record.push(&mut bytes);
    }
    bytes
}

proptest! {
    #![proptest_config(cases(5_000))]

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

proptest! {
    // each makes files, and makes them last
    #![proptest_config(ProptestConfig { cases: cases(5_000).cases / 25, ..cases(5_000) })]

    #[test]
    fn sound_records_in_any_order_are_restored_or_refused(
        snapshot in prop::collection::vec(record(), 0..20),
        journal in prop::collection::vec(record(), 0..20),
        policy in prop::sample::select(vec![Policy::Inherited, Policy::Interval(1), Policy::Always]),
    ) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = |name| folder.path().join(name);
        let end = [[5].to_vec()];
        fs::write(file("1.snapshot"), written(snapshot.iter().chain(&end))).expect("it is ours");
        fs::write(file("1.journal"), written(journal.iter())).expect("it is ours");
        let before = outlook(folder.path());
        let limits = Limits { rows: 1_000, scan: 1_000 };
        let opened = Notes::open(folder.path(), policy, limits, 1);
        prop_assert_eq!(before.is_ok(), opened.is_ok());
        if let Ok((_, restored)) = opened {
            restored.table.verify().expect("its parts agree");
        }
    }
}
