//! A scenario as it is written into a record: without what only its owner should know.

use plumb_wire::secret::{Found, MASK, Notation, in_header, in_url, is_secret, masked};
use toml::Spanned;

use crate::file::{Operation, Pairs, ScenarioFile, Step};
use crate::placeholder::{Piece, call_of, pieces};

/// The text of `file` with its secrets masked; comments are gone.
pub fn text(file: &ScenarioFile) -> String {
    let mut file = file.clone();
    pairs(&mut file.headers);
    pairs(&mut file.variables);
    file.prepare.iter_mut().chain(&mut file.finish).for_each(step);
    for scenario in &mut file.scenario {
        pairs(&mut scenario.headers);
        pairs(&mut scenario.variables);
        let steps = scenario.login.iter_mut().chain(&mut scenario.step);
        let of_token = scenario.token.iter_mut().flat_map(|token| &mut token.step);
        steps.chain(&mut scenario.finish).chain(of_token).for_each(step);
    }
    toml::to_string(&file).unwrap_or_else(|error| format!("# cannot be written: {error}\n"))
}

/// The path and query `text` of a step without those secrets that are written out.
#[must_use]
pub fn target(text: &str) -> String {
    without(text, in_url(text))
}

/// Headers without those secrets that are written out.
#[must_use]
pub fn headers(headers: &Pairs) -> Pairs {
    let mut headers = headers.clone();
    pairs(&mut headers);
    headers
}

fn step(step: &mut Step) {
    pairs(&mut step.headers);
    pairs(&mut step.set);
    for extract in &mut step.extract {
        let extract = extract.get_mut();
        let secret =
            extract.default.as_deref().is_some_and(is_written_out) && is_secret(&extract.name);
        if secret {
            extract.default = Some(MASK.into());
        }
    }
    for url in [&mut step.get, &mut step.path].into_iter().flatten() {
        *url = Spanned::new(url.span(), target(url.get_ref()));
    }
    if let Some(body) = &mut step.body {
        let mime = step.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let kind = Notation::of(mime.map_or("", |(_, mime)| mime), body.get_ref());
        *body = Spanned::new(body.span(), without(body.get_ref(), kind.secrets(body.get_ref())));
    }
    for part in &mut step.parts {
        let part = part.get_mut();
        if let Some(value) =
            part.value.as_mut().filter(|it| is_secret(&part.name) && is_written_out(it))
        {
            *value = MASK.into();
        }
    }
    step.batch.iter_mut().for_each(|operation| self::operation(operation.get_mut()));
    step.step.iter_mut().for_each(self::step);
}

fn operation(operation: &mut Operation) {
    pairs(&mut operation.headers);
    for url in [&mut operation.get, &mut operation.path].into_iter().flatten() {
        *url = target(url);
    }
    if let Some(body) = &mut operation.body {
        let secrets = Notation::of("", body).secrets(body);
        *body = without(body, secrets);
    }
    operation.changeset.iter_mut().for_each(self::operation);
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

/// Calls that make a value of nothing but numbers, places and chance.
const HARMLESS: [&str; 8] =
    ["time", "uuid", "random", "random-text", "counter", "user", "iteration", "sum"];

/// True when there is more in `text` than variables and built-in values.
fn is_written_out(text: &str) -> bool {
    pieces(text).into_iter().any(|piece| match piece {
        Piece::Text(text) => !text.trim().is_empty(),
        Piece::Placeholder(inner) => call_of(inner).is_some_and(|(name, arguments)| {
            !HARMLESS.contains(&name) && arguments.into_iter().any(holds_words)
        }),
    })
}

/// True when an argument holds words of its own, and not only signs between variables.
fn holds_words(argument: &str) -> bool {
    pieces(argument).into_iter().any(|piece| match piece {
        Piece::Text(text) => text.contains(char::is_alphanumeric),
        Piece::Placeholder(inner) => is_written_out(&format!("${{{inner}}}")),
    })
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
variables = { password = "s3cret", token = "${uuid()}", sig = "${md5(${a}:${b})}", otp = "${a} s3cret", user = "DEMO", later = "x" }
[[scenario]]
name = "a"
[[scenario.login]]
path = "/login?token=s3cret&a=b"
body = 'user=DEMO&password=s3cret&x=1'
headers = { X-CSRF-Token = "${csrf}", Authorization = "Bearer ${t}", X-Token = "${base64('s3cret')}" }
set = { secret = "${upper(s3cret)}", nonce = "${random-text(8)}" }
[[scenario.step]]
group = "g"
[[scenario.step.step]]
path = "/x"
body = '{"password": "s3cret, s3cret", "n": "1", "pwd": "${password}", "pin": ${pin}}'
[[scenario.step]]
get = "/z?sig=s3cret&code=${c}"
headers = { "X-Api-Key" = "s3cret", MYSAPSSO2 = "s3cret", Authentication = "s3cret" }
extract = [{ name = "token", header = "X-T", default = "s3cret" }]
[[scenario.step]]
path = "/upload"
parts = [{ name = "password", value = "s3cret" }, { name = "note", value = "kept" }]
[[scenario.step]]
path = "/batch"
batch = [{ get = "A?token=s3cret" }, { changeset = [{ path = "B", body = '{"pwd":"s3cret"}', headers = { X-Api-Key = "s3cret" } }] }]
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
            "code=${c}",
            "token = \"${uuid()}\"",
            "sig = \"${md5(${a}:${b})}\"",
            "nonce = \"${random-text(8)}\"",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        let again: ScenarioFile = toml::from_str(&text).unwrap();
        assert_eq!(again.scenario[0].login.len(), 1);
    }
}
