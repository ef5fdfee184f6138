//! What datagrams say of a path.

use super::{BAD_LOSS, Judgement, NOT_VALID, PartOutcome, PathPart};
use plumb_measure::{DatagramFlow, counted, grouped, show_ns, show_plain};

/// Fewer that are lost one way say nothing of how many are, however large their share.
const LOST_MIN: u64 = 3;

/// The judgement and its sentence.
pub(super) fn judge(part: &PathPart, outcome: &PartOutcome) -> (Judgement, String) {
    if let Some(error) = &outcome.error {
        let end = if error.ends_with(['.', '?']) { "" } else { "." };
        let text = format!(
            "the other side does not speak UDP, or nothing comes through: {error}{end} Start the server \
             with a --listen udp:ADDRESS, too."
        );
        return (Judgement::Untold, text);
    }
    let ways = [("there", &outcome.to_server), ("back", &outcome.from_server)];
    let ways: Vec<(&str, &DatagramFlow)> =
        ways.into_iter().filter_map(|(way, flow)| Some((way, flow.as_ref()?))).collect();
    if ways.is_empty() || outcome.silent() {
        return (Judgement::Bad, "no datagram came through.".into());
    }
    let lost: u64 = ways.iter().map(|(_, flow)| flow.lost).sum();
    let reordered: u64 = ways.iter().map(|(_, flow)| flow.reordered).sum();
    let doubled: u64 = ways.iter().map(|(_, flow)| flow.duplicates).sum();
    let told: Vec<String> = ways.iter().map(|(way, flow)| of_way(way, flow)).collect();
    let mut sentence = format!(
        "of datagrams of {} bytes{} in {} {}.",
        part.size_bytes,
        rate(&ways),
        show_ns(outcome.duration_ns),
        told.join("; ")
    );
    if outcome.failed() > 0 {
        sentence += &format!(" {} broke.", counted(outcome.failed(), "stream"));
        return (Judgement::Bad, sentence);
    }
    // before the loss decides: it may be that of a machine, and not of the path
    if !outcome.valid {
        sentence += NOT_VALID;
        return (Judgement::Look, sentence);
    }
    if ways.iter().any(|(_, flow)| flow.lost >= LOST_MIN && flow.loss() >= BAD_LOSS) {
        sentence += " TCP sends again what is lost, and becomes slow.";
        return (Judgement::Bad, sentence);
    }
    let judgement = if lost + reordered + doubled > 0 { Judgement::Look } else { Judgement::Fine };
    (judgement, sentence)
}

/// How many bits a second were to be sent each way, as ` at 1,000 kbit/s`; nothing where that is not known.
fn rate(ways: &[(&str, &DatagramFlow)]) -> String {
    let asked = ways.iter().map(|(_, flow)| flow.asked_bits_per_s).fold(0.0, f64::max);
    if asked > 0.0 { format!(" at {} kbit/s", show_plain(asked / 1e3)) } else { String::new() }
}

fn of_way(way: &str, flow: &DatagramFlow) -> String {
    let mut text = if flow.lost == 0 {
        format!("none of {} is lost {way}", grouped(flow.sent))
    } else {
        format!(
            "{} of {} are lost {way} ({:.2} %, at most {} in a row)",
            grouped(flow.lost),
            grouped(flow.sent),
            flow.loss() * 100.0,
            grouped(flow.gap_max)
        )
    };
    if flow.reordered > 0 {
        text += &format!(", {} overtaken", grouped(flow.reordered));
    }
    if flow.duplicates > 0 {
        text += &format!(", {} doubled", counted(flow.duplicates, "datagram"));
    }
    text + &format!(", jitter {}", show_ns(flow.jitter_ns))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::PathTest;

    fn judged(outcome: &PartOutcome) -> (Judgement, String) {
        let part = PathPart {
            test: PathTest::Datagrams,
            size_bytes: 200,
            expected_ns: 0,
            silence_ns: 0,
            timeout_ns: 0,
            words: Vec::new(),
            outcome: None,
        };
        judge(&part, outcome)
    }

    fn outcome(lost: u64, reordered: u64) -> PartOutcome {
        let flow = DatagramFlow {
            sent: 1_000,
            lost,
            reordered,
            gap_max: lost,
            jitter_ns: 12_000,
            ..DatagramFlow::default()
        };
        PartOutcome {
            valid: true,
            operations: 1_000,
            duration_ns: 2_000_000_000,
            to_server: Some(flow),
            from_server: Some(DatagramFlow { sent: 1_000, ..DatagramFlow::default() }),
            ..PartOutcome::default()
        }
    }

    #[test]
    fn loss_and_order_decide() {
        let (judgement, text) = judged(&outcome(0, 0));
        assert_eq!(judgement, Judgement::Fine);
        assert!(text.contains("none of 1,000 is lost there, jitter 12.0 us; none of"), "{text}");
        assert_eq!(judged(&outcome(0, 1)).0, Judgement::Look);
        assert_eq!(judged(&outcome(9, 0)).0, Judgement::Look);
        let (judgement, text) = judged(&outcome(10, 0));
        assert_eq!(judgement, Judgement::Bad);
        assert!(
            text.contains("10 of 1,000 are lost there (1.00 %, at most 10 in a row)"),
            "{text}"
        );
    }

    #[test]
    fn two_of_few_are_no_share() {
        let flow = |lost| DatagramFlow { sent: 20, lost, ..DatagramFlow::default() };
        let of = |there, back| {
            let (to_server, from_server) = (Some(flow(there)), Some(flow(back)));
            judged(&PartOutcome { to_server, from_server, ..outcome(0, 0) }).0
        };
        assert_eq!(of(1, 0), Judgement::Look);
        assert_eq!(of(2, 2), Judgement::Look);
        assert_eq!(of(0, 3), Judgement::Bad);
    }

    #[test]
    fn datagrams_that_come_twice_are_looked_at() {
        let flow =
            DatagramFlow { duplicates: 65, asked_bits_per_s: 1e6, ..DatagramFlow::default() };
        let twice = PartOutcome { from_server: Some(flow), ..outcome(0, 0) };
        let (judgement, text) = judged(&twice);
        assert_eq!(judgement, Judgement::Look, "{text}");
        assert!(text.contains("of 200 bytes at 1,000 kbit/s in 2.00 s none of 1,000"), "{text}");
        assert!(text.contains(", 65 datagrams doubled"), "{text}");
    }

    #[test]
    fn loss_in_a_run_that_is_not_valid_does_not_speak_against_the_path() {
        for lost in [0, 5, 20] {
            let (judgement, text) = judged(&PartOutcome { valid: false, ..outcome(lost, 0) });
            assert_eq!(judgement, Judgement::Look, "{text}");
            assert!(text.ends_with(". The figures are not valid: see the run's report."), "{text}");
        }
    }

    #[test]
    fn streams_that_broke_speak_against_the_path() {
        let failures = BTreeMap::from([("closed".to_owned(), 1)]);
        let (judgement, text) = judged(&PartOutcome { valid: false, failures, ..outcome(400, 0) });
        assert_eq!(judgement, Judgement::Bad);
        assert!(text.ends_with(". 1 stream broke."), "{text}");
    }

    #[test]
    fn a_server_without_udp_is_no_finding() {
        let error = PartOutcome { error: Some("connection refused".into()), ..Default::default() };
        assert_eq!(judged(&error).0, Judgement::Untold);
        assert_eq!(judged(&PartOutcome::default()).0, Judgement::Bad);
    }
}
