//! Names of hosts that took long to look up: part of no figure, and felt by every new connection.

use plumb_measure::FindingKind;

use super::Evidence;
use crate::finding::CheckupRemark;

/// One for each name, the first time that it took long: later answers may come from a cache.
pub(super) fn remarks(evidence: &Evidence<'_>) -> Vec<CheckupRemark> {
    let reasons = evidence.measured().flat_map(|(_, outcome)| &outcome.validity.reasons);
    let mut said: Vec<&str> = Vec::new();
    for finding in reasons.filter(|it| it.kind == FindingKind::SlowName) {
        // what stands before the time is the same of one name
        let name = |text: &str| text.split(" took ").next().map(str::to_owned);
        if said.iter().all(|text| name(text) != name(&finding.text)) {
            said.push(&finding.text);
        }
    }
    let remark = |text: &&str| CheckupRemark {
        name: "names".into(),
        text: format!("{text}."),
        untold: None,
    };
    said.iter().map(remark).collect()
}
