//! Who tells, from the environment or a file that it names, where nobody else reads it.

use std::fs;
use std::path::Path;

use plumb_serve::accounts::authorization;

/// Bytes of a file of credentials that are read at most.
const FILE_BYTES_MAX: usize = 8 << 10;

/// The value of the header that says who tells; `None` when nobody said. `named` looks a variable up:
/// `PREFIX_TOKEN`, or `PREFIX_USER` with `PREFIX_PASSWORD`; a secret may stand in a file, whose path is
/// then `PREFIX_TOKEN_FILE` or `PREFIX_PASSWORD_FILE`.
///
/// # Errors
/// What is wrong, in a sentence.
pub(crate) fn header(
    prefix: &str,
    named: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, String> {
    let plain = |end: &str| named(&format!("{prefix}_{end}")).filter(|value| !value.is_empty());
    let secret = |end: &str| -> Result<Option<String>, String> {
        match (plain(end), plain(&format!("{end}_FILE"))) {
            (Some(_), Some(_)) => {
                Err(format!("{prefix}_{end} and {prefix}_{end}_FILE are both set: leave one out"))
            }
            (Some(secret), None) => Ok(Some(secret)),
            (None, Some(file)) => from_file(Path::new(&file)).map(Some),
            (None, None) => Ok(None),
        }
    };
    let (user, password, token) = (plain("USER"), secret("PASSWORD")?, secret("TOKEN")?);
    let parts = [user.as_deref(), password.as_deref(), token.as_deref()];
    if parts.into_iter().flatten().any(|text| text.contains(|c: char| c.is_control())) {
        return Err(format!("the credentials of {prefix}_... hold control characters"));
    }
    match (user, password, token) {
        (None, None, None) => Ok(None),
        (None, None, Some(token)) => Ok(Some(format!("Bearer {token}"))),
        (Some(user), Some(password), None) if !user.contains(':') => {
            Ok(Some(authorization(&user, &password)))
        }
        (Some(_), Some(_), None) => {
            Err(format!("{prefix}_USER has a colon, which nobody can send"))
        }
        (_, _, Some(_)) => Err(format!(
            "{prefix}_TOKEN and {prefix}_USER or {prefix}_PASSWORD are both set: leave one out"
        )),
        _ => Err(format!("{prefix}_USER and {prefix}_PASSWORD belong together: set both")),
    }
}

fn from_file(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{shown}: {error}; it is to hold the secret on one line"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text); // editors of Windows write it
    let secret = text.trim_end_matches(['\r', '\n']);
    match secret.is_empty() || secret.len() > FILE_BYTES_MAX {
        true => Err(format!("{shown} holds no secret: write it there, on one line")),
        false => Ok(secret.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Result<Option<String>, String> {
        header("P", |name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_token_or_a_user_with_a_password() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[("P_TOKEN", "abc")]), Ok(Some("Bearer abc".into())));
        // RFC 7617, section 2
        let basic = of(&[("P_USER", "Aladdin"), ("P_PASSWORD", "open sesame")]);
        assert_eq!(basic, Ok(Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".into())));
        for wrong in [
            &[("P_USER", "a")][..],
            &[("P_PASSWORD", "a")],
            &[("P_TOKEN", "a"), ("P_USER", "b")],
            &[("P_TOKEN", "a\nb")],
            &[("P_USER", "a:b"), ("P_PASSWORD", "c")],
            &[("P_TOKEN_FILE", "/nowhere")],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_secret_may_stand_in_a_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("token");
        fs::write(&file, "abc\n").expect("a file");
        let path = file.display().to_string();
        assert_eq!(of(&[("P_TOKEN_FILE", &path)]), Ok(Some("Bearer abc".into())));
        assert!(of(&[("P_TOKEN_FILE", &path), ("P_TOKEN", "x")]).is_err());
        fs::write(&file, "\u{feff}abc\r\n").expect("a file");
        assert_eq!(of(&[("P_TOKEN_FILE", &path)]), Ok(Some("Bearer abc".into())));
        fs::write(&file, "\n").expect("a file");
        assert!(of(&[("P_TOKEN_FILE", &path)]).is_err());
    }
}
