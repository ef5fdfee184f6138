//! Elements that give users new values of variables in each turn of what they stand in.

use std::collections::BTreeMap;

use plumb_draft::DraftStep;
use plumb_draft::template::variable_name;
use plumb_scenario::file::{Step, placed};
use plumb_scenario::template::Template;
use plumb_scenario::variables::Names;

use super::Importer;
use super::element::Element;
use super::requests_below;
use super::scope::{Role, is_loop, role};

impl Importer {
    /// The variables that the elements beside each other set, with their templates.
    pub(super) fn configured(&mut self, elements: &[Element<'_>]) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for element in elements {
            let found = match element.kind() {
                "CounterConfig" => self.counter(element),
                "RandomVariableConfig" => self.random(element),
                "UserParameters" => {
                    all.extend(self.parameters(element, elements));
                    continue;
                }
                _ => continue,
            };
            match found {
                Ok((name, value)) => drop(all.insert(name, value)),
                Err(why) => self.draft.notes.add(element.place(), element.what(), why),
            }
        }
        self.set.extend(all.keys().cloned());
        all
    }

    fn counter(&mut self, element: &Element<'_>) -> Result<(String, String), String> {
        let name = named(element, "CounterConfig.name")?;
        let mut number = |property: &str, usual: &str| {
            let text = element.text(property).trim();
            let text = if text.is_empty() { usual } else { text };
            self.words.template(text, element, &mut self.draft.notes)
        };
        let (start, step) = (number("CounterConfig.start", "0"), number("CounterConfig.incr", "1"));
        let end = number("CounterConfig.end", &i64::MAX.to_string());
        let is_of_user = element.flag("CounterConfig.per_user");
        if is_of_user && element.flag("CounterConfig.reset_on_tg_iteration") {
            if self.loops == 0 {
                // each turn of the script counts once, from the beginning
                return Ok((name, formatted(start, element.text("CounterConfig.format").trim())?));
            }
            let why = "it begins again with each turn of the script; here it counts on";
            self.draft.notes.add(element.place(), element.what(), why);
        }
        let whose = if is_of_user { "user" } else { "load" };
        let value = format!("${{counter({name}, {whose}, {start}, {step}, {end})}}");
        let format = element.text("CounterConfig.format").trim();
        Ok((name, formatted(value, format)?))
    }

    fn random(&mut self, element: &Element<'_>) -> Result<(String, String), String> {
        let name = named(element, "variableName")?;
        let mut number = |property: &str| {
            let text = element.text(property).trim();
            let text = if text.is_empty() { "1" } else { text };
            self.words.template(text, element, &mut self.draft.notes)
        };
        let (least, most) = (number("minimumValue"), number("maximumValue"));
        let value = format!("${{random({least}, {most})}}");
        Ok((name, formatted(value, element.text("outputFormat").trim())?))
    }

    /// The values of the first user; those of others are named, and so are values that the requests in
    /// its scope, those of `beside`, do not share.
    fn parameters(
        &mut self,
        element: &Element<'_>,
        beside: &[Element<'_>],
    ) -> BTreeMap<String, String> {
        let users = element.members("UserParameters.thread_values");
        if users.len() > 1 {
            let why = "it has values for several users; all have those of the first";
            self.draft.notes.add(element.place(), element.what(), why);
        }
        let values = users.first().map(Element::own_texts).unwrap_or_default();
        let mut all = BTreeMap::new();
        for (name, value) in element.texts("UserParameters.names").into_iter().zip(values) {
            let value = self.words.template(value, element, &mut self.draft.notes);
            all.insert(variable_name(name), value);
        }
        let is_once = element.flag("UserParameters.per_iteration") || !make_several(beside);
        if !is_once && !are_constant(&all) {
            let why = "its values are made anew before each request; here once in each turn";
            self.draft.notes.add(element.place(), element.what(), why);
        }
        all
    }
}

/// True when a turn of `elements` may make more than one request.
fn make_several(elements: &[Element<'_>]) -> bool {
    let mut open = elements.to_vec();
    let mut requests = 0;
    while let Some(element) = open.pop() {
        requests += usize::from(role(&element) == Role::Request);
        if requests > 1 || is_loop(&element) && requests_below(&element) > 0 {
            return true;
        }
        open.extend(element.below());
    }
    false
}

/// Lets the first of `steps` set variables: around it where it is not done in every turn, or where what
/// it sets itself is made of them.
pub(super) fn set_first(set: &BTreeMap<String, String>, steps: &mut [DraftStep]) {
    let Some(first) = steps.first_mut().filter(|_| !set.is_empty()) else { return };
    let is_maybe = first.step.share.is_some() || first.step.condition.is_some();
    if is_maybe || first.step.set.values().any(|text| is_made_of(text, set)) {
        let around = Step { repeat: Some(placed(1)), set: set.clone(), ..Step::default() };
        *first = DraftStep::around(around, vec![std::mem::take(first)]);
    } else {
        // what a function stores in the request itself counts
        let own = std::mem::replace(&mut first.step.set, set.clone());
        first.step.set.extend(own);
    }
}

/// True when the template `text` holds one of the variables that are `set`.
fn is_made_of(text: &str, set: &BTreeMap<String, String>) -> bool {
    let mut names = Names::default();
    Template::parse(text, &mut names).is_ok() && names.all().any(|name| set.contains_key(name))
}

/// True when the variables have the same values in each turn.
pub(super) fn are_constant(set: &BTreeMap<String, String>) -> bool {
    let is_constant = |text: &String| {
        let template = Template::parse(text, &mut Names::default());
        template.is_ok_and(|template| template.constant().is_some())
    };
    set.values().all(is_constant)
}

fn named(element: &Element<'_>, property: &str) -> Result<String, String> {
    match element.text(property).trim() {
        "" => Err("it names no variable".into()),
        name if name.contains('$') => Err(format!("its variable `{name}` is not known")),
        name => Ok(variable_name(name)),
    }
}

/// A number in a format of `DecimalFormat`: zeros, with a text around them.
fn formatted(value: String, format: &str) -> Result<String, String> {
    let Some(first) = format.find('0') else {
        let none = format.is_empty() || format == "#";
        return if none { Ok(value) } else { Err(format!("its format `{format}` is not read")) };
    };
    let zeros = format[first..].chars().take_while(|c| *c == '0').count();
    let (before, behind) = (&format[..first], &format[first + zeros..]);
    if [before, behind].iter().any(|text| text.contains(['#', '0', '.', ',', '%', ';', '\'', '$']))
    {
        return Err(format!("its format `{format}` is not read"));
    }
    let number = if zeros > 1 { format!("${{pad({value}, {zeros})}}") } else { value };
    Ok(format!("{before}{number}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_zeros_in_front() {
        let of = |format| formatted("${x}".into(), format);
        assert_eq!(of("").unwrap(), "${x}");
        assert_eq!(of("0").unwrap(), "${x}");
        assert_eq!(of("user-0000-a").unwrap(), "user-${pad(${x}, 4)}-a");
        assert!(of("#,##0.00").is_err() && of("abc").is_err());
    }
}
