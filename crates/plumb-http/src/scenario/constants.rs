//! Variables that are the same for all users of a scenario: their values are made once, before the
//! load.

use std::collections::BTreeMap;

use plumb_engine::clock;
use plumb_scenario::file::Pairs;
use plumb_scenario::generator::Generator;
use plumb_scenario::template::Template;
use plumb_scenario::variables::{Common, Names, Slot, Value, Variables};

/// A variable that has no value, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoValue {
    pub(super) name: String,
    pub(super) problem: String,
}

/// The values of `written`, and their slots. One may refer to others of them; what is drawn in them
/// follows from `seed`.
///
/// # Errors
/// [`NoValue`] for the first that is no template, or has no value before the load.
pub(super) fn values(
    written: &Pairs,
    names: &mut Names,
    seed: u64,
) -> Result<(Common, Vec<Slot>), NoValue> {
    let refused = |name: &str, problem: String| NoValue { name: name.into(), problem };
    let mut open = BTreeMap::new();
    for (name, text) in written {
        let slot = names.slot(name).map_err(|error| refused(name, error.to_string()))?;
        let template = Template::parse(text, names)
            .map_err(|error| refused(name, format!("variables.{name}: {error}")))?;
        open.insert(name, (slot, template));
    }
    let generator = Generator::of_load(seed, clock::wall_ns);
    let mut made = Variables::with(Common::default().share(), generator);
    let (mut common, mut known) = (Common::default(), Vec::new());
    while let Some(first) = open.keys().next().copied() {
        let unknown = |template: &Template| template.slots().find(|slot| !known.contains(slot));
        let ready = open.iter().find(|(_, (_, template))| unknown(template).is_none());
        let Some(name) = ready.map(|(name, _)| *name) else {
            let missing = open.get(first).and_then(|(_, template)| unknown(template));
            let missing = missing.map_or("", |slot| names.name(slot));
            let problem = format!(
                "variables.{first}: `{missing}` has no value before the load, or comes back to \
                 itself: name it under variables, or write $${{ for the characters"
            );
            return Err(refused(first, problem));
        };
        let Some((slot, template)) = open.remove(name) else { continue };
        let mut text = Vec::new();
        template.write(&made, &mut text).map_err(|missing| {
            refused(name, format!("variables.{name}: {}", missing.words(names)))
        })?;
        let value = Value::text(&String::from_utf8_lossy(&text));
        made.set(slot, value.clone());
        common.set(slot, value);
        known.push(slot);
    }
    Ok((common, known))
}

#[cfg(test)]
mod tests {
    use plumb_measure::LoadPart;

    use super::*;

    fn value(pairs: &[(&str, &str)], wanted: &str) -> Result<String, String> {
        let mut names = Names::with_values(LoadPart::default());
        let written = pairs.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        let (common, _) = values(&written, &mut names, 1).map_err(|no| no.problem)?;
        let variables = Variables::new(common.share());
        match variables.get(names.slot(wanted).unwrap()) {
            Some(Value::Text(text)) => Ok(text.to_string()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn values_may_refer_to_each_other_whatever_their_order() {
        let pairs = [("a", "${b}/${sum(${n}, 1)}"), ("b", "${host}:1"), ("host", "h"), ("n", "4")];
        assert_eq!(value(&pairs, "a").unwrap(), "h:1/5");
        assert_eq!(value(&[("a", "$${b} ")], "a").unwrap(), "${b} ");
        let drawn = [("a", "${uuid()}")];
        assert_eq!(value(&drawn, "a"), value(&drawn, "a"));
    }

    #[test]
    fn what_has_no_value_before_the_load_is_said() {
        for (pairs, part) in [
            (vec![("a", "${b}"), ("b", "${a}")], "variables.a: `b` has no value before the load"),
            (vec![("a", "${later}")], "`later` has no value before the load"),
            (vec![("a", "${user()}")], "variables.a: nobody asks here"),
            (vec![("a", "${random(1)}")], "variables.a: byte 0: `random(1)`"),
        ] {
            let problem = value(&pairs, "a").unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
