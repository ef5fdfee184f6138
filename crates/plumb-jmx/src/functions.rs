//! Functions of JMeter as built-in values of a scenario.
//!
//! # Source
//! The JMeter user manual, "Functions and Variables", and the custom functions of JMeter-Plugins.

use plumb_measure::LoadPart;
use plumb_scenario::placeholder::{Piece, pieces};
use plumb_scenario::template::Template;
use plumb_scenario::variables::Names;

use super::date::strftime;

/// What stands for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Equivalent {
    /// The built-in value.
    pub(super) template: String,
    /// The variable that JMeter stores it in, too.
    pub(super) variable: Option<String>,
}

/// What stands for `name`, whose `arguments` are templates already; `None` when there is no such
/// value. `number` tells one call of a counter from another.
pub(super) fn equivalent(name: &str, arguments: &[String], number: usize) -> Option<Equivalent> {
    let given = |at: usize| arguments.get(at).map_or("", String::as_str);
    let argument = |at: usize| quoted(given(at));
    let (template, variable) = match name {
        "__UUID" => ("${uuid()}".into(), None),
        "__threadNum" => ("${user()}".into(), None),
        "__iterationNum" => ("${iteration()}".into(), None),
        "__time" => (time(given(0), "")?, Some(1)),
        // a date of its own is not moved
        "__timeShift" if given(1).is_empty() => (time(given(0), given(2))?, Some(4)),
        "__Random" => (format!("${{random({}, {})}}", argument(0)?, argument(1)?), Some(2)),
        "__RandomString" => {
            let characters = match given(1) {
                "" => String::new(),
                _ => format!(", {}", argument(1)?),
            };
            (format!("${{random-text({}{characters})}}", argument(0)?), Some(2))
        }
        "__chooseRandom" => {
            let (last, texts) = arguments.split_last()?;
            let texts: Option<Vec<String>> = texts.iter().map(|text| quoted(text)).collect();
            let value = format!("${{one-of({})}}", texts?.join(", "));
            return sound(value, Some(last.clone()));
        }
        "__counter" => {
            let whose = if given(0).eq_ignore_ascii_case("true") { "user" } else { "load" };
            (format!("${{counter(counter_{number}, {whose})}}"), Some(1))
        }
        "__intSum" | "__longSum" => return sum(arguments),
        "__base64Encode" => (format!("${{base64({})}}", argument(0)?), Some(1)),
        "__base64Decode" => (format!("${{from-base64({})}}", argument(0)?), Some(1)),
        "__MD5" => (format!("${{md5({})}}", argument(0)?), None),
        "__digest" => (digest(arguments)?, Some(4)),
        "__urlencode" => (format!("${{url({})}}", argument(0)?), None),
        "__urldecode" => (format!("${{from-url({})}}", argument(0)?), None),
        "__uppercase" => (format!("${{upper({})}}", argument(0)?), Some(1)),
        "__lowercase" => (format!("${{lower({})}}", argument(0)?), Some(1)),
        "__changeCase" => {
            let case = match given(1).trim() {
                "" | "UPPER" => "upper",
                "LOWER" => "lower",
                _ => return None,
            };
            (format!("${{{case}({})}}", argument(0)?), Some(2))
        }
        "__eval" => (given(0).to_owned(), None),
        _ => return None,
    };
    sound(template, variable.map(|at| given(at).to_owned()))
}

/// A value that a scenario can have.
fn sound(template: String, variable: Option<String>) -> Option<Equivalent> {
    Template::parse(&template, &mut Names::with_values(LoadPart::default())).ok()?;
    let variable = variable.filter(|name| !name.trim().is_empty() && !name.contains("${"));
    Some(Equivalent { template, variable })
}

/// The numbers of a sum; a last argument that is none is a variable.
fn sum(arguments: &[String]) -> Option<Equivalent> {
    let is_number = |text: &String| text.contains("${") || text.trim().parse::<i64>().is_ok();
    let (numbers, variable) = match arguments.split_last()? {
        (last, rest) if !is_number(last) => (rest, Some(last.clone())),
        _ => (arguments, None),
    };
    let numbers: Option<Vec<String>> = numbers.iter().map(|number| quoted(number)).collect();
    sound(format!("${{sum({})}}", numbers?.join(", ")), variable)
}

