//! The names behind which secrets stand.

/// A name that holds one of these is that of what somebody logs on with; letters and digits only, in
/// lower case.
const LOG_ON: [&str; 11] = [
    "password",
    "passwd",
    "passwort",
    "kennwort",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "sessionid",
];
/// A name that holds one of these is that of a secret, too.
const PARTS: [&str; 16] = [
    "bearer",
    "jwt",
    "authorization",
    "assertion",
    "saml",
    "accesskey",
    "privatekey",
    "subscriptionkey",
    "sessid",
    "signature",
    "cookie",
    "passcode",
    "sapsso2",
    "authentication",
    "securitycode",
    "functionskey",
];
/// So is a name that is one of these.
const WHOLE: [&str; 17] = [
    "pass", "oldpass", "newpass", "userpass", "jpass", "pw", "pin", "otp", "auth", "xauth", "sid",
    "session", "code", "sig", "hmac", "totp", "mfa",
];
/// Parts of the names of tokens against forged requests.
const FORGERY: [&str; 3] = ["csrf", "xsrf", "verificationtoken"];

/// True when what is called `name` is usually nobody else's business: a header, a field of a form
/// or of JSON, an element of XML, a variable.
pub fn is_secret(name: &str) -> bool {
    let plain = plain(name);
    LOG_ON.iter().chain(&PARTS).any(|part| plain.contains(part))
        || WHOLE.contains(&plain.as_str())
        || is_short(name)
        || is_forgery_token(&plain)
}

/// True when what is called `name` is a secret that somebody logs on with, or holds a session by: a
/// part of what [`is_secret`] finds, without the names that other things often have.
pub fn is_of_log_on(name: &str) -> bool {
    let plain = plain(name);
    LOG_ON.iter().any(|part| plain.contains(part))
}

/// True when an option or a variable called `name` holds, in a command line, what somebody logs on with: a
/// part of what [`is_secret`] finds, without the names of files and switches, which only end otherwise.
pub(super) fn is_of_command(name: &str) -> bool {
    const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"]; // a shell's own
    let plain = plain(name);
    let ends = LOG_ON.iter().any(|part| plain.ends_with(part)) && !plain.ends_with("credential");
    (ends || is_short(name)) && !FOLDERS.contains(&name)
}

/// True where the last word of `name` is a short one for a password: `db_pass`.
fn is_short(name: &str) -> bool {
    let last = name.rsplit(['-', '_']).next().unwrap_or_default();
    ["pass", "pw"].iter().any(|short| last.eq_ignore_ascii_case(short))
}

/// True for a token against forged requests: a secret, but one that nobody can use without the
/// cookie that belongs to it.
pub fn is_forgery_token(name: &str) -> bool {
    let plain = plain(name);
    FORGERY.iter().any(|part| plain.contains(part))
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_secrets_away() {
        for name in [
            "password",
            "j_password",
            "sap-password",
            "Passwd",
            "client_secret",
            "access_token",
            "X-Api-Key",
            "user[password]",
            "PIN",
            "sid",
            "db_pwd",
            "db_pass",
            "wifi-pw",
            "SAMLResponse",
            "oldPass",
            "Authorization",
            "Set-Cookie",
            "X-CSRF-Token",
            "_csrf",
            "code",
            "sig",
            "passcode",
            "Authentication",
            "MYSAPSSO2",
            "X-Authentication",
            "Ocp-Apim-Subscription-Key",
            "X-Amz-Signature",
            "X-Functions-Key",
            "x-goog-api-key",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "user",
            "pinned",
            "side",
            "key",
            "passenger",
            "author",
            "compass_x",
            "bypass",
            "sap-client",
            "spinner",
            "sessions",
            "zipcode",
            "country_code",
            "sigma",
            "coder",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn names_in_commands_are_those_of_values() {
        for name in
            ["--password", "PGPASSWORD", "--api-key", "db_pass", "-pw", "SSH_TOKEN", "--pwd"]
        {
            assert!(is_of_command(name), "{name}");
        }
        for name in ["--password-file", "--pin", "--keep-secrets", "--credentials", "PWD", "bypass"]
        {
            assert!(!is_of_command(name), "{name}");
        }
    }

    #[test]
    fn tokens_against_forged_requests_are_known() {
        for name in ["x-csrf-token", "csrfmiddlewaretoken", "__RequestVerificationToken"] {
            assert!(is_forgery_token(name) && is_secret(name), "{name}");
        }
        assert!(!is_forgery_token("access_token"));
    }
}
