//! The rows of redirects and challenges.

use plumb_measure::{PartRecord, ResultRecord};

use super::CompiledScenario;

/// The label of rows of redirects and challenges, and of steps with theirs.
const HOP: &str = "hop";

/// Labels the rows of redirects and challenges.
pub(super) fn mark_hops(result: &mut ResultRecord, compiled: &CompiledScenario) {
    let (steps, groups) = compiled.prepared;
    let hops = result.parts.iter_mut().skip(compiled.own.0 - steps);
    let wholes = result.groups.iter_mut().skip(compiled.own.1 - groups);
    for part in hops.chain(wholes) {
        let which = part.name.rsplit(" (").next().unwrap_or_default().trim_end_matches(')');
        part.labels.insert(HOP.into(), which.to_owned());
    }
}

/// Puts the rows of redirects and challenges under those of their steps, and leaves out those of
/// which there were none.
pub(super) fn settle_hops(result: &mut ResultRecord) {
    for parts in [&mut result.parts, &mut result.groups] {
        let (hops, own): (Vec<PartRecord>, Vec<PartRecord>) =
            std::mem::take(parts).into_iter().partition(|part| part.labels.contains_key(HOP));
        let mut hops: Vec<PartRecord> = hops.into_iter().filter(|part| !is_idle(part)).collect();
        for part in own {
            let (name, scenario) = (part.name.clone(), part.labels.get("scenario").cloned());
            parts.push(part);
            let of_step = |hop: &mut PartRecord| {
                hop.labels.get("scenario") == scenario.as_ref()
                    && hop.name.strip_prefix(&name).is_some_and(|rest| {
                        rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'))
                            == hop.labels.get(HOP).map(String::as_str)
                    })
            };
            parts.extend(hops.extract_if(.., of_step));
        }
        parts.append(&mut hops); // groups, whose steps stand elsewhere
    }
}

fn is_idle(part: &PartRecord) -> bool {
    part.operations == 0 && part.failures.is_empty()
}
