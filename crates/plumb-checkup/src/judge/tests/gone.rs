//! Servers that answered first.

use plumb_measure::FailureKind;

use super::*;

fn lost(unconnected: Option<FailureKind>) -> CheckupOutcome {
    let error = "cannot connect to web1:80: connection refused; is the server started, and is the port right?";
    CheckupOutcome { unconnected, ..CheckupOutcome::none(error.into()) }
}

/// A list that two users were answered for a while, and nobody afterwards.
fn cut_off() -> CheckupOutcome {
    let text = "16 failures beside 164 operations: 13 connect-refused, 2 closed, 1 reset";
    let outcome = CheckupOutcome {
        operations: 164,
        failed: 16,
        duration_ns: 2_500 * MS,
        answered_until_ns: Some(1_250 * MS),
        ..takes(15 * MS)
    };
    against(outcome, FindingKind::Failures, Scope::Everything, text)
}

#[test]
fn a_server_that_answered_and_takes_no_connection_any_more_went_away() {
    let refused = lost(Some(FailureKind::ConnectRefused));
    let mut parts = landscape(45, 1_900);
    parts.push(with(by(2, list()), cut_off()));
    parts.extend([5, 10].map(|users| with(by(users, list()), refused.clone())));
    let said = only(FaultKind::Failures, parts.clone());
    assert_eq!(
        said,
        "The application server went away while it was measured: it answered 2,164 operations, the last of \
         them a flight list (2 users, the last right answer came within the first 1.25 s of 2.50 s, 16 \
         failures beside 164 operations: 13 connect-refused, 2 closed, 1 reset); for a flight list (5 users) \
         connections were refused."
    );
    let next = &checkup(parts.clone()).verdict.findings[0].next;
    assert!(next.starts_with("Why did it end"), "{next}");
    // it is there again
    parts.last_mut().unwrap().outcome = Some(takes(1_900 * US));
    let said = only(FaultKind::Failures, parts.clone());
    assert!(
        said.contains("Later it was there again: a flight list (10 users) was answered."),
        "{said}"
    );
    // between two measurements
    parts.truncate(3);
    parts.push(with(list(), refused.clone()));
    let said = only(FaultKind::Failures, parts);
    assert!(
        said.starts_with(
            "The application server went away while it was measured: it answered 1,000 operations, the \
             last of them a page (one user); for a flight list (one user) connections were refused."
        ),
        "{said}"
    );
}

#[test]
fn another_error_behind_answers_is_told_with_them() {
    let mut parts = landscape(45, 1_900);
    parts[3].outcome = Some(CheckupOutcome::none("answered 404".into()));
    let said = only(FaultKind::Unreachable, parts);
    assert!(
        said.starts_with(
            "The application server could not be measured to the end: it answered 1,000 operations, the \
             last of them a page (one user); of a flight list (one user) there is nothing: answered 404."
        ),
        "{said}"
    );
    // who never answered is not there, whatever others do
    let mut parts = landscape(45, 1_900);
    for part in &mut parts[2..] {
        part.outcome = Some(lost(Some(FailureKind::ConnectRefused)));
    }
    let said = only(FaultKind::Unreachable, parts);
    assert!(
        said.starts_with("The application server could not be measured: cannot connect to web1:80"),
        "{said}"
    );
}

#[test]
fn when_the_last_right_answer_came_is_said_of_a_part_that_failed() {
    let mut parts = landscape(45, 1_900);
    parts.push(with(by(2, list()), cut_off()));
    let said = only(FaultKind::Failures, parts);
    assert!(
        said.contains("1 reset; the last right answer came within the first 1.25 s of 2.50 s."),
        "{said}"
    );
}
