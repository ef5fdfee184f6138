//! Texts of a plan: its variables stay, its functions become what they stand for.

use std::collections::{BTreeMap, BTreeSet};

use plumb_draft::note::{Notes, Place};
use plumb_draft::template::{literal, variable, variable_name};
use plumb_wire::secret::is_secret;

use super::element::Element;
use super::functions::equivalent;
use super::segment::{Function, Segment, parts};
use super::turns::{Turns, turned};

/// Variables inside variables that are followed at most.
const NESTING_MAX: usize = 16;

/// What the variables of a plan stand for, as far as it is known before the load.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// User-defined variables, as they are written.
    known: BTreeMap<String, String>,
    /// Variables that stand for functions without an equivalent, by what is written.
    stand_ins: BTreeMap<String, String>,
    /// Variables that hold every match.
    pub(super) lists: BTreeSet<String>,
    /// Where each variable was first used.
    pub(super) used: BTreeMap<String, Place>,
    /// Variables that stand for properties of the command line, with their defaults.
    properties: BTreeMap<String, String>,
    /// Variables that functions store their values in, for the request at hand.
    stored: BTreeMap<String, String>,
    /// Counters by where they are called: one in an element that holds for several requests is the same
    /// for all of them.
    counters: BTreeMap<Called, usize>,
    /// How often each call was met, for the request at hand.
    met: BTreeMap<(usize, String), usize>,
    /// Those of the group and of the loops around the text at hand.
    pub(super) turns: Turns,
    /// A variable is being defined: a property in it is its default, which the load may replace.
    pub(super) defines: bool,
}

/// A call in a plan: the identity of its element, how it is written, and how many of the same stand before
/// it in that element.
type Called = (usize, String, usize);

impl Words {
    /// Takes down a user-defined variable.
    pub(super) fn define(&mut self, name: &str, value: &str) {
        self.known.insert(name.to_owned(), value.to_owned());
    }

    /// `text` as a template of a scenario. Functions that have no equivalent are named, and become
    /// variables that somebody has to fill in.
    pub(super) fn template(&mut self, text: &str, at: &Element<'_>, notes: &mut Notes) -> String {
        self.template_within(text, at, notes, NESTING_MAX)
    }

    fn template_within(
        &mut self,
        text: &str,
        at: &Element<'_>,
        notes: &mut Notes,
        depth: usize,
    ) -> String {
        let mut out = String::new();
        for part in parts(text) {
            match part {
                Segment::Text(text) => out += &literal(text),
                Segment::Variable(name) => out += &self.reference(name, at, notes),
                Segment::Function(function) => {
                    if let Some(made) = self.property(&function) {
                        out += &made;
                        continue;
                    }
                    match value_of(&function) {
                        Some(Value::Text(value)) if !value.contains("${") => {
                            out += &literal(&value)
                        }
                        Some(Value::Variable(name)) => out += &self.reference(&name, at, notes),
                        Some(Value::Text(_)) | None => {
                            out += &self.made(&function, at, notes, depth);
                        }
                    }
                }
            }
        }
        out
    }

    /// The variable that stands for a property of the command line.
    fn property(&mut self, function: &Function<'_>) -> Option<String> {
        let is_property = matches!(function.name, "__P" | "__property");
        let name = function
            .arguments
            .first()
            .filter(|name| is_property && !self.defines && !name.contains("${"))?;
        let Some(Value::Text(value)) = value_of(function) else { return None };
        let plain = variable_name(name);
        let is_other = self.known.keys().any(|known| variable_name(known) == plain);
        if is_other || value.contains("${") {
            return None;
        }
        let known = self.properties.entry(plain.clone()).or_insert_with(|| value.clone());
        (*known == value).then(|| variable(&plain))
    }

    /// The built-in value, or the variable, that stands for a function.
    fn made(
        &mut self,
        function: &Function<'_>,
        at: &Element<'_>,
        notes: &mut Notes,
        depth: usize,
    ) -> String {
        if let Some(turn) = self.turns.template(function.name) {
            return turn;
        }
        if let Some(depth) = depth.checked_sub(1) {
            let given = function.arguments.iter();
            let arguments: Vec<String> =
                given.map(|argument| self.template_within(argument, at, notes, depth)).collect();
            let number = match function.name {
                "__counter" => self.counter(function.whole, at),
                _ => 0,
            };
            if let Some(made) = equivalent(function.name, &arguments, number) {
                let Some(name) = made.variable else { return made.template };
                let name = variable_name(&name);
                self.stored.insert(name.clone(), made.template);
                return variable(&name);
            }
        }
        let name = self.stand_in(function.whole, function.name);
        let why = format!("a function without an equivalent; the variable `{name}` stands for it");
        notes.add(at.place(), format!("{} in {}", function.whole, at.what()), why);
        variable(&name)
    }

    /// The number of the counter that is called in `at`.
    fn counter(&mut self, whole: &str, at: &Element<'_>) -> usize {
        let met = self.met.entry((at.identity(), whole.to_owned())).or_default();
        let called = (at.identity(), whole.to_owned(), *met);
        *met += 1;
        let next = self.counters.len() + 1;
        *self.counters.entry(called).or_insert(next)
    }

