//! The sentence over a run, and what it counts.

use plumb_measure::{Finding, FindingKind, Scope, Validity};

use crate::records;

#[test]
fn a_result_that_was_not_checked_is_not_counted_as_invalid() {
    let mut record = records::sweep();
    record.results.truncate(3);
    let found = [
        vec![(FindingKind::Failures, Scope::Everything, "5 failures")],
        vec![(FindingKind::ForeignLoad, Scope::Unchecked, "too short")],
        Vec::new(),
    ];
    for (result, found) in record.results.iter_mut().zip(found) {
        let finding =
            |(kind, scope, text): (_, _, &str)| Finding { kind, scope, text: text.into() };
        result.validity = Validity::of(found.into_iter().map(finding));
    }
    record.validity = Validity::of_all(record.results.iter().map(|it| ("", &it.validity)));
    let said = plumb_report::sentence(&record);
    let expected = "1 of 3 results is invalid, so the run as a whole proves nothing. 5 failures.";
    assert_eq!(said, expected);
    let page = plumb_report::markdown::render(&record);
    assert!(page.contains("No figure of 1 of 3 results may be quoted"), "{page}");
}
