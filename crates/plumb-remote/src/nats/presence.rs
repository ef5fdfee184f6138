//! Which remotes say that they are there, and which of them are asked for.

use plumb_measure::{RemoteQuery, remote_name};
use serde::{Deserialize, Serialize};

use crate::message::{Hello, read};

/// Who is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Presence {
    /// Who it is.
    pub hello: Hello,
    /// True while it works for a controller.
    pub busy: bool,
}

/// Who says in `payload` that he is there. Subjects and files are called by his name, so whoever has
/// none that can be one is not.
pub(super) fn present(payload: &[u8]) -> Option<Presence> {
    let presence: Presence = read(std::str::from_utf8(payload).ok()?).ok()?;
    remote_name(&presence.hello.name).is_ok().then_some(presence)
}

/// True when `query` names its remotes, and all of them are there.
pub(super) fn are_named(query: &RemoteQuery, there: &[Presence]) -> bool {
    match query {
        RemoteQuery::Names(names) => {
            names.iter().all(|name| there.iter().any(|it| it.hello.name == *name))
        }
        RemoteQuery::All | RemoteQuery::Labels(_) => false,
    }
}

pub(super) fn found(query: &RemoteQuery, there: &[Presence]) -> Vec<String> {
    let free = || there.iter().filter(|it| !it.busy).map(|it| &it.hello);
    match query {
        RemoteQuery::All => free().map(|hello| hello.name.clone()).collect(),
        RemoteQuery::Labels(labels) => free()
            .filter(|hello| labels.iter().all(|(key, value)| hello.labels.get(key) == Some(value)))
            .map(|hello| hello.name.clone())
            .collect(),
        RemoteQuery::Names(names) => {
            let is_free = |name: &String| free().any(|hello| hello.name == *name);
            if names.iter().all(is_free) { names.clone() } else { Vec::new() }
        }
    }
}

/// Who is there, for whoever looked for somebody else.
pub(super) fn told(there: &[Presence]) -> String {
    if there.is_empty() {
        return "none is there: start `plumb remote --nats` on each machine".into();
    }
    let each = there.iter().map(|Presence { hello, busy }| {
        let labels: String =
            hello.labels.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        format!("{}{labels}{}", hello.name, if *busy { " (busy)" } else { "" })
    });
    format!("there: {}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::written;

    fn presence(name: &str, labels: &[(&str, &str)], busy: bool) -> Presence {
        let labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let hello = Hello { name: name.into(), labels: labels.collect(), ..Hello::default() };
        Presence { hello, busy }
    }

    #[test]
    fn remotes_are_found_by_name_and_label_when_they_are_free() {
        let there = [
            presence("a", &[("site", "x"), ("role", "user")], false),
            presence("b.c", &[("site", "x")], false),
            presence("d", &[("site", "x")], true),
        ];
        let found = |query: &str| found(&query.parse().unwrap(), &there);
        assert_eq!(found("all"), ["a", "b.c"]);
        assert_eq!(found("site=x"), ["a", "b.c"]);
        assert_eq!(found("role=user,site=x"), ["a"]);
        assert_eq!(found("b.c,a"), ["b.c", "a"], "in the order asked for");
        for nobody in ["d", "a,d", "a,nobody", "site=y"] {
            assert!(found(nobody).is_empty(), "{nobody}");
        }
        assert_eq!(told(&there), "there: a role=user site=x, b.c site=x, d site=x (busy)");
    }

    #[test]
    fn whoever_has_no_name_is_not_there() {
        let said = |name: &str| written(&presence(name, &[], false)).unwrap().into_bytes();
        assert_eq!(present(&said("app-1")).map(|it| it.hello.name).as_deref(), Some("app-1"));
        for name in ["..", "/home/op", "a/b", "a b", "a\r\nPUB x 0", ""] {
            assert_eq!(present(&said(name)), None, "{name}");
        }
        assert_eq!(present(b"app-1"), None);
    }
}
