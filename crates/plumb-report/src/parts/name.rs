//! What the parts of a load are called in a table.

use plumb_measure::PartRecord;

use crate::table::end_of;

/// Characters of a URL in a table.
const NAME_MAX: usize = 32;

/// The names of the parts: without the server, when all have the same.
pub(crate) fn names(parts: &[PartRecord]) -> Vec<String> {
    if let Some(names) = names_of_steps(parts) {
        return names;
    }
    let server = |name: &str| {
        let from = name.find("://").map_or(0, |at| at + 3);
        name[from..].find('/').map(|at| from + at)
    };
    let first = parts.first().and_then(|part| Some(part.name[..server(&part.name)?].to_owned()));
    let same = first.filter(|first| {
        parts.iter().all(|part| server(&part.name).is_some_and(|at| part.name[..at] == **first))
    });
    let skipped = same.map_or(0, |server| server.len());
    let short = parts.iter().map(|part| end_of(&part.name[skipped..], NAME_MAX));
    let short: Vec<String> = short.collect();
    let mut told_apart = short.clone();
    told_apart.sort();
    told_apart.dedup();
    if told_apart.len() == short.len() {
        return short;
    }
    // what looks alike when it is cut has its number
    short.into_iter().enumerate().map(|(at, name)| format!("{}. {name}", at + 1)).collect()
}

/// The names of steps, with their scenario where there are several; `None` of other parts.
fn names_of_steps(parts: &[PartRecord]) -> Option<Vec<String>> {
    let scenario = |part: &PartRecord| part.labels.get("scenario").cloned();
    let first = parts.first().and_then(scenario)?;
    let several = parts.iter().any(|part| scenario(part).is_some_and(|other| other != first));
    let name = |part: &PartRecord| match scenario(part) {
        Some(scenario) if several => end_of(&format!("{scenario}/{}", part.name), NAME_MAX),
        _ => end_of(&part.name, NAME_MAX),
    };
    Some(parts.iter().map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names_: &[&str]) -> Vec<String> {
        let part = |name: &&str| PartRecord { name: (*name).into(), ..PartRecord::default() };
        names(&names_.iter().map(part).collect::<Vec<_>>())
    }

    #[test]
    fn pages_of_one_server_are_called_by_their_paths() {
        assert_eq!(named(&["http://a/x", "http://a/y?z"]), ["/x", "/y?z"]);
        assert_eq!(named(&["http://a/x", "http://b/x"]), ["http://a/x", "http://b/x"]);
        assert_eq!(named(&["odd", ""]), ["odd", ""]);
    }

    #[test]
    fn long_names_are_cut_and_still_told_apart() {
        let long = |c: char| format!("http://a/{c}{}", "x".repeat(60));
        let names = named(&[&long('a'), &long('b')]);
        assert!(names[0].starts_with("1. ...") && names[1].starts_with("2. ..."), "{names:?}");
        assert_eq!(end_of(&"y".repeat(50), NAME_MAX).chars().count(), NAME_MAX);
    }
}