    /// Another request: whatever holds for several is met anew.
    pub(super) fn begin_request(&mut self) {
        self.met.clear();
    }

    /// The variables in which functions stored their values since it was asked last.
    pub(super) fn take_stored(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.stored)
    }

    /// Variables that stand for properties, with their defaults.
    pub(super) fn take_properties(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.properties)
    }

    /// A variable that is used.
    fn reference(&mut self, name: &str, at: &Element<'_>, notes: &mut Notes) -> String {
        if name.contains("${") {
            let name = self.stand_in(name, "nested");
            let what = format!("a variable inside the name of a variable in {}", at.what());
            let why = format!("there are none; the variable `{name}` stands for it");
            notes.add(at.place(), what, why);
            return variable(&name);
        }
        let list = name.strip_suffix("_matchNr").map(variable_name);
        if let Some(list) = list.filter(|list| self.lists.contains(list)) {
            return variable(&format!("{list}:count"));
        }
        let name = variable_name(name);
        self.used.entry(name.clone()).or_insert(at.place());
        variable(&name)
    }

    fn stand_in(&mut self, written: &str, function: &str) -> String {
        if let Some(name) = self.stand_ins.get(written) {
            return name.clone();
        }
        let plain = variable_name(function.trim_start_matches('_'));
        let number = self.stand_ins.len() + 1;
        let name = format!("{plain}_{number}");
        self.stand_ins.insert(written.to_owned(), name.clone());
        name
    }

    /// The variables that stand for functions, with what they stand for.
    pub(super) fn stand_ins(&self) -> impl Iterator<Item = (&str, &str)> {
        self.stand_ins.iter().map(|(written, name)| (name.as_str(), written.as_str()))
    }

    /// What `text` is before the load begins; `None` when that is not known.
    pub(super) fn known(&self, text: &str) -> Option<String> {
        self.resolved(text, NESTING_MAX)
    }

    fn resolved(&self, text: &str, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let mut out = String::new();
        for part in parts(text) {
            match part {
                Segment::Text(text) => out += text,
                Segment::Variable(name) => out += &self.resolved(self.known.get(name)?, depth)?,
                Segment::Function(function) => match value_of(&function)? {
                    Value::Text(value) => out += &self.resolved(&value, depth)?,
                    Value::Variable(name) => {
                        out += &self.resolved(self.known.get(&name)?, depth)?
                    }
                },
            }
            if out.len() > 64 << 10 {
                return None; // variables that double each other
            }
        }
        Some(out)
    }

    /// The number that `text` is before the load begins.
    pub(super) fn number(&self, text: &str) -> Option<f64> {
        self.known(text)?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// What a function stands for.
enum Value {
    Text(String),
    Variable(String),
}

/// What a function stands for; `None` when it has no equivalent.
fn value_of(function: &Function<'_>) -> Option<Value> {
    let argument = |at: usize| function.arguments.get(at).filter(|text| !text.is_empty());
    let name = argument(0).map(String::as_str).unwrap_or_default();
    match function.name {
        // a default that is nobody else's business: somebody has to fill it in
        "__P" | "__property" if is_secret(name) => Some(Value::Variable(name.to_owned())),
        // a property that is not given on the command line
        "__P" => Some(Value::Text(argument(1).cloned().unwrap_or_else(|| "1".into()))),
        "__property" => argument(2).or_else(|| argument(0)).cloned().map(Value::Text),
        "__V" | "__v" => {
            argument(0).filter(|name| !name.contains('$')).cloned().map(Value::Variable)
        }
        _ => None,
    }
}

/// The properties that `text` asks for, as they are written, with what they are taken for.
pub(super) fn taken(text: &str) -> Vec<(&str, String)> {
    let value = |part| match part {
        Segment::Function(function) => match value_of(&function) {
            Some(Value::Text(value)) if !value.contains("${") => Some((function.whole, value)),
            _ => None,
        },
        Segment::Text(_) | Segment::Variable(_) => None,
    };
    parts(text).into_iter().filter_map(value).collect()
}

/// The call in a text that is nothing else.
pub(super) fn sole_function(text: &str) -> Option<Function<'_>> {
    match &parts(text.trim())[..] {
        [Segment::Function(function)] => Some(function.clone()),
        _ => None,
    }
}

/// True when `text` is one variable, or one function that has a value here, and nothing else.
pub(super) fn is_sole_value(text: &str) -> bool {
    let has_value = |function: &Function<'_>| {
        value_of(function).is_some()
            || turned(function.name).is_some()
            || equivalent(function.name, &function.arguments, 0).is_some()
    };
    is_sole_variable(text) || sole_function(text).as_ref().is_some_and(has_value)
}

