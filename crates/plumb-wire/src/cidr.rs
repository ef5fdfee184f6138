//! Blocks of addresses, for those who may connect.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A block of addresses, `10.1.0.0/16` or `::1/128`; a single address stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    base: IpAddr,
    prefix: u32, // at most the bits of `base`
}

/// A text is no block of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address block; write for example 10.1.0.0/16 or ::1")]
pub struct NoCidr {
    /// As given.
    text: String,
}

impl Cidr {
    /// True when `address` lies in the block. An IPv4 address mapped into IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let shift = 32 - self.prefix;
                u32::from(base).checked_shr(shift) == u32::from(address).checked_shr(shift)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let shift = 128 - self.prefix;
                u128::from(base).checked_shr(shift) == u128::from(address).checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl FromStr for Cidr {
    type Err = NoCidr;

    fn from_str(text: &str) -> Result<Self, NoCidr> {
        let wrong = || NoCidr { text: text.into() };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let base: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = if base.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(bits), str::parse).map_err(|_| wrong())?;
        if prefix > bits { Err(wrong()) } else { Ok(Self { base, prefix }) }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(block: &str, address: &str) -> bool {
        block.parse::<Cidr>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_block_holds_its_own_addresses_only() {
        assert!(holds("10.1.0.0/16", "10.1.255.9"));
        assert!(!holds("10.1.0.0/16", "10.2.0.0"));
        assert!(holds("0.0.0.0/0", "203.0.113.9"));
        assert!(!holds("0.0.0.0/0", "::1"));
        assert!(holds("127.0.0.1", "127.0.0.1"));
        assert!(!holds("127.0.0.1", "127.0.0.2"));
        assert!(holds("fd00::/8", "fd12::1"));
        assert!(holds("::/0", "fd12::1"));
        assert!(holds("127.0.0.0/8", "::ffff:127.0.0.1"));
    }

    #[test]
    fn what_is_no_block_says_how_to_write_one() {
        for text in ["", "10.1.0.0/33", "host/8", "10.1.0.0/x", "::1/129"] {
            let error = text.parse::<Cidr>().unwrap_err().to_string();
            assert!(error.contains("10.1.0.0/16"), "{error}");
        }
    }
}
