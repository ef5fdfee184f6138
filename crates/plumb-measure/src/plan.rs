//! What makes two runs repetitions of one plan.

use std::borrow::Cow;

use serde_json::Value;

use crate::Plan;

/// Options that make no other plan, whatever their value:
///
/// - where figures go beside the run: `jtl`, `metrics`,
/// - what is drawn anew, or only numbers what is sent: `seed`, `first-number`,
/// - what came of it: `remotes-start-spread-ns`,
/// - how finely a run is told and watched: `interval`, `host-interval`, `lag`, `link`,
/// - how long it waits for what fails, which counts as failed either way: `connect-timeout`.
const NO_PART: [&str; 10] = [
    "connect-timeout",
    "first-number",
    "host-interval",
    "interval",
    "jtl",
    "lag",
    "link",
    "metrics",
    "remotes-start-spread-ns",
    "seed",
];
/// Option under which a record names the remotes that drove its loads. Which of them were asked for is
/// an option of its own, `remotes-asked`.
const REMOTES: &str = "remotes";

impl Plan {
    /// The options that tell this plan from another, each with its value: those that ask for something,
    /// as the others are the same as ones that a version did not know, without those that are no part
    /// of a plan. Runs of the same layer and verb that agree in them, and in what they measured, are
    /// repetitions of each other.
    pub fn distinctive(&self) -> impl Iterator<Item = (&str, Cow<'_, Value>)> {
        let asked = self.options.iter().filter(|(_, value)| is_set(value));
        let part = asked.filter(|(name, _)| !NO_PART.contains(&name.as_str()));
        part.map(|(name, value)| (name.as_str(), lasting(name, value)))
    }
}

/// False for the value of an option that is not used, which is the same as one that a version did not
/// know.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Array(values) => !values.is_empty(),
        Value::String(text) => !text.is_empty() && text != "none",
        Value::Number(_) | Value::Object(_) => true,
    }
}

/// `value` of the option `name`; of remotes how many there are, as a record names those that were found,
/// with their machines and clocks.
fn lasting<'a>(name: &str, value: &'a Value) -> Cow<'a, Value> {
    match (name, value) {
        (REMOTES, Value::Array(remotes)) => Cow::Owned(remotes.len().into()),
        _ => Cow::Borrowed(value),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn plan(options: &[(&str, Value)]) -> Plan {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Plan {
            layer: "net".into(),
            verb: "ping".into(),
            command: Vec::new(),
            options: options.collect(),
            load: "closed".into(),
            seed: 0,
        }
    }

    fn distinctive(options: &[(&str, Value)]) -> BTreeMap<String, Value> {
        let plan = plan(options);
        plan.distinctive().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
    }

    #[test]
    fn what_is_drawn_written_or_waited_for_makes_no_other_plan() {
        let size = ("size", json!(["500B"]));
        let of_size = distinctive(std::slice::from_ref(&size));
        let beside = NO_PART.map(|name| (name, json!(7)));
        let unused = [("tls", json!(false)), ("pin", json!([])), ("proxy", json!(null))];
        assert_eq!(distinctive(&[&beside[..], &unused, &[size]].concat()), of_size);
        assert_ne!(distinctive(&[("rate", json!("1/s"))]), distinctive(&[("rate", json!("2/s"))]));
    }

    #[test]
    fn remotes_are_counted_whichever_are_found() {
        let of = |name: &str, host: &str, ahead: i64| {
            let found = json!({"name": name, "host": host, "kernel": host, "cpus": 2,
                "clock-ahead-ns": ahead, "clock-uncertainty-ns": ahead + 1});
            distinctive(&[("remotes", json!([found]))])
        };
        assert_eq!(of("a", "ci-1", 5), of("a", "ci-2", -7));
        assert_eq!(of("a", "ci-1", 5), of("b", "ci-1", 5), "one that was chosen by its label");
        assert_eq!(of("a", "ci-1", 5)["remotes"], json!(1));
        let asked = |of: &str| distinctive(&[("remotes-asked", json!(of))]);
        assert_ne!(asked("berlin"), asked("tokyo"));
    }
}
