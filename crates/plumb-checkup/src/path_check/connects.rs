//! What the connections of all parts say: whether names are looked up, and connections made, at once.

use super::{Judgement, PartOutcome};
use plumb_measure::{counted, grouped, show_ns};

/// The judgement of the parts that connected, and its sentence.
pub(super) fn judge<'a>(outcomes: impl Iterator<Item = &'a PartOutcome>) -> (Judgement, String) {
    let connected: Vec<(&PartOutcome, u64)> =
        outcomes.filter_map(|it| Some((it, it.connect_max_ns?))).collect();
    let Some(longest_ns) = connected.iter().map(|(_, ns)| *ns).max() else {
        return (Judgement::Open, "no part has connected".into());
    };
    let all = connected.len() as u64;
    let many = |n: u64| format!("{} of {}", grouped(n), counted(all, "part"));
    let of = |test: fn(&PartOutcome) -> bool| {
        connected.iter().filter(|(outcome, _)| test(outcome)).count() as u64
    };
    let waited = of(|outcome| outcome.connect_retransmission.is_some());
    let mut said = Vec::new();
    if waited > 0 {
        said.push(format!(
            "in {} a connect took a second or longer, {} at most: its first segment (SYN) was lost, or \
             dropped by a firewall or by a listener whose queue was full, and is sent again after 1 s \
             and more",
            many(waited),
            show_ns(longest_ns)
        ));
    }
    let names = connected.iter().filter_map(|(outcome, _)| outcome.slow_name.as_deref());
    if let Some(text) = names.clone().next() {
        said.push(format!("in {} a name took long: {text}", many(names.count() as u64)));
    }
    if said.is_empty() {
        let text =
            format!("{} connected, in {} at most.", counted(all, "part"), show_ns(longest_ns));
        return (Judgement::Fine, text);
    }
    (Judgement::Look, said.join("; ") + ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn connected(ms: u64) -> PartOutcome {
        PartOutcome { connect_max_ns: Some(ms * MS), ..PartOutcome::default() }
    }

    #[test]
    fn connects_that_waited_and_names_that_are_slow_are_looked_at() {
        let silent = PartOutcome::default();
        let parts = [connected(3), connected(1), silent.clone()];
        let (judgement, text) = judge(parts.iter());
        assert_eq!(judgement, Judgement::Fine);
        assert_eq!(text, "2 parts connected, in 3.00 ms at most.");
        let again = Some("1 of 1 connects took a second or longer".to_owned());
        let dropped = PartOutcome { connect_retransmission: again, ..connected(1_030) };
        let name = Some("looking up the name `db1` took 370 ms".to_owned());
        let slow = PartOutcome { slow_name: name, ..connected(2) };
        let (judgement, text) = judge([dropped, slow.clone(), slow].iter());
        assert_eq!(judgement, Judgement::Look);
        assert!(
            text.starts_with("in 1 of 3 parts a connect took a second or longer, 1.03 s at most"),
            "{text}"
        );
        let names = "; in 2 of 3 parts a name took long: looking up the name `db1` took 370 ms.";
        assert!(text.ends_with(names), "{text}");
        assert_eq!(judge([silent].iter()).0, Judgement::Open);
    }
}
