//! What changed between two experiment files. Comments and layout are no change.

use toml::{Table, Value};

/// Changes that are listed at most.
const SHOWN: usize = 8;
/// Characters of a value that are shown.
const VALUE_MAX: usize = 60;

/// Every change in words, the first ones of many; none when the files say the same.
///
/// # Errors
/// When one of them is no TOML.
pub fn changes_between(old: &str, new: &str) -> Result<Vec<String>, toml::de::Error> {
    let (old, new): (Table, Table) = (old.parse()?, new.parse()?);
    let mut changes = Vec::new();
    tables("", &old, &new, &mut changes);
    let beyond = changes.len().saturating_sub(SHOWN);
    changes.truncate(SHOWN);
    if beyond > 0 {
        changes.push(format!("and {beyond} more"));
    }
    Ok(changes)
}

fn tables(place: &str, old: &Table, new: &Table, changes: &mut Vec<String>) {
    let within = |key: &str| match place {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    };
    for (key, value) in old {
        match new.get(key) {
            Some(other) => values(&within(key), value, other, changes),
            None => changes.push(format!("{} ({}) is gone", within(key), shown(value))),
        }
    }
    for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        changes.push(format!("{} ({}) is new", within(key), shown(value)));
    }
}

fn values(place: &str, old: &Value, new: &Value, changes: &mut Vec<String>) {
    match (old, new) {
        (Value::Table(old), Value::Table(new)) => tables(place, old, new, changes),
        (Value::Array(old), Value::Array(new)) if sections(old) && sections(new) => {
            let (one, other) = (by_name(old), by_name(new));
            tables(place, &one, &other, changes);
        }
        (old, new) if old == new => {}
        (old, new) => changes.push(format!("{place} was {} and is {}", shown(old), shown(new))),
    }
}

fn sections(values: &[Value]) -> bool {
    !values.is_empty() && values.iter().all(Value::is_table)
}

/// Sections under their names, or their numbers where they have none.
fn by_name(sections: &[Value]) -> Table {
    let named = sections.iter().enumerate().map(|(at, section)| {
        let name = section.get("name").and_then(Value::as_str);
        (name.map_or_else(|| (at + 1).to_string(), str::to_owned), section.clone())
    });
    named.collect()
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Table(_) => "a section".into(),
        value => value.to_string(),
    };
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "rounds = 6\n[[variant]]\nname = \"on\"\nbefore = \"x\"\n\
                       [[factor]]\nname = \"size\"\nlevels = [\"1B\", \"2B\"]\n";

    #[test]
    fn comments_and_layout_are_no_change() {
        let new = OLD.replace("rounds = 6", "# six\nrounds   =   6");
        assert!(changes_between(OLD, &new).unwrap().is_empty());
    }

    #[test]
    fn a_change_is_named_by_its_section_and_both_values() {
        let new = OLD.replace("6", "8").replace("\"2B\"", "\"3B\"").replace("before", "after");
        assert_eq!(
            changes_between(OLD, &new).unwrap(),
            [
                "factor.size.levels was [\"1B\", \"2B\"] and is [\"1B\", \"3B\"]",
                "rounds was 6 and is 8",
                "variant.on.before (\"x\") is gone",
                "variant.on.after (\"x\") is new",
            ]
        );
        let other = OLD.replace("\"on\"", "\"off\"");
        assert_eq!(
            changes_between(OLD, &other).unwrap(),
            ["variant.on (a section) is gone", "variant.off (a section) is new"]
        );
    }

    #[test]
    fn of_many_changes_the_first_are_listed() {
        let many =
            |from: u8| (b'a'..=b'z').map(move |key| format!("{} = {from}\n", char::from(key)));
        let changes =
            changes_between(&many(1).collect::<String>(), &many(2).collect::<String>()).unwrap();
        assert_eq!((changes.len(), changes[SHOWN].as_str()), (SHOWN + 1, "and 18 more"));
    }
}
