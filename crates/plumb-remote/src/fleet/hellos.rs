//! Who remotes say that they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::time::Duration;

use plumb_measure::remote_name;

use super::{ANSWER_NS, Post, RemoteError};
use crate::message::{Hello, Order, Report, SCHEMA};

/// What each of `remotes`, by their names, says of itself first, in their order.
///
/// # Errors
/// [`RemoteError`] when one does not answer, is another version, or calls itself something else, or the
/// names of two cannot stand side by side.
pub(super) fn heard(
    remotes: &[(String, Sender<Order>)],
    post: &mut impl Post,
) -> Result<Vec<Hello>, RemoteError> {
    apart(&remotes.iter().map(|(name, _)| name.as_str()).collect())?;
    let mut hellos: BTreeMap<usize, Hello> = BTreeMap::new();
    let deadline_ns = post.now_ns() + ANSWER_NS;
    while hellos.len() < remotes.len() {
        let left_ns = deadline_ns.saturating_sub(post.now_ns());
        let missing = || (0..remotes.len()).find(|at| !hellos.contains_key(at)).unwrap_or(0);
        match post.hear(Duration::from_nanos(left_ns)) {
            Some((at, Ok(Report::Hello(hello)))) => {
                hellos.insert(at, checked(&remotes[at].0, hello)?);
            }
            Some((_, Ok(_))) => {}
            Some((at, Err(ended))) => {
                let (name, why) = (remotes[at].0.clone(), ended.to_string());
                return Err(RemoteError::Silent { name, why });
            }
            None => {
                let name = remotes[missing()].0.clone();
                return Err(RemoteError::Silent { name, why: "nothing came for 10 s".into() });
            }
        }
    }
    Ok(hellos.into_values().collect())
}

/// Refuses names of which one is that of the other's record: the folder of the one would be where the
/// record of the other lies.
fn apart(names: &BTreeSet<&str>) -> Result<(), RemoteError> {
    let of = |name: &&str| Some((name.strip_suffix(".json")?.to_owned(), (*name).to_owned()));
    let mut pairs = names.iter().filter_map(of);
    match pairs.find(|(name, _)| names.contains(name.as_str())) {
        Some((name, other)) => Err(RemoteError::Alike { name, other }),
        None => Ok(()),
    }
}

/// `hello`, if it is that of the remote `name`. What it hands over lies under its name here: that is
/// the one by which it was taken, and leads nowhere else.
fn checked(name: &str, hello: Hello) -> Result<Hello, RemoteError> {
    if hello.schema != SCHEMA || hello.version != env!("CARGO_PKG_VERSION") {
        let Hello { version, schema, .. } = hello;
        return Err(RemoteError::Version { name: name.to_owned(), version, schema });
    }
    if hello.name != name || remote_name(name).is_err() {
        return Err(RemoteError::Name { name: name.to_owned(), said: hello.name });
    }
    Ok(hello)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(name: &str) -> Hello {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Hello { schema: SCHEMA.into(), name: name.into(), version, ..Hello::default() }
    }

    #[test]
    fn a_remote_has_the_name_by_which_it_was_taken() {
        assert_eq!(checked("app-1", hello("app-1")).unwrap().name, "app-1");
        for name in ["/home/op/.config", "../../baselines", "app-2", ""] {
            let refused = checked("app-1", hello(name)).unwrap_err();
            assert!(matches!(refused, RemoteError::Name { said, .. } if said == name));
        }
        for name in [".", "..", "/x", "a/b"] {
            assert!(checked(name, hello(name)).is_err(), "{name}");
        }
        assert!(apart(&BTreeSet::from(["a", "a.jso", "b.json", "ab"])).is_ok());
        let refused = apart(&BTreeSet::from(["a", "b", "a.json"])).unwrap_err();
        assert!(refused.to_string().starts_with("a and a.json: "), "{refused}");
        let old = Hello { version: "0".into(), ..hello("app-1") };
        assert!(matches!(checked("app-1", old), Err(RemoteError::Version { .. })));
    }
}