/// A digest without salt.
fn digest(arguments: &[String]) -> Option<String> {
    let given = |at: usize| arguments.get(at).map_or("", String::as_str).trim();
    let name = match given(0).to_ascii_uppercase().as_str() {
        "MD5" => "md5",
        "SHA" | "SHA1" | "SHA-1" => "sha1",
        "SHA256" | "SHA-256" => "sha256",
        "SHA512" | "SHA-512" => "sha512",
        _ => return None,
    };
    let text = quoted(arguments.get(1)?)?;
    let value = format!("${{{name}({text})}}");
    match (given(2), given(3)) {
        ("", "true") => Some(format!("${{upper({value})}}")),
        ("", _) => Some(value),
        _ => None,
    }
}

/// The time `shift` from now in a format of Java, in the zone of the machine, as JMeter has it.
fn time(format: &str, shift: &str) -> Option<String> {
    let shift = if shift.trim().is_empty() { "0".to_owned() } else { quoted(shift)? };
    let value = match format.trim() {
        "" => format!("ms, {shift}"),
        "/1000" => format!("s, {shift}"),
        "YMD" => format!("%Y%m%d, {shift}, local"),
        "HMS" => format!("%H%M%S, {shift}, local"),
        "YMDHMS" => format!("%Y%m%d-%H%M%S, {shift}, local"),
        format => format!("{}, {shift}, local", quoted(&strftime(format)?)?),
    };
    Some(match value.strip_suffix(", 0") {
        Some(value) => format!("${{time({value})}}"),
        None => format!("${{time({value})}}"),
    })
}

/// `text`, a template, as the argument of a call; `None` when no quotes are left for it.
pub(super) fn quoted(text: &str) -> Option<String> {
    let marks = [',', '(', ')', '\'', '"', '{', '}'];
    let needs = text.trim() != text
        || text.is_empty()
        || pieces(text).iter().any(|it| matches!(it, Piece::Text(text) if text.contains(marks)));
    if !needs {
        return Some(text.to_owned());
    }
    let mark = ['\'', '"'].into_iter().find(|mark| !text.contains(*mark))?;
    Some(format!("{mark}{text}{mark}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, arguments: &[&str]) -> Option<(String, Option<String>)> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        equivalent(name, &arguments, 3).map(|it| (it.template, it.variable))
    }

    #[test]
    fn functions_become_built_in_values() {
        for (name, arguments, template, variable) in [
            ("__UUID", &[][..], "${uuid()}", ""),
            ("__time", &[], "${time(ms)}", ""),
            ("__time", &["/1000", "now"], "${time(s)}", "now"),
            (
                "__time",
                &["yyyy-MM-dd'T'HH:mm:ss.SSS", ""],
                "${time(%Y-%m-%dT%H:%M:%S.%3f, 0, local)}",
                "",
            ),
            (
                "__timeShift",
                &["dd/MM/yyyy", "", "P1D", "", "d"],
                "${time(%d/%m/%Y, P1D, local)}",
                "d",
            ),
            ("__Random", &["1", "${n}", "r"], "${random(1, ${n})}", "r"),
            ("__RandomString", &["8", "abc", ""], "${random-text(8, abc)}", ""),
            ("__chooseRandom", &["a", "b, c", "v"], "${one-of(a, 'b, c')}", "v"),
            ("__counter", &["TRUE", ""], "${counter(counter_3, user)}", ""),
            ("__counter", &["", "c"], "${counter(counter_3, load)}", "c"),
            ("__intSum", &["1", "${n}", "s"], "${sum(1, ${n})}", "s"),
            ("__digest", &["SHA-256", "a(b)", "", "true", ""], "${upper(${sha256('a(b)')})}", ""),
            ("__urlencode", &["${uuid()}"], "${url(${uuid()})}", ""),
        ] {
            let expected =
                (template.to_owned(), Some(variable.to_owned()).filter(|it| !it.is_empty()));
            assert_eq!(made(name, arguments), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_has_no_equivalent_is_none() {
        for (name, arguments) in [
            ("__groovy", &["1+1"][..]),
            ("__digest", &["MD2", "a"]),
            ("__digest", &["MD5", "a", "salt"]),
            ("__time", &["yyyy-'W'ww"]),
            ("__timeShift", &["yyyy", "2001", "P1D"]),
            ("__Random", &["a", "b"]),
            ("__base64Encode", &["it's \"both\""]),
        ] {
            assert_eq!(made(name, arguments), None, "{name}");
        }
    }
}
