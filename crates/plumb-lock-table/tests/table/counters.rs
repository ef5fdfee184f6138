//! Counters end at 65,535, however they get there within one request.

use plumb_lock_table::table::{
    Answer, Change, Element, Held, Limits, Lock, Mode, Request, Scope, Table, Unnoted,
};

/// A table in which `o` has an O with this dialog counter, and an E with that.
fn table(optimistic: u16, exclusive: u16) -> Table {
    let mut table = Table::new(Limits { rows: 10, scan: 10 });
    for (mode, dialog) in [(Held::O, optimistic), (Held::E, exclusive)] {
        let lock = Lock {
            owner: b"o",
            user: b"",
            since_ms: 0,
            name: b"T",
            argument: b"1",
            mode,
            dialog,
            update: 0,
            backup: false,
            fence: 1,
        };
        table.apply([Change::Lock(lock)]).expect("it is sound");
    }
    table
}

/// What a request for these modes, all on the same argument, makes of it: the dialog counter of the
/// E, or which element is counted too often.
fn asked(optimistic: u16, exclusive: u16, modes: &[Mode]) -> Result<u16, usize> {
    let mut table = table(optimistic, exclusive);
    let elements: Vec<Element<'_>> =
        modes.iter().map(|mode| Element { mode: *mode, name: b"T", argument: b"1" }).collect();
    let (scope, elements) = (Scope::Dialog, &elements[..]);
    let request = Request { owner: b"o", user: b"", since_ms: 0, scope, elements };
    match table.enqueue(&request, &mut Unnoted).expect("it is sound") {
        Answer::Granted { .. } => {}
        Answer::Counter { index } => return Err(index),
        other => unreachable!("{other:?}"),
    }
    let found = table.locks().find(|lock| lock.mode == Held::E).map(|lock| lock.dialog);
    Ok(found.expect("it is there"))
}

#[test]
fn a_promotion_brings_its_counters_to_what_is_taken_behind_it() {
    use Mode::{E, O, R};
    assert_eq!(asked(65_534, 0, &[R, E]), Ok(65_535));
    assert_eq!(asked(65_534, 0, &[R, E, E]), Err(2));
    assert_eq!(asked(65_533, 0, &[O, R, E, E]), Err(3));
    assert_eq!(asked(65_532, 0, &[O, R, E, E]), Ok(65_535));
    assert_eq!(asked(30_000, 35_535, &[R]), Ok(65_535));
    assert_eq!(asked(30_000, 35_535, &[E, R]), Err(1));
    assert_eq!(asked(30_000, 35_535, &[O, R]), Err(1));
    assert_eq!(asked(30_000, 35_536, &[R]), Err(0));
    assert_eq!(asked(65_535, 0, &[R]), Ok(65_535), "whatever the scope");
    assert_eq!(asked(5, 65_535, &[E]), Err(0), "nothing is promoted");
}
