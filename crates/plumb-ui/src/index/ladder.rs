//! What the index keeps of a load ladder.

use plumb_measure::{AcceptedLoad, LadderDrift, RecordError, counted, read_versioned};
use serde_json::Value;

/// The form of `ladder.json`.
const SCHEMA: &str = "plumb.ladder/1";

/// A ladder as far as it has been climbed, in words.
#[derive(Debug, PartialEq)]
pub(super) struct Ladder {
    /// RFC 3339 in UTC.
    pub(super) started: String,
    /// `users 1 to 28`.
    pub(super) levels: String,
    /// Whether it shows a knee.
    pub(super) verdict: &'static str,
    /// How many of its runs count, the level at which a knee is shown, and what is known of drift.
    pub(super) detail: String,
    /// The limit of foreign load that was raised for those that count.
    pub(super) accepted_load: Option<AcceptedLoad>,
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
        let drift = serde_json::from_value::<[LadderDrift; 2]>(ladder["drift"].clone()).ok();
        let verdict = match (ladder["interrupted"].as_bool(), knee) {
            (Some(true), _) => "interrupted",
            (_, Some(_)) => "knee shown",
            // the record is written behind every step, and a step is taken again behind all others
            (_, None) if drift.is_none() => "no knee so far",
            (_, None) => "no knee",
        };
        let count = steps.iter().filter(|step| step["counts"] == true).count();
        let runs = counted(steps.len() as u64, "run");
        let verb = if count == 1 { "counts" } else { "count" };
        let knee_at = knee.map(|level| format!("; the knee is shown at {}", load(&stepped, level)));
        let drifted = match drift {
            Some(both) if both.iter().any(LadderDrift::is_shown) => "; the machine drifted",
            Some(both) if both.iter().all(LadderDrift::is_known) => "",
            None if knee.is_none() => "",
            _ => "; whether the machine drifted is not known",
        };
        let detail = format!("{count} of {runs} {verb}{}{drifted}", knee_at.unwrap_or_default());
        let accepted_load = ladder["accepted_load"].clone();
        let accepted_load = serde_json::from_value::<AcceptedLoad>(accepted_load).ok();
        Ok(Self { started: word("started"), levels, verdict, detail, accepted_load })
    }
}

/// A level in words.
fn load(stepped: &str, level: u64) -> String {
    match stepped {
        "rate" => format!("{} a second", counted(level, "operation")),
        _ => counted(level, stepped.strip_suffix('s').unwrap_or(stepped)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(steps: &Value, rest: &Value) -> [String; 3] {
        let mut ladder = json!({
            "schema": SCHEMA, "plumb": {"version": "1"}, "started": "2026-11-21T10:00:00Z",
            "stepped": "users", "steps": steps, "interrupted": false,
        });
        ladder.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let Ladder { started, levels, verdict, detail, .. } =
            Ladder::of(&ladder.to_string()).unwrap();
        assert_eq!(started, "2026-11-21T10:00:00Z");
        [levels, verdict.into(), detail]
    }

    #[test]
    fn a_ladder_is_told_by_its_levels_and_its_knee() {
        let step = |level: u64, counts: bool| json!({"level": level, "counts": counts});
        let steps = json!([step(1, true), step(8, false), step(8, true), step(4, true)]);
        let drift = |share: f64, within: Option<f64>| {
            let of = json!({"share": share, "within": within});
            json!([of, of])
        };
        let none = drift(0.01, Some(0.02));
        let knee = "3 of 4 runs count; the knee is shown at 8 users";
        let ended = json!({"knee": 8, "drift": none});
        assert_eq!(of(&steps, &ended), ["users 1 to 8", "knee shown", knee]);
        let interrupted = json!({"interrupted": true});
        let words = ["users 1 to 8", "interrupted", "3 of 4 runs count"];
        assert_eq!(of(&steps, &interrupted), words);
        let ended = json!({"drift": none});
        assert_eq!(of(&steps, &ended), ["users 1 to 8", "no knee", "3 of 4 runs count"]);
        let first = json!([step(1, true)]);
        assert_eq!(of(&first, &json!({})), ["users 1", "no knee so far", "1 of 1 run counts"]);
        let words = ["users", "interrupted", "0 of 0 runs count"];
        assert_eq!(of(&json!([]), &interrupted), words);
        let rate = json!({"stepped": "rate", "knee": 8, "drift": none});
        assert!(of(&steps, &rate)[2].ends_with("at 8 operations a second"));
        for (rest, said) in [
            (json!({"knee": 8}), "; whether the machine drifted is not known"),
            (json!({"drift": drift(0.2, None)}), "; whether the machine drifted is not known"),
            (json!({"drift": drift(0.2, Some(0.1))}), "; the machine drifted"),
        ] {
            let [_, _, detail] = of(&steps, &rest);
            assert!(detail.ends_with(said), "{detail}");
        }
        let raised = json!({
            "schema": SCHEMA, "plumb": {"version": "1"}, "started": "2026-11-21T10:00:00Z",
            "accepted_load": {"limit": {"share": "100%", "source": "option"}, "most_pct": 84.0},
        });
        let accepted = Ladder::of(&raised.to_string()).unwrap().accepted_load.unwrap();
        assert_eq!(
            accepted.words(),
            "limit of foreign load raised to 100 %, others took up to 84.0 %"
        );
        assert!(Ladder::of("{}").is_err() && Ladder::of("{\"schema\":\"x/1\"}").is_err());
    }
}
