//! Texts made of texts: codings and digests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use plumb_wire::percent;
use ring::{digest, hmac};

/// A UUID of version 4 from 128 random bits.
///
/// # Source
/// RFC 9562, section 5.4.
pub(super) fn uuid(bits: u128) -> String {
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let digits = format!("{bits:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// `text` with `fill` in front of it, `width` characters wide.
pub(super) fn padded(text: &str, width: usize, fill: &str) -> Result<String, &'static str> {
    let mut characters = fill.chars();
    let (Some(fill), None) = (characters.next(), characters.next()) else {
        return Err("what fills is one character");
    };
    let missing = width.saturating_sub(text.chars().count());
    Ok(std::iter::repeat_n(fill, missing).chain(text.chars()).collect())
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(super) fn from_base64(text: &str) -> Result<Vec<u8>, &'static str> {
    STANDARD.decode(text.trim()).map_err(|_| "that is no base64")
}

pub(super) fn md5(bytes: &[u8], form: &str) -> Result<String, &'static str> {
    in_form(&Md5::digest(bytes), form)
}

pub(super) fn digest(name: &str, bytes: &[u8], form: &str) -> Result<String, &'static str> {
    let algorithm = match name {
        "sha1" => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        "sha512" => &digest::SHA512,
        _ => &digest::SHA256,
    };
    in_form(digest::digest(algorithm, bytes).as_ref(), form)
}

/// # Source
/// RFC 2104.
pub(super) fn hmac(
    name: &str,
    key: &[u8],
    bytes: &[u8],
    form: &str,
) -> Result<String, &'static str> {
    let algorithm = match name {
        "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => hmac::HMAC_SHA256,
        "sha512" => hmac::HMAC_SHA512,
        _ => return Err("that digest is not known"),
    };
    in_form(hmac::sign(&hmac::Key::new(algorithm, key), bytes).as_ref(), form)
}

fn in_form(bytes: &[u8], form: &str) -> Result<String, &'static str> {
    match form {
        "" | "hex" => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        "base64" => Ok(base64(bytes)),
        _ => Err("that form is not known"),
    }
}

/// Everything but letters, digits and `-._~` percent-encoded.
pub(super) fn percent_encoded(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => percent::encoded(text).collect(),
        Err(_) => bytes.iter().map(|byte| format!("%{byte:02X}")).collect(),
    }
}

pub(super) fn percent_decoded(text: &str) -> Result<String, &'static str> {
    percent::decoded(text).map(Into::into).ok_or("that is not percent-encoded UTF-8")
}
