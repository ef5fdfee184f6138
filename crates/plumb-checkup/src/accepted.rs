//! Foreign load beyond the usual limit that was accepted in measurements of a checkup.

use plumb_measure::{AcceptedLoad, ForeignLook};

use crate::CheckupPart;

/// The limit of foreign load that was raised for the figures of `parts`, and what others took; `None`
/// where none was, or no figure stands.
#[must_use]
pub fn accepted_load<'a>(parts: impl IntoIterator<Item = &'a CheckupPart>) -> Option<AcceptedLoad> {
    AcceptedLoad::of_looks(parts.into_iter().filter_map(|part| {
        let outcome = part.outcome.as_ref().filter(|it| it.error.is_none() && it.stands())?;
        let (limit, foreign_pct) = (outcome.validity.foreign_limit?, outcome.foreign_pct);
        Some(ForeignLook { limit, foreign_pct, by_remotes: false })
    }))
}

#[cfg(test)]
mod tests {
    use plumb_measure::{ForeignLimit, LimitSource, Program, Status, Validity};

    use crate::{Checkup, CheckupLayer, CheckupOutcome, CheckupPart, Middle, PartRole};

    /// A request of one user under the limit `share`, while others took so many percent.
    fn part(server: &str, share: &str, took: f64) -> CheckupPart {
        let limit = ForeignLimit { share: share.parse().unwrap(), source: LimitSource::Option };
        let outcome = CheckupOutcome {
            validity: Validity { foreign_limit: Some(limit), ..Validity::of([]) },
            operations: 1_000,
            throughput_per_s: 1e3,
            median: Some(Middle { ns: 1_000_000, ..Middle::default() }),
            foreign_pct: Some(took),
            ..CheckupOutcome::default()
        };
        CheckupPart {
            layer: CheckupLayer::Pages,
            server: server.into(),
            operation: "a page".into(),
            how: "one user".into(),
            role: PartRole::Yardstick,
            users: 1,
            connections: None,
            expected_ns: 1,
            words: Vec::new(),
            outcome: Some(outcome),
        }
    }

    fn judged(parts: Vec<CheckupPart>) -> Checkup {
        let mut checkup =
            Checkup::begun(Program { version: "0".into() }, "2026-11-21T08:30:48Z".into(), parts);
        checkup.status = Status::Complete;
        checkup.judge();
        checkup
    }

    #[test]
    fn a_limit_that_was_raised_stands_beside_the_verdict() {
        let end = "; limit of foreign load raised to 100 %, others took up to 90.0 %.";
        let mut checkup = judged(vec![part("one", "5%", 95.0), part("two", "100%", 90.0)]);
        let verdict = &checkup.verdict;
        assert!(verdict.sentence.ends_with(end), "{}", verdict.sentence);
        assert_eq!(verdict.accepted_load.unwrap().most_pct, Some(90.0));
        assert_eq!(Checkup::from_json(&checkup.to_json()).unwrap().verdict, checkup.verdict);
        checkup.judge();
        assert_eq!(checkup.verdict.sentence.matches("raised").count(), 1, "judged once more");

        let usual = judged(vec![part("one", "5%", 2.0)]).verdict;
        assert!(usual.accepted_load.is_none() && !usual.sentence.contains("raised"), "{usual:?}");
        // nothing stands under it
        let mut none = part("one", "100%", 90.0);
        none.outcome = none.outcome.map(|it| CheckupOutcome { error: Some("gone".into()), ..it });
        assert!(judged(vec![none]).verdict.accepted_load.is_none());
    }
}
