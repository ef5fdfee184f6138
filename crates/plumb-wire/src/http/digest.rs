//! What a server asks of whoever proves a password without sending it.

use super::challenge::unquoted;

/// A `Digest` challenge that can be answered.
///
/// # Source
/// RFC 7616, section 3.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestChallenge {
    /// What is protected.
    pub realm: String,
    /// What the answer is made with; good for one answer or for many.
    pub nonce: String,
    /// Goes back as it came.
    pub opaque: Option<String>,
    /// The last answer was right, and its nonce too old.
    pub stale: bool,
    /// How the digest is made.
    pub algorithm: DigestAlgorithm,
    /// The answer counts its requests (`qop=auth`); without, it is that of RFC 2069.
    pub counts: bool,
    /// The name of the user is sent as a digest, too.
    pub hashes_user: bool,
}

/// How digests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// `MD5`.
    Md5,
    /// `MD5-sess`.
    Md5Session,
    /// `SHA-256`.
    Sha256,
    /// `SHA-256-sess`.
    Sha256Session,
}

impl DigestAlgorithm {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "MD5",
            Self::Md5Session => "MD5-sess",
            Self::Sha256 => "SHA-256",
            Self::Sha256Session => "SHA-256-sess",
        }
    }

    /// True where a session has a key of its own.
    #[must_use]
    pub fn is_of_session(self) -> bool {
        matches!(self, Self::Md5Session | Self::Sha256Session)
    }
}

/// Why a challenge cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDigest {
    /// There is none.
    #[error("the server offers no Digest (it offers {offered})")]
    NotOffered {
        /// The names of the schemes.
        offered: String,
    },
    /// It wants what nobody here can do.
    #[error("the server wants {what}, which is not supported")]
    Unsupported {
        /// The algorithm or the protection.
        what: String,
    },
    /// Without a nonce there is nothing to answer.
    #[error("the Digest challenge has no nonce")]
    NoNonce,
}

impl DigestChallenge {
    /// The first of the challenges in the values of `WWW-Authenticate` lines that can be answered.
    ///
    /// # Errors
    /// [`NoDigest`] says why there is none.
    pub fn find<'a>(values: impl Iterator<Item = &'a str>) -> Result<Self, NoDigest> {
        let mut offered: Vec<String> = Vec::new();
        let mut why = None;
        for (scheme, parameters) in values.flat_map(challenges) {
            if scheme.eq_ignore_ascii_case("digest") {
                match Self::of(&parameters) {
                    Ok(challenge) => return Ok(challenge),
                    Err(problem) => drop(why.get_or_insert(problem)),
                }
            } else if !offered.contains(&scheme) {
                offered.push(scheme.chars().take(NAME_CHARS).collect());
            }
        }
        let nothing = || match &offered[..] {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        Err(why.unwrap_or_else(|| NoDigest::NotOffered { offered: nothing() }))
    }

    fn of(parameters: &[(String, String)]) -> Result<Self, NoDigest> {
        let value = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.as_str())
        };
        let named = value("algorithm").unwrap_or("MD5");
        let all = [
            DigestAlgorithm::Md5,
            DigestAlgorithm::Md5Session,
            DigestAlgorithm::Sha256,
            DigestAlgorithm::Sha256Session,
        ];
        let algorithm = all.into_iter().find(|it| it.name().eq_ignore_ascii_case(named));
        let unsupported = |what: &str, name: &str| NoDigest::Unsupported {
            what: format!("{what} {}", name.chars().take(NAME_CHARS).collect::<String>()),
        };
        let algorithm = algorithm.ok_or_else(|| unsupported("Digest by", named))?;
        let counts = match value("qop") {
            None => false,
            Some(offers) if offers.split(',').any(|it| it.trim().eq_ignore_ascii_case("auth")) => {
                true
            }
            Some(offers) => return Err(unsupported("Digest with qop", offers)),
        };
        let is_true = |name: &str| value(name).is_some_and(|it| it.eq_ignore_ascii_case("true"));
        Ok(Self {
            realm: value("realm").unwrap_or_default().into(),
            nonce: value("nonce").ok_or(NoDigest::NoNonce)?.into(),
            opaque: value("opaque").map(Into::into),
            stale: is_true("stale"),
            algorithm,
            counts,
            hashes_user: is_true("userhash"),
        })
    }
}

