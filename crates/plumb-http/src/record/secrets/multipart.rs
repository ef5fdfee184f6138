//! Secrets in forms of several parts.
//!
//! # Source
//! RFC 7578, section 4; RFC 2046, section 5.1.1.

use super::{MASK, is_secret};

/// `text` with the content of secret fields masked; `None` when `mime` names no boundary.
pub(super) fn masked(mime: &str, text: &str) -> Option<String> {
    let delimiter = format!("--{}", boundary(mime)?);
    let parts = text.split(&delimiter).map(|part| match part.split_once("\r\n\r\n") {
        Some((head, content)) if named_secret(head) => {
            let end = if content.ends_with("\r\n") { "\r\n" } else { "" };
            format!("{head}\r\n\r\n{MASK}{end}")
        }
        _ => part.to_owned(),
    });
    Some(parts.collect::<Vec<_>>().join(&delimiter))
}

fn boundary(mime: &str) -> Option<&str> {
    let at = mime.to_ascii_lowercase().find("boundary=")?;
    let value = mime[at + "boundary=".len()..].split(';').next()?.trim().trim_matches('"');
    (!value.is_empty()).then_some(value)
}

/// True when the head of a part names a secret field.
fn named_secret(head: &str) -> bool {
    head.lines().any(|line| {
        let parameters = line.split(';').skip(1).map(str::trim);
        let mut names = parameters.filter_map(|parameter| parameter.split_once('='));
        line.to_ascii_lowercase().starts_with("content-disposition:")
            && names.any(|(key, name)| {
                key.trim_end_matches('*').eq_ignore_ascii_case("name") && is_secret(name)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_content_of_secret_fields_goes() {
        let part = |name: &str, content: &str| {
            format!("--x-1\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
        };
        let body = |secret: &str| part("user", "demo") + &part("password", secret) + "--x-1--\r\n";
        for mime in
            ["multipart/form-data; boundary=x-1", "Multipart/Form-Data; Boundary=\"x-1\"; a=b"]
        {
            assert_eq!(masked(mime, &body("s3cret")).unwrap(), body(MASK));
        }
        assert_eq!(masked("multipart/form-data", "x"), None);
    }
}