/// True when `text` is one variable and nothing else.
pub(super) fn is_sole_variable(text: &str) -> bool {
    matches!(&parts(text.trim())[..], [Segment::Variable(name)] if !name.contains("${"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::read;
    use proptest::prelude::*;

    fn templated(words: &mut Words, text: &str) -> (String, Vec<String>) {
        let tree = read("<hashTree>\n<A testname='a'/></hashTree>").unwrap();
        let mut notes = Notes::default();
        let out = words.template(text, &Element::of_tree(&tree)[0], &mut notes);
        (out, notes.sorted().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn variables_stay_and_functions_become_what_they_stand_for() {
        let mut words = Words::default();
        let (out, notes) = templated(&mut words, "a ${x.y} ${__P(host, h\\,1)}${__V(z)} $1 ${open");
        assert_eq!(out, "a ${x_y} ${host}${z} $1 $${open");
        assert_eq!(words.take_properties()["host"], "h,1");
        // a variable of the plan has that name
        words.define("port", "${__P(port,80)}");
        assert_eq!(templated(&mut words, "${__P(port,81)}").0, "81");
        assert_eq!(notes, [] as [String; 0]);
        assert_eq!(taken("a${__P(host, h\\,1)}${x}"), [("${__P(host, h\\,1)}", "h,1".to_owned())]);
        assert_eq!(words.used.keys().collect::<Vec<_>>(), ["x_y", "z"]);
        assert_eq!(templated(&mut words, "${__property(p)}${__P(q)}").0, "${p}${q}");
        assert_eq!(words.take_properties().into_values().collect::<Vec<_>>(), ["p", "1"]);
        assert_eq!(templated(&mut words, "${__P(db.password,x)}").0, "${db_password}");
        assert_eq!(taken("${__P(db.password,x)}"), []);
    }

    #[test]
    fn the_number_of_matches_is_the_length_of_the_list() {
        let mut words = Words::default();
        words.lists.insert("id".into());
        assert_eq!(
            templated(&mut words, "${id_matchNr}/${x_matchNr}").0,
            "${id:count}/${x_matchNr}"
        );
        assert_eq!(words.used.keys().collect::<Vec<_>>(), ["x_matchNr"]);
    }

    #[test]
    fn what_has_no_equivalent_is_named_and_stood_for() {
        let mut words = Words::default();
        let (out, notes) =
            templated(&mut words, "${__groovy(1)}-${__groovy(1)}-${__split(1,${n})}-${a_${i}}");
        assert_eq!(out, "${groovy_1}-${groovy_1}-${split_2}-${nested_3}");
        assert_eq!(notes.len(), 3, "{notes:?}");
        let stand_ins: Vec<_> = words.stand_ins().collect();
        assert!(stand_ins.contains(&("split_2", "${__split(1,${n})}")), "{stand_ins:?}");
    }

    #[test]
    fn functions_may_stand_in_functions_and_store_their_values() {
        let mut words = Words::default();
        let text =
            "${__base64Encode(${u}:${__Random(1,9,r)})} ${__counter(TRUE,)}${__counter(TRUE,)}";
        let (out, notes) = templated(&mut words, text);
        let counters = "${counter(counter_1, user)}${counter(counter_2, user)}";
        assert_eq!(out, format!("${{base64(${{u}}:${{r}})}} {counters}"));
        assert_eq!(notes, [] as [String; 0]);
        let stored = BTreeMap::from([("r".to_owned(), "${random(1, 9)}".to_owned())]);
        assert_eq!(words.take_stored(), stored);
        assert_eq!(words.take_stored(), BTreeMap::new());
        let deep = "${__base64Encode(".repeat(5_000) + "x" + &")}".repeat(5_000);
        assert!(!templated(&mut words, &deep).1.is_empty());
    }

    #[test]
    fn what_is_known_before_the_load() {
        let mut words = Words::default();
        words.define("HOST", "${__P(h,db1)}");
        words.define("URL", "${HOST}:80");
        words.define("LOOP", "${LOOP}");
        words.define("BOMB", "${BOMB}${BOMB}");
        assert_eq!(words.known("x${URL}").as_deref(), Some("xdb1:80"));
        assert_eq!(words.number(" ${__P(n,12)} "), Some(12.0));
        for unknown in ["${later}", "${LOOP}", "${BOMB}", "${__time()}"] {
            assert_eq!(words.known(unknown), None, "{unknown}");
        }
        assert_eq!((words.number("x"), words.number("NaN"), words.number("")), (None, None, None));
    }

    #[test]
    fn a_call_alone_is_told_from_one_among_others() {
        let call = sole_function(" ${__jexl3(\"${x}\" == \"a\\,b\",)} ").unwrap();
        assert_eq!(call.name, "__jexl3");
        assert_eq!(call.arguments, ["\"${x}\" == \"a,b\"", ""]);
        assert_eq!(sole_function("${__P(x)} "), sole_function("${__P(x)}"));
        assert_eq!(sole_function("a${__P(x)}"), None);
        assert!(
            is_sole_variable("${x}") && !is_sole_variable("${x}1") && !is_sole_variable("${__x}")
        );
    }

    proptest! {
        #[test]
        fn any_text_has_a_template(text in "(\\PC|\\$\\{|__|\\(|\\)|\\}|,|\\\\){0,40}") {
            let mut words = Words::default();
            let _ = templated(&mut words, &text);
            let _ = words.known(&text);
        }
    }
}
