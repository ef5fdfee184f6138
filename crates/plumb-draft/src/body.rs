//! Bodies and queries without the secrets in them: forms, JSON, XML and multipart.

use plumb_wire::secret::{Found, Notation, in_url, replaced};

use crate::secrets::Secrets;
use crate::template::literal;

/// How a secret of a URL must be written there.
const IN_URL: &str = " percent-encoded";

/// The body `text` of the type `mime` as a template; secrets are variables.
pub fn masked(mime: &str, text: &str, secrets: &mut Secrets) -> String {
    let kind = Notation::of(mime, text);
    let template =
        |secret: &Found| secrets.template(&secret.name, &text[secret.at.clone()], how(kind));
    replaced(text, &kind.secrets(text), literal, template)
}

/// The template `text` of the type `mime`; secrets that are written out are variables.
pub fn masked_template(mime: &str, text: &str, secrets: &mut Secrets) -> String {
    let kind = Notation::of(mime, text);
    written_out(text, kind.secrets(text), how(kind), secrets)
}

/// The path and query `target` as a template; its secrets are variables.
pub fn masked_target(target: &str, secrets: &mut Secrets) -> String {
    let template =
        |secret: &Found| secrets.template(&secret.name, &target[secret.at.clone()], IN_URL);
    replaced(target, &in_url(target), literal, template)
}

/// The path and query `target`, a template; its secrets that are written out are variables.
pub fn masked_target_template(target: &str, secrets: &mut Secrets) -> String {
    written_out(target, in_url(target), IN_URL, secrets)
}

/// The template `text` with variables for those of `found` that are none yet.
fn written_out(
    text: &str,
    mut found: Vec<Found>,
    how: &'static str,
    secrets: &mut Secrets,
) -> String {
    found.retain(|secret| !text[secret.at.clone()].contains("${"));
    let template = |secret: &Found| secrets.template(&secret.name, &text[secret.at.clone()], how);
    replaced(text, &found, str::to_owned, template)
}

/// How a secret must be written in a body of a kind.
fn how(kind: Notation) -> &'static str {
    match kind {
        Notation::Form => IN_URL,
        Notation::Json => " as it stands between quotation marks of JSON",
        Notation::Xml => " as XML writes it",
        Notation::Multipart | Notation::Other => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask(mime: &str, text: &str) -> String {
        masked(mime, text, &mut Secrets::default())
    }

    #[test]
    fn forms_and_queries() {
        let form = "application/x-www-form-urlencoded";
        assert_eq!(
            mask(form, "user=me&password=a%26b&x=${y}&token="),
            "user=me&password=${password}&x=$${y}&token="
        );
        let target = masked_target("/a${b}?sap-password=x&c=d", &mut Secrets::default());
        assert_eq!(target, "/a$${b}?sap-password=${sap_password}&c=d");
        let target = masked_target_template("/${a}?pwd=x&pin=${b}", &mut Secrets::default());
        assert_eq!(target, "/${a}?pwd=${pwd}&pin=${b}");
    }

    #[test]
    fn json_keeps_its_form() {
        assert_eq!(
            mask(
                "application/json",
                r#"{ "user":"a", "passWord" : "x\"y","pin": 1234 , "n":null}"#
            ),
            r#"{ "user":"a", "passWord" : "${password}","pin": ${pin} , "n":null}"#
        );
        assert_eq!(mask("", r#"[{"token":{"a":1}}]"#), r#"[{"token":{"a":1}}]"#);
    }

    #[test]
    fn a_template_keeps_its_variables() {
        let text = r#"{"user":"${u}","password":"${p}","pin":"1","token":"2"}"#;
        assert_eq!(
            masked_template("", text, &mut Secrets::default()),
            r#"{"user":"${u}","password":"${p}","pin":"${pin}","token":"${token}"}"#
        );
    }

    #[test]
    fn elements_and_attributes_of_xml() {
        assert_eq!(
            mask("text/xml", "<a><w:Password t='x'>p</w:Password><u token=\"q\"/></a>"),
            "<a><w:Password t='x'>${password}</w:Password><u token=\"${token}\"/></a>"
        );
    }

    #[test]
    fn parts() {
        let text = "--X\r\nContent-Disposition: form-data; name=\"pwd\"\r\n\r\nsecret\r\n--X\r\n\
                    Content-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--X--\r\n";
        assert_eq!(mask("multipart/form-data; boundary=X", text), text.replace("secret", "${pwd}"));
    }

    proptest! {
        #[test]
        fn any_text_of_any_kind_keeps_what_is_no_secret(
            text in "(\\PC|[<>\"'=&:{}\\[\\]\r\n-]|pwd|name=\"pwd\"){0,60}",
            mime in prop::sample::select(vec![
                "application/json", "text/xml", "multipart/form-data",
                "application/x-www-form-urlencoded", "",
            ]),
        ) {
            let out = mask(mime, &text);
            if !text.contains("pwd") && !text.contains("$") {
                let masks = out.matches("${").count();
                prop_assert!(masks > 0 || out == text);
            }
        }
    }
}
