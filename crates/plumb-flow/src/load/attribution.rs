//! Where the time of a message went, as the runtime tells it with each answer.

use std::collections::BTreeMap;

use plumb_measure::{Attribution, Distribution, Row, StepSource, Telling};

/// The times that the server told of itself, by name.
pub(super) fn told(row: &Row, names: &[String]) -> BTreeMap<String, Distribution> {
    let named = names.iter().zip(&row.told);
    named.filter_map(|(name, times)| Some((name.clone(), Distribution::of(times)?))).collect()
}

/// The account of the messages of `row`, sent to `subject`; `None` when the server did not tell of
/// every one of them.
pub(super) fn attribute(
    subject: &str,
    row: &Row,
    names: &[String],
    round_trip_ns: Option<u64>,
) -> Option<Attribution> {
    let count = row.response.count();
    let mut always = names.iter().zip(&row.told);
    always.find(|(name, times)| *name == "total" && times.count() == count && count > 0)?;
    Attribution::of_step(StepSource {
        subject,
        row,
        names,
        round_trip_ns,
        telling: Telling::Answers,
    })
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Answer, Moments, PartKind, Recorder, ServerTimes};
    use proptest::prelude::*;

    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Messages, each sent `due_us` after it was due and answered after `took_us`, which told these
    /// times in microseconds.
    fn row(messages: &[(u64, u64, &[u64])]) -> Row {
        let mut recorder = Recorder::new(1);
        for (due_us, took_us, told) in messages {
            let mut times = ServerTimes::default();
            for (name, us) in told.iter().enumerate() {
                assert!(times.push(u8::try_from(name).unwrap(), us * 1_000));
            }
            let sent = due_us * 1_000;
            let last = sent + took_us * 1_000;
            let answer = Answer { told: Some(times), ..Answer::ok(2) };
            recorder.record(0, Moments { due: 0, sent, first: last, last }, answer);
        }
        recorder.rows()[0].clone()
    }

    fn mean_us(attribution: &Attribution, kind: PartKind) -> i64 {
        attribution.mean_ns(kind) / 1_000
    }

    const SYNC: [&str; 6] =
        ["door", "queue", "action-rows", "action-log-in-line-7", "commit", "total"];

    #[test]
    fn the_parts_are_those_of_the_runtime_and_add_up() {
        let row = row(&[(100, 1_000, &[50, 20, 500, 100, 130, 850][..]); 200]);
        let found = attribute("/runner/orders", &row, &names(&SYNC), None).unwrap();
        for (kind, us) in [
            (PartKind::Due, 100),
            (PartKind::Door, 100),
            (PartKind::Thread, 20),
            (PartKind::Actions, 600),
            (PartKind::Commit, 130),
            (PartKind::Rest, 150),
        ] {
            assert_eq!(mean_us(&found, kind), us, "{kind:?}");
        }
        let actions: Vec<_> =
            found.readings.iter().map(|it| (it.source.as_str(), it.mean_ns)).collect();
        let expected = [("action rows", Some(500_000)), ("action log-in-line-7", Some(100_000))];
        assert_eq!(actions, expected);
    }

    #[test]
    fn a_runtime_that_does_not_tell_is_not_accounted_for() {
        let silent = row(&[(0, 10, &[][..]); 20]);
        assert_eq!(attribute("/messages", &silent, &[], None), None);
        assert_eq!(attribute("/messages", &Row::default(), &names(&SYNC), None), None);
        // an action that only some took is that of all, as far as they took it
        let mut some = vec![(0, 100, &[5_u64, 80][..]); 99];
        some.push((0, 100, &[5, 80, 70]));
        let found =
            attribute("/x", &row(&some), &names(&["queue", "total", "action-a"]), None).unwrap();
        assert_eq!(found.mean_ns(PartKind::Actions), 700);
        assert!(found.readings[0].about.ends_with("told by 1 of 100 answers"), "{found:?}");
    }

    #[test]
    fn a_runtime_that_tells_more_than_the_whole_is_not_believed() {
        let row = row(&[(0, 100, &[5_u64, 900][..]); 100]);
        let found = attribute("/x", &row, &names(&["queue", "total"]), None).unwrap();
        assert!(found.cannot_be_split.is_some() && found.account().is_err());
    }

    proptest! {
        #[test]
        fn parts_never_exceed_the_whole(
            messages in proptest::collection::vec(
                (0_u64..50, 1_u64..2_000, 0_u64..900, 0_u64..900, 0_u64..2_500), 1..80,
            ),
        ) {
            let told: Vec<[u64; 3]> = messages.iter().map(|it| [it.2, it.3, it.4]).collect();
            let all: Vec<(u64, u64, &[u64])> =
                messages.iter().zip(&told).map(|(it, told)| (it.0, it.1, &told[..])).collect();
            let found = attribute("/x", &row(&all), &names(&["queue", "action-a", "total"]), None);
            let found = found.expect("every answer told");
            if let Ok(account) = found.account() {
                let shares: f64 = account.split.all().map(|part| part.share).sum();
                prop_assert!(shares <= 1.0 + 1e-9, "{:?}", account);
            }
        }
    }
}