/// Characters of a name from a server that are repeated.
const NAME_CHARS: usize = 40;
/// Challenges, and parameters of one, that are read at most.
const READ_MAX: usize = 32;

/// A scheme with its parameters.
type Challenge = (String, Vec<(String, String)>);

/// The challenges in the value of a `WWW-Authenticate` line. Parameters and challenges are parted by
/// commas alike: a word with a blank behind it, and no `=`, begins a challenge.
///
/// # Source
/// RFC 9110, section 11.6.1.
fn challenges(value: &str) -> Vec<Challenge> {
    let mut all: Vec<Challenge> = Vec::new();
    for element in elements(value) {
        let element = element.trim();
        let word = element.split([' ', '\t', '=']).next().unwrap_or_default();
        let behind = element[word.len()..].trim_start();
        let mut parameter = element;
        if !behind.starts_with('=') && !word.is_empty() {
            if all.len() == READ_MAX {
                break;
            }
            all.push((word.to_owned(), Vec::new()));
            parameter = behind;
        }
        let (Some((_, parameters)), Some((name, value))) =
            (all.last_mut(), parameter.split_once('='))
        else {
            continue;
        };
        if parameters.len() < READ_MAX {
            parameters.push((name.trim().to_owned(), value_of(value.trim())));
        }
    }
    all
}

/// What stands between commas that are not in quotes.
fn elements(value: &str) -> Vec<&str> {
    let (mut all, mut from) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                all.push(&value[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&value[from..]);
    all
}

/// A parameter's value, with or without quotes.
fn value_of(text: &str) -> String {
    text.strip_prefix('"').map_or_else(|| text.to_owned(), unquoted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(values: &[&str]) -> Result<DigestChallenge, String> {
        DigestChallenge::find(values.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_challenge_that_can_be_answered_is_taken() {
        let md5 = r#"Digest realm="a, \"b\"", qop="auth, auth-int", algorithm=MD5, nonce="n=1,", opaque="o""#;
        let challenge = found(&["Negotiate, Basic realm=\"Digest nonce=x\"", md5]).unwrap();
        assert_eq!(
            challenge,
            DigestChallenge {
                realm: "a, \"b\"".into(),
                nonce: "n=1,".into(),
                opaque: Some("o".into()),
                stale: false,
                algorithm: DigestAlgorithm::Md5,
                counts: true,
                hashes_user: false,
            }
        );
        let both = "Digest nonce=1, algorithm=SHA-512-256, Digest nonce = 2 , algorithm=sha-256, stale=TRUE";
        let challenge = found(&[both]).unwrap();
        assert_eq!(
            (challenge.nonce.as_str(), challenge.stale, challenge.counts),
            ("2", true, false)
        );
        assert_eq!(challenge.algorithm, DigestAlgorithm::Sha256);
    }

    #[test]
    fn what_cannot_be_answered_says_why() {
        for (value, why) in [
            ("", "offers no Digest (it offers nothing)"),
            ("Negotiate, Basic realm=x", "it offers Negotiate, Basic)"),
            ("Digest nonce=1, algorithm=SHA-512-256", "wants Digest by SHA-512-256"),
            ("Digest nonce=1, qop=\"auth-int\"", "wants Digest with qop auth-int"),
            ("Digest realm=x", "no nonce"),
        ] {
            let error = found(&[value]).unwrap_err();
            assert!(error.contains(why), "{value}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read(value in "(Digest|Basic| |,|=|\"|\\\\|nonce|qop|auth|\\PC){0,40}") {
            let _ = found(&[&value]);
        }
    }
}
