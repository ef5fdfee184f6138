//! Conditions of an `IfController` that a scenario can say, too.

use plumb_measure::LoadPart;
use plumb_scenario::condition::Condition;
use plumb_scenario::variables::Names;

use super::words::{is_sole_value, is_sole_variable, sole_function};

/// Comparisons, longer signs first, with the sign of a scenario.
const SIGNS: [(&str, &str); 12] = [
    ("===", "=="),
    ("!==", "!="),
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    (" eq ", "=="),
    (" ne ", "!="),
    (" lt ", "<"),
    (" gt ", ">"),
    ("<", "<"),
    (">", ">"),
];
/// Functions whose argument is an expression.
const EXPRESSIONS: [&str; 4] = ["__jexl3", "__jexl2", "__groovy", "__javaScript"];

/// A condition as a scenario writes it; `None` when it is more than one comparison.
/// `is_expression` tells that it is evaluated to `true` as it stands, and not as JavaScript.
pub(super) fn read(text: &str, is_expression: bool) -> Option<String> {
    let text = text.trim();
    if let Some(function) = sole_function(text) {
        let known = EXPRESSIONS.contains(&function.name);
        return function.arguments.first().filter(|_| known).and_then(|inner| comparison(inner));
    }
    if is_expression {
        return is_sole_variable(text).then(|| text.to_owned());
    }
    comparison(text).or_else(|| is_sole_variable(text).then(|| text.to_owned()))
}

/// `condition`, its variables named, if a scenario takes it.
///
/// # Errors
/// Why not, in words.
pub(super) fn checked(condition: String) -> Result<String, String> {
    match Condition::parse(&condition, &mut Names::with_values(LoadPart::default())) {
        Ok(_) => Ok(condition),
        Err(error) => {
            Err(format!("its condition is `{condition}`, which a scenario refuses: {error}"))
        }
    }
}

fn comparison(text: &str) -> Option<String> {
    if is_sole_variable(text.trim().trim_matches('"')) {
        return Some(text.trim().trim_matches('"').to_owned());
    }
    let (at, sign, written) = SIGNS
        .iter()
        .filter_map(|(sign, written)| Some((outside_quotes(text, sign)?, *sign, *written)))
        .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())))?;
    let left = operand(&text[..at])?;
    let right = operand(&text[at + sign.len()..])?;
    Some(format!("{left} {written} {right}"))
}

/// The place of `sign` outside quotation marks and braces.
fn outside_quotes(text: &str, sign: &str) -> Option<usize> {
    let mut quote = None;
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => open += 1,
            (None, '}') => open = open.saturating_sub(1),
            (None, _) if open == 0 && text[at..].starts_with(sign) => return Some(at),
            (None, _) => {}
        }
    }
    None
}

/// A variable, a number, or a text in single quotes.
fn operand(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(name) = looked_up(text) {
        return Some(format!("${{{name}}}"));
    }
    let quoted = ['"', '\''].iter().find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark));
    let inner = quoted.unwrap_or(text);
    if is_sole_value(inner) {
        return Some(inner.to_owned());
    }
    if quoted.is_some() {
        let sound = !inner.contains(['\'', '"', '$', '{', '}']);
        return sound.then(|| format!("'{inner}'"));
    }
    let is_value = inner.parse::<f64>().is_ok() || ["true", "false"].contains(&inner);
    is_value.then(|| inner.to_owned())
}

/// The variable of `vars.get("name")`.
fn looked_up(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("vars.get(")?.strip_suffix(')')?.trim();
    let name = inner.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_comparison_is_carried_over() {
        for (text, expected) in [
            ("${__jexl3(\"${x}\" == \"y\")}", "${x} == 'y'"),
            ("${__jexl3(${n} >= 10,)}", "${n} >= 10"),
            ("${__groovy(vars.get(\"a\") != 'b-1')}", "${a} != 'b-1'"),
            ("${__javaScript('${a}' === \"b\")}", "${a} == 'b'"),
            ("${__jexl2(\"${a}\" eq \"b\")}", "${a} == 'b'"),
            ("${__jexl3(${flag})}", "${flag}"),
            ("${__jexl3(\"${x}\" == \"\")}", "${x} == ''"),
            ("${__jexl3(\"${x}\" == \"a == b\")}", "${x} == 'a == b'"),
            ("${ok}", "${ok}"),
            ("${__jexl3(${__threadNum()} == 3)}", "${__threadNum()} == 3"),
            ("${__jexl3(\"${__P(x,)}\" != \"Java\",)}", "${__P(x,)} != 'Java'"),
        ] {
            assert_eq!(read(text, true).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(read("\"${a}\" == \"b\"", false).as_deref(), Some("${a} == 'b'"));
    }

    #[test]
    fn what_is_more_is_not() {
        for text in [
            "${__jexl3(\"${x}\" == \"y\" && ${z} > 1)}",
            "${__groovy(vars.get('a').size() > 3)}",
            "${__jexl3(\"${x}\" == \"it's\")}",
            "${__jexl3(\"${x}\" == y)}",
            "${__time()}",
            "true",
            "${a}${b}",
            "",
        ] {
            assert_eq!(read(text, true), None, "{text}");
        }
    }

    #[test]
    fn what_is_read_is_a_condition_of_a_scenario_unless_texts_are_put_in_order() {
        for text in [
            "${__jexl3(\"${x}\" == \"=y\")}",
            "${__jexl3(\"${x}\" != \"a && b\")}",
            "${__jexl3(1 == 1)}",
            "${__jexl3(true == true)}",
            "${__jexl3(\"Java\" == \"Java\")}",
            "${__jexl3(${n} >= \"10\")}",
            "${ok}",
        ] {
            let condition = read(text, true).unwrap();
            assert_eq!(checked(condition.clone()), Ok(condition), "{text}");
        }
        let ordered = read("${__jexl3(\"${x}\" < \"b\")}", true).unwrap();
        let why = checked(ordered).unwrap_err();
        assert!(why.contains("`${x} < 'b'`, which a scenario refuses: `b` is no number"), "{why}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not(text in "(\\PC|\\$\\{|__jexl3\\(|==|\"|\\)|\\}){0,30}", is in any::<bool>()) {
            let _ = read(&text, is);
        }
    }
}
