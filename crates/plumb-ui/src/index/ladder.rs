//! What the index keeps of a load ladder.

use plumb_measure::{RecordError, counted, read_versioned};
use serde_json::Value;

/// The form of `ladder.json`.
const SCHEMA: &str = "plumb.ladder/1";

/// A ladder as far as it has been climbed, in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ladder {
    /// RFC 3339 in UTC.
    pub(super) started: String,
    /// `users 1 to 28`.
    pub(super) levels: String,
    /// Whether it shows a knee.
    pub(super) verdict: &'static str,
    /// How many of its runs count, and where the knee lies.
    pub(super) detail: String,
}

impl Ladder {
    /// That of `ladder.json`, whose `text` it is.
    pub(super) fn of(text: &str) -> Result<Self, RecordError> {
        let ladder: Value = read_versioned(text, SCHEMA)?;
        let word = |name: &str| ladder[name].as_str().unwrap_or_default().to_owned();
        let stepped = word("stepped");
        let steps = ladder["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        let levels = || steps.iter().filter_map(|step| step["level"].as_u64());
        let levels = match (levels().min(), levels().max()) {
            (Some(low), Some(high)) if low < high => format!("{stepped} {low} to {high}"),
            (Some(low), _) => format!("{stepped} {low}"),
            (None, _) => stepped.clone(),
        };
        let knee = ladder["knee"].as_u64();
        let verdict = match (ladder["interrupted"].as_bool(), knee) {
            (Some(true), _) => "interrupted",
            (_, Some(_)) => "knee shown",
            (_, None) => "no knee",
        };
        let count = steps.iter().filter(|step| step["counts"] == true).count();
        let runs = counted(steps.len() as u64, "run");
        let knee =
            knee.map_or_else(String::new, |level| format!("; the knee lies at {stepped} {level}"));
        let detail = format!("{count} of {runs} count{knee}");
        Ok(Self { started: word("started"), levels, verdict, detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(steps: Value, knee: Option<u64>, interrupted: bool) -> [String; 3] {
        let ladder = serde_json::json!({
            "schema": SCHEMA, "plumb": {"version": "1"}, "started": "2026-11-21T10:00:00Z",
            "stepped": "users", "steps": steps, "knee": knee, "interrupted": interrupted,
        });
        let Ladder { started, levels, verdict, detail } = Ladder::of(&ladder.to_string()).unwrap();
        assert_eq!(started, "2026-11-21T10:00:00Z");
        [levels, verdict.into(), detail]
    }

    #[test]
    fn a_ladder_is_told_by_its_levels_and_its_knee() {
        let step = |level: u64, counts: bool| serde_json::json!({"level": level, "counts": counts});
        let steps =
            serde_json::json!([step(1, true), step(8, false), step(8, true), step(4, true)]);
        let knee = "3 of 4 runs count; the knee lies at users 8";
        assert_eq!(of(steps.clone(), Some(8), false), ["users 1 to 8", "knee shown", knee]);
        assert_eq!(of(steps, None, true), ["users 1 to 8", "interrupted", "3 of 4 runs count"]);
        let first = serde_json::json!([step(1, true)]);
        assert_eq!(of(first, None, false), ["users 1", "no knee", "1 of 1 run count"]);
        assert_eq!(
            of(serde_json::json!([]), None, true),
            ["users", "interrupted", "0 of 0 runs count"]
        );
        assert!(Ladder::of("{}").is_err() && Ladder::of("{\"schema\":\"x/1\"}").is_err());
    }
}
