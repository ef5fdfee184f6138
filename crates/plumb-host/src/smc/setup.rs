//! What may be set of SMC without danger.

use std::io;
use std::str::FromStr;

use plumb_netlink::Family;

use super::socket::SMC;

const ADD_UEID: u8 = 10;
/// `SMC_NLA_EID_TABLE_ENTRY`.
const ENTRY: u16 = 1;
/// Characters of an EID; the rest is spaces.
const LENGTH: usize = 32;

/// A user-defined EID: up to 32 capital letters, digits, dots and hyphens, the first of them a letter
/// or a digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ueid(String);

impl FromStr for Ueid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let allowed = |byte: u8| capital(byte) || byte == b'.' || byte == b'-';
        let first = text.bytes().next().is_some_and(capital);
        if first && text.len() <= LENGTH && text.bytes().all(allowed) {
            return Ok(Self(text.into()));
        }
        Err("expected up to 32 capital letters, digits, dots and hyphens, a letter or digit first"
            .into())
    }
}

impl std::fmt::Display for Ueid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why nothing was set.
#[derive(Debug, thiserror::Error)]
pub enum NotSet {
    /// The module is not loaded.
    #[error("this kernel has no SMC, or it is not loaded: modprobe smc")]
    NoSmc,
    /// Only an administrator of the network may.
    #[error("cannot add the EID {0}: it takes the rights of root (CAP_NET_ADMIN)")]
    NotAllowed(Ueid),
    /// The kernel refuses.
    #[error("cannot add the EID {ueid}: {cause}; the kernel takes four at most, each once")]
    Refused {
        /// Which.
        ueid: Ueid,
        /// What the kernel says.
        cause: io::Error,
    },
}

/// Adds a user-defined EID to those of this machine. It is gone with the module, or with the next
/// start.
///
/// # Errors
/// [`NotSet`] says why not.
pub fn add_ueid(ueid: &Ueid) -> Result<(), NotSet> {
    let refused = |cause: io::Error| match cause.kind() {
        io::ErrorKind::PermissionDenied => NotSet::NotAllowed(ueid.clone()),
        _ => NotSet::Refused { ueid: ueid.clone(), cause },
    };
    let mut family = Family::open(SMC).map_err(refused)?.ok_or(NotSet::NoSmc)?;
    family.order(ADD_UEID, &[(ENTRY, entry(ueid).as_slice())]).map_err(refused)
}

/// The EID as the kernel takes it: padded with spaces, with a zero byte behind.
fn entry(ueid: &Ueid) -> Vec<u8> {
    let mut entry = ueid.0.clone().into_bytes();
    entry.resize(LENGTH, b' ');
    entry.push(0);
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eid_has_a_form() {
        for right in ["PLUMBLINE", "A", "0-1.X", "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"] {
            let ueid: Ueid = right.parse().unwrap();
            assert_eq!((ueid.to_string().as_str(), entry(&ueid).len()), (right, 33));
        }
        for wrong in ["", "plumbline", ".A", "-A", "A B", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456"] {
            assert!(wrong.parse::<Ueid>().is_err(), "{wrong}");
        }
    }
}
