//! The object of Windows whose counters a section holds.

use super::SECTION;
use crate::section::Section;

/// An object of Windows' performance counters, or one of its instances: `PhysicalDisk(_Total)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterObject<'a> {
    /// The machine, where it is not the first of the recording.
    pub machine: Option<&'a str>,
    /// The object.
    pub name: &'a str,
    /// The instance, where the object has several.
    pub instance: Option<&'a str>,
}

impl<'a> CounterObject<'a> {
    /// The object of `section`; `None` of a section that is none of Windows.
    #[must_use]
    pub fn of(section: &'a Section) -> Option<Self> {
        let is_counters = section.name.starts_with(SECTION);
        is_counters.then(|| Self::named(&section.title))
    }

    fn named(title: &'a str) -> Self {
        let (machine, title) = apart(title);
        let parts = title.strip_suffix(')').and_then(|title| title.split_once('('));
        let (name, instance) = match parts {
            Some((name, instance)) if !name.is_empty() => (name, Some(instance)),
            _ => (title, None),
        };
        Self { machine, name, instance }
    }
}

/// The machine before `\\MACHINE\rest`, and the rest.
#[must_use]
pub fn apart(name: &str) -> (Option<&str>, &str) {
    let parts = name.strip_prefix("\\\\").and_then(|name| name.split_once('\\'));
    parts.map_or((None, name), |(machine, rest)| (Some(machine), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_taken_apart() {
        let object = |machine, name, instance| CounterObject { machine, name, instance };
        for (title, expected) in [
            ("Memory", object(None, "Memory", None)),
            ("PhysicalDisk(0 C:)", object(None, "PhysicalDisk", Some("0 C:"))),
            ("X(a(b))", object(None, "X", Some("a(b)"))),
            (r"\\B\X(a\b)", object(Some("B"), "X", Some(r"a\b"))),
            ("(_Total)", object(None, "(_Total)", None)),
        ] {
            assert_eq!(CounterObject::named(title), expected, "{title}");
        }
    }
}
