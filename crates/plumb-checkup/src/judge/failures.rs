//! Servers that cannot be measured, and servers that fail.

use super::Evidence;
use super::gone::{Before, gone, until};
use super::sentence::named;
use super::slow::is_silent;
use crate::finding::{CheckupFinding, FaultKind};
use crate::{CheckupLayer, CheckupPart};
use plumb_measure::{FindingKind, Scope};

/// What takes the figures of a part away because of what the server answers.
const FAILED: [FindingKind; 3] =
    [FindingKind::UnexpectedStatus, FindingKind::NoOperations, FindingKind::Failures];
/// Answers to somebody who did not say who he is, or whose password is wrong.
const UNAUTHORIZED: &str = "401";

/// One finding a server that fails.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<CheckupFinding> {
    let servers = evidence.checkup.servers().into_iter();
    let found = servers.filter_map(|(layer, server, parts)| {
        let finding = |(kind, evidence, next): (FaultKind, String, String)| CheckupFinding {
            kind,
            layer: Some(layer),
            server: server.into(),
            operation: None,
            cost: None,
            ranked_ns: None,
            evidence,
            next,
        };
        let who = evidence.checkup.who_asks();
        let silent = unreachable(server, &parts, &who);
        let found = silent.or_else(|| parts.iter().find_map(|part| failing(layer, server, part)));
        found.map(finding)
    });
    found.collect()
}

/// The first of `parts` without a record: the server is not there, or no longer.
fn unreachable(
    server: &str,
    parts: &[&CheckupPart],
    who: &str,
) -> Option<(FaultKind, String, String)> {
    let lost = |part: &&CheckupPart| {
        part.outcome.as_ref().is_some_and(|it| it.error.is_some() && !it.not_offered)
    };
    let at = parts.iter().position(lost)?;
    let part = parts[at];
    let outcome = part.outcome.as_ref()?;
    let before = Before::of(&parts[..at]);
    if let (Some(before), Some(kind)) = (&before, outcome.unconnected) {
        return Some(gone(server, before, part, kind, &parts[at + 1..]));
    }
    let error = outcome.error.as_deref()?.trim_end_matches('.');
    let end = if error.ends_with(['?', '!']) { "" } else { "." };
    let error = format!("{error}{end}");
    let evidence = match before {
        Some(before) => before.and_no_further(server, part, &error),
        None => format!("The {server} could not be measured: {error}"),
    };
    let next = format!(
        "Where that names no remedy: does it run, and does {who} reach it? The words of each \
         measurement stand in checkup.json."
    );
    Some((FaultKind::Unreachable, evidence, next))
}

fn failing(
    layer: CheckupLayer,
    server: &str,
    part: &CheckupPart,
) -> Option<(FaultKind, String, String)> {
    let outcome = part.outcome.as_ref().filter(|outcome| !is_silent(part, outcome))?;
    let reasons = &outcome.validity.reasons;
    let grave = reasons
        .iter()
        .find(|it| FAILED.contains(&it.kind) && it.scope != Scope::Nothing)?
        .text
        .trim_end_matches('.');
    let complaints = || reasons.iter().filter(|it| it.kind == FindingKind::Complaint);
    let answer = complaints().find(|it| !it.is_of_handshake());
    let handshake = complaints().find(|it| it.is_of_handshake());
    let complaints = answer.into_iter().chain(handshake).map(|it| it.text.clone());
    let said: String =
        until(outcome).into_iter().chain(complaints).map(|text| format!("; {text}")).collect();
    let (operation, how) = (named(&part.operation), &part.how);
    let evidence = format!("The {server} fails: of {operation} ({how}), {grave}{said}.");
    let wrong: u64 = outcome.unexpected_codes.values().sum();
    let unauthorized = outcome.unexpected_codes.get(UNAUTHORIZED).is_some_and(|n| 2 * n > wrong);
    let next = match layer {
        CheckupLayer::Pages if unauthorized => {
            "It does not know who asks: are user and password right? credentials in [http] of the \
             landscape file names a file with a line USER:PASSWORD; without it PLUMB_HTTP_USER and \
             PLUMB_HTTP_PASSWORD count."
        }
        CheckupLayer::Messages if unauthorized => {
            "It does not know who asks: are user and password right? user in [flow] of the landscape \
             file has its password in password-file or PLUMB_FLOW_PASSWORD; without a user a token \
             is there, or in PLUMB_FLOW_TOKEN."
        }
        CheckupLayer::Locks => {
            "Is its table full, and who fills it? plumb lock show and plumb lock \
                                status tell; a larger table is --table-size of plumb lock serve."
        }
        CheckupLayer::Pages => {
            "Its log says why; status codes and the first wrong answer stand in \
                                the report of the run."
        }
        CheckupLayer::Messages => {
            "What failed stands in its transaction manager with its trace (/manager, plumb flow \
             list); what it turns away says how much waits: queue and pools are there, too."
        }
        CheckupLayer::Network | CheckupLayer::Database => {
            "Its log says why; the report of the run counts the failures by kind."
        }
    };
    Some((FaultKind::Failures, evidence, next.into()))
}
