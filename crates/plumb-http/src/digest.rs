//! Answers to a `Digest` challenge.

use md5::Md5;
use plumb_wire::http::{DigestAlgorithm, DigestChallenge};
use sha2::{Digest, Sha256};

use crate::credentials::Credentials;

/// Which answer to which challenge a request carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DigestProof {
    session: u64,
    /// From one.
    number: u32,
}

impl DigestProof {
    /// True of the first with its nonce, which cannot be too old for it.
    pub(crate) fn is_first(self) -> bool {
        self.number == 1
    }
}

/// The answers of one user to one challenge.
#[derive(Clone, Debug)]
pub(crate) struct DigestSession {
    challenge: DigestChallenge,
    /// Drawn: tells it from others.
    id: u64,
    /// Requests that were answered with it.
    answered: u32,
    /// Drawn by the client, once for the session.
    client_nonce: String,
}

impl DigestSession {
    /// A session that begins with `challenge`.
    pub(crate) fn new(challenge: DigestChallenge, drawn: [u64; 2]) -> Self {
        let client_nonce = format!("{:016x}{:016x}", drawn[0], drawn[1]);
        Self { challenge, id: drawn[0], answered: 0, client_nonce }
    }

    /// True when it made `proof`.
    pub(crate) fn made(&self, proof: DigestProof) -> bool {
        self.id == proof.session
    }

    /// What the request that was answered last carries.
    pub(crate) fn last(&self) -> DigestProof {
        DigestProof { session: self.id, number: self.answered }
    }

    /// The value of the `Authorization` line of the next request, `method` for `target`.
    ///
    /// # Source
    /// RFC 7616, sections 3.4 and 3.5.
    pub(crate) fn answer(&mut self, who: &Credentials, method: &str, target: &str) -> String {
        self.answered += 1;
        let Self { challenge, answered, client_nonce, .. } = self;
        let DigestChallenge { realm, nonce, algorithm, .. } = &*challenge;
        let hash = |text: &str| hashed(*algorithm, text);
        let (user, password) = who.user_and_password();
        let mut key = hash(&format!("{user}:{realm}:{password}"));
        if algorithm.is_of_session() {
            key = hash(&format!("{key}:{nonce}:{client_nonce}"));
        }
        let asked = hash(&format!("{method}:{target}"));
        let count = format!("{answered:08x}");
        let response = match challenge.counts {
            true => hash(&format!("{key}:{nonce}:{count}:{client_nonce}:auth:{asked}")),
            false => hash(&format!("{key}:{nonce}:{asked}")),
        };
        let named = match challenge.hashes_user {
            true => format!("\"{}\", userhash=true", hash(&format!("{user}:{realm}"))),
            false => quoted(user),
        };
        let mut value = format!(
            "Digest username={named}, realm={}, nonce={}, uri={}, response=\"{response}\", \
             algorithm={}",
            quoted(realm),
            quoted(nonce),
            quoted(target),
            algorithm.name()
        );
        if challenge.counts {
            value += &format!(", qop=auth, nc={count}, cnonce=\"{client_nonce}\"");
        } else if algorithm.is_of_session() {
            value += &format!(", cnonce=\"{client_nonce}\"");
        }
        if let Some(opaque) = &challenge.opaque {
            value += &format!(", opaque={}", quoted(opaque));
        }
        value
    }
}

fn hashed(algorithm: DigestAlgorithm, text: &str) -> String {
    match algorithm {
        DigestAlgorithm::Md5 | DigestAlgorithm::Md5Session => hex(&Md5::digest(text)),
        DigestAlgorithm::Sha256 | DigestAlgorithm::Sha256Session => hex(&Sha256::digest(text)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(algorithm: &str, more: &str) -> DigestChallenge {
        let value = format!(
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm={algorithm}, \
             nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
             opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"{more}"
        );
        DigestChallenge::find(std::iter::once(value.as_str())).unwrap()
    }

    fn session(algorithm: &str) -> DigestSession {
        let challenge = challenge(algorithm, "");
        let client_nonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ".into();
        DigestSession { challenge, id: 1, answered: 0, client_nonce }
    }

    #[test]
    fn answers_are_those_of_the_standard() {
        let who = Credentials::basic("Mufasa", "Circle of Life").unwrap();
        for (algorithm, response) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ] {
            let value = session(algorithm).answer(&who, "GET", "/dir/index.html");
            assert!(value.contains(&format!("response=\"{response}\"")), "{value}");
            for part in [
                "Digest username=\"Mufasa\"",
                "uri=\"/dir/index.html\"",
                "qop=auth, nc=00000001,",
                "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
            ] {
                assert!(value.contains(part), "{part}: {value}");
            }
        }
    }

    #[test]
    fn each_answer_counts_and_differs() {
        let who = Credentials::basic("Mufasa", "Circle of Life").unwrap();
        let mut session = session("MD5-sess");
        let first = session.answer(&who, "GET", "/");
        let second = session.answer(&who, "GET", "/");
        assert!(first.contains("nc=00000001") && second.contains("nc=00000002"), "{second}");
        let response = |value: &str| value.split("response=").nth(1).unwrap()[..34].to_owned();
        assert_ne!(response(&first), response(&second));
    }

    #[test]
    fn a_user_may_be_sent_as_a_digest() {
        let who = Credentials::basic("Mufasa", "Circle of Life").unwrap();
        let mut session = DigestSession::new(challenge("SHA-256", ", userhash=true"), [1, 2]);
        let value = session.answer(&who, "GET", "/");
        assert!(value.contains("userhash=true") && !value.contains("Mufasa"), "{value}");
        assert!(value.contains("cnonce=\"00000000000000010000000000000002\""), "{value}");
    }
}
