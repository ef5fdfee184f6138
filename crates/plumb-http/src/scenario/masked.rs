//! A scenario as it is written into a record: without what only its owner should know.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use toml::Spanned;

use super::file::{Pairs, ScenarioFile, Step};

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Names of headers, variables and fields behind which secrets stand.
const NAMES: &str =
    "authorization|cookie|passw(?:or)?d|pwd|secret|token|api-?key|credential|session";

static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(NAMES));
/// A value behind such a name, in a query, a form, JSON or XML; not a template.
static VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        format!(r#"((?:{NAMES})[\w-]*["']?\s*[=:>]\s*["']?)([^"'&,\s}}<$][^"'&,\s}}<]*)"#);
    compiled(&pattern)
});

/// Without Unicode: names are ASCII, and values end at ASCII.
fn compiled(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).case_insensitive(true).build().ok()
}

/// The text of `file` with its secrets masked; comments are gone.
pub(crate) fn text(file: &ScenarioFile) -> String {
    let mut file = file.clone();
    pairs(&mut file.headers);
    pairs(&mut file.variables);
    file.prepare.iter_mut().for_each(step);
    for scenario in &mut file.scenario {
        pairs(&mut scenario.headers);
        pairs(&mut scenario.variables);
        scenario.login.iter_mut().chain(&mut scenario.step).for_each(step);
    }
    toml::to_string(&file).unwrap_or_else(|error| format!("# cannot be written: {error}\n"))
}

fn step(step: &mut Step) {
    pairs(&mut step.headers);
    for text in [&mut step.get, &mut step.path, &mut step.body].into_iter().flatten() {
        *text = Spanned::new(text.span(), value(text.get_ref()));
    }
    step.step.iter_mut().for_each(self::step);
}

fn pairs(pairs: &mut Pairs) {
    for (name, text) in pairs {
        let secret = NAME.as_ref().is_none_or(|names| names.is_match(name.as_bytes()));
        *text = if secret && !text.contains("${") { MASK.into() } else { value(text) };
    }
}

fn value(text: &str) -> String {
    match &*VALUE {
        Some(values) => {
            let with = format!("${{1}}{MASK}");
            let masked = values.replace_all(text.as_bytes(), with.as_bytes());
            String::from_utf8_lossy(&masked).into_owned()
        }
        None => MASK.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_everything_else_stays() {
        let file: ScenarioFile = toml::from_str(
            r#"
base = "http://h"
headers = { Authorization = "Bearer s3cret", Accept = "text/html" }
variables = { password = "s3cret", user = "DEMO", later = "x" }
[[scenario]]
name = "a"
[[scenario.login]]
path = "/login?token=s3cret&a=b"
body = 'user=DEMO&password=s3cret&x=1'
headers = { X-CSRF-Token = "${csrf}" }
[[scenario.step]]
group = "g"
[[scenario.step.step]]
path = "/x"
body = '{"password": "s3cret", "n": "1", "pwd": "${password}"}'
"#,
        )
        .unwrap();
        let text = text(&file);
        assert!(!text.contains("s3cret"), "{text}");
        for kept in [
            "DEMO",
            "text/html",
            "token=***&a=b",
            "&x=1",
            "${csrf}",
            "${password}",
            "\"n\"",
            "later",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        let again: ScenarioFile = toml::from_str(&text).unwrap();
        assert_eq!(again.scenario[0].login.len(), 1);
    }
}
