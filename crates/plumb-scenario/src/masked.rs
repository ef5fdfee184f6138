//! A scenario as it is written into a record: without what only its owner should know.

use plumb_wire::secret::{Found, Notation, in_header, in_url, masked};
use toml::Spanned;

use crate::file::{Pairs, ScenarioFile, Step};

/// The text of `file` with its secrets masked; comments are gone.
pub fn text(file: &ScenarioFile) -> String {
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
    for url in [&mut step.get, &mut step.path].into_iter().flatten() {
        *url = Spanned::new(url.span(), without(url.get_ref(), in_url(url.get_ref())));
    }
    if let Some(body) = &mut step.body {
        let mime = step.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let kind = Notation::of(mime.map_or("", |(_, mime)| mime), body.get_ref());
        *body = Spanned::new(body.span(), without(body.get_ref(), kind.secrets(body.get_ref())));
    }
    step.step.iter_mut().for_each(self::step);
}

/// Headers, and variables, which hold what headers may.
fn pairs(pairs: &mut Pairs) {
    for (name, text) in pairs {
        let name = name.to_ascii_lowercase();
        *text = match in_header(&name, text) {
            found if found.is_empty() => without(text, in_url(text)),
            found => without(text, found),
        };
    }
}

/// `text` without those of its secrets that are written out.
fn without(text: &str, mut found: Vec<Found>) -> String {
    found.retain(|secret| is_written_out(&text[secret.at.clone()]));
    masked(text, &found)
}

/// True when there is more in `text` than variables.
fn is_written_out(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        match behind.split_once('}') {
            Some((_, behind)) if before.trim().is_empty() => rest = behind,
            _ => return true,
        }
    }
    !rest.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_everything_else_stays() {
        let file: ScenarioFile = toml::from_str(
            r#"
base = "http://h"
headers = { Authorization = "Bearer s3cret", Accept = "text/html", Cookie = "a=s3cret; b=${b}" }
variables = { password = "s3cret", otp = "${a} s3cret", user = "DEMO", later = "x" }
[[scenario]]
name = "a"
[[scenario.login]]
path = "/login?token=s3cret&a=b"
body = 'user=DEMO&password=s3cret&x=1'
headers = { X-CSRF-Token = "${csrf}", Authorization = "Bearer ${t}" }
[[scenario.step]]
group = "g"
[[scenario.step.step]]
path = "/x"
body = '{"password": "s3cret, s3cret", "n": "1", "pwd": "${password}", "pin": ${pin}}'
[[scenario.step]]
path = "/y"
body = '<login pin="s3cret"><w:password a="b">s3cret</w:password></login>'
"#,
        )
        .unwrap();
        let text = text(&file);
        assert!(!text.contains("s3cret"), "{text}");
        for kept in [
            "DEMO",
            "text/html",
            "token=MASKED&a=b",
            "b=${b}",
            "Bearer ${t}",
            "a=\"b\">MASKED<",
            "&x=1",
            "${csrf}",
            "${password}",
            "\"n\"",
            "${pin}",
            "later",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        let again: ScenarioFile = toml::from_str(&text).unwrap();
        assert_eq!(again.scenario[0].login.len(), 1);
    }
}
