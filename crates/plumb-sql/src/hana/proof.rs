//! How a user proves to know a password without sending it, and the server the same.
//!
//! # Source
//! SAP HANA SQL Command Network Protocol Reference, authentication; RFC 5802 for the idea.

use std::num::NonZeroU32;

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac, pbkdf2};

use super::wire;

/// Bytes of what a client makes up.
pub const CHALLENGE: usize = 64;
/// Bytes of a proof.
const PROOF: usize = 32;
/// Rounds that are made at most: a server that asks for more wants to keep its client busy.
const ROUNDS: u32 = 1_000_000;

/// A way to prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// With as many rounds as the server says; the server proves it as well.
    Rounds,
    /// With one.
    One,
}

impl Method {
    /// All that are known here, the better ones first.
    pub const ALL: [Self; 2] = [Self::Rounds, Self::One];

    /// As the protocol names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "SCRAMPBKDF2SHA256",
            Self::One => "SCRAMSHA256",
        }
    }

    /// The method called `name`; `None` when it is not known here.
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name().as_bytes() == name)
    }
}

/// Bytes that nobody can foresee.
///
/// # Errors
/// When the system has none.
pub fn challenge() -> Result<[u8; CHALLENGE], ring::error::Unspecified> {
    let mut bytes = [0; CHALLENGE];
    SystemRandom::new().fill(&mut bytes)?;
    Ok(bytes)
}

/// What the client proves, and what the server has to prove after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proofs {
    /// What the client sends.
    pub of_client: Vec<u8>,
    /// What the server has to send then; `None` where it proves nothing.
    pub of_server: Option<Vec<u8>>,
}

/// The answer to what the server `said` to the `challenge`; `None` when that cannot be understood.
pub fn answer(method: Method, password: &str, challenge: &[u8], said: &[u8]) -> Option<Proofs> {
    let values = wire::values(said)?;
    let (salt, theirs) = (*values.first()?, *values.get(1)?);
    let salted = match method {
        Method::One => keyed(password.as_bytes(), &[salt]),
        Method::Rounds => {
            let rounds = u32::from_be_bytes((*values.get(2)?).try_into().ok()?);
            let rounds = NonZeroU32::new(rounds).filter(|rounds| rounds.get() <= ROUNDS)?;
            let mut salted = [0; PROOF];
            let kind = pbkdf2::PBKDF2_HMAC_SHA256;
            pbkdf2::derive(kind, rounds, salt, password.as_bytes(), &mut salted);
            salted
        }
    };
    let key = hashed(&salted);
    let signed = keyed(&hashed(&key), &[salt, theirs, challenge]);
    let proof: Vec<u8> = signed.iter().zip(key).map(|(one, other)| one ^ other).collect();
    let of_server = (method == Method::Rounds).then(|| {
        let verifier = keyed(&salted, &[salt]);
        keyed(&verifier, &[challenge, salt, theirs]).to_vec()
    });
    // one proof, whose count has its highest byte first
    let of_client = [&[0, 1, 32][..], &proof].concat();
    Some(Proofs { of_client, of_server })
}

/// True when the server proves `expected`.
pub fn is_proven(said: &[u8], expected: &[u8]) -> bool {
    wire::values(said).is_some_and(|values| values.first().is_some_and(|it| *it == expected))
}

fn keyed(key: &[u8], parts: &[&[u8]]) -> [u8; PROOF] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    sized(hmac::sign(&key, &parts.concat()).as_ref())
}

fn hashed(bytes: &[u8]) -> [u8; PROOF] {
    sized(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// A sum of 32 bytes as such.
fn sized(sum: &[u8]) -> [u8; PROOF] {
    let mut out = [0; PROOF];
    out.iter_mut().zip(sum).for_each(|(to, from)| *to = *from);
    out
}
