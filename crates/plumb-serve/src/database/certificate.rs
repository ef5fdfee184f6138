//! What a certificate says of itself, as far as `libpq` looks at it and rustls does not: a server's own
//! certificate that is trusted by itself, and a host that only the common name names.

use std::net::IpAddr;

use rustls::CertificateError;
use yasna::models::ObjectIdentifier;
use yasna::tags::TAG_UTCTIME;
use yasna::{ASN1Result, BERReader, BERReaderSeq, Tag};

/// Identifiers of RFC 5280: of an attribute of a subject, of extensions, of a purpose.
const COMMON_NAME: [u64; 4] = [2, 5, 4, 3];
const KEY_USAGE: [u64; 4] = [2, 5, 29, 15];
const SUBJECT_NAMES: [u64; 4] = [2, 5, 29, 17];
const PURPOSES: [u64; 4] = [2, 5, 29, 37];
const SERVES_TLS: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 3, 1];
/// Uses of a key that TLS needs one of: to sign, to encipher keys, to agree on one.
const TLS_USAGE: u8 = 0x80 | 0x20 | 0x08;
/// Kinds of names in the extension: of a host, and an address.
const DNS_NAME: u64 = 2;
const ADDRESS: u64 = 7;

/// One certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// It holds from then on, seconds since 1970.
    from_s: i64,
    /// It holds until then.
    until_s: i64,
    common_name: Option<String>,
    /// True when it may show that a server is who it says.
    serves: bool,
    has_dns_names: bool,
    has_addresses: bool,
}

impl Certificate {
    /// Reads a certificate; `None` when the bytes are none.
    #[must_use]
    pub fn parse(der: &[u8]) -> Option<Self> {
        let whole = |parts: &mut BERReaderSeq<'_, '_>| {
            let read = parts.next().read_sequence(signed_part)?;
            parts.next().read_der()?; // the algorithm of the signature
            parts.next().read_der()?; // the signature
            Ok(read)
        };
        yasna::parse_der(der, |reader| reader.read_sequence(whole)).ok()
    }

    /// Checks that it holds at `now_s`, seconds since 1970, and is one of a server.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, now_s: u64) -> Result<(), CertificateError> {
        let now_s = i64::try_from(now_s).unwrap_or(i64::MAX);
        if now_s < self.from_s {
            Err(CertificateError::NotValidYet)
        } else if now_s > self.until_s {
            Err(CertificateError::Expired)
        } else if self.serves {
            Ok(())
        } else {
            Err(CertificateError::InvalidPurpose)
        }
    }

    /// True when its common name is that of `host`, and it lists no name of the host's kind, which
    /// would come before.
    #[must_use]
    pub fn is_commonly_named(&self, host: &str) -> bool {
        let is_address = host.parse::<IpAddr>().is_ok();
        let lists = if is_address { self.has_addresses } else { self.has_dns_names };
        !lists && self.common_name.as_deref().is_some_and(|name| names(name, host))
    }
}

/// True when `name`, which may begin with `*.`, is that of `host`.
fn names(name: &str, host: &str) -> bool {
    let is_below = |domain: &str| {
        let host = host.split_once('.');
        host.is_some_and(|(first, rest)| !first.is_empty() && rest.eq_ignore_ascii_case(domain))
    };
    name.eq_ignore_ascii_case(host) || name.strip_prefix("*.").is_some_and(is_below)
}

/// The part of a certificate that is signed.
fn signed_part(part: &mut BERReaderSeq<'_, '_>) -> ASN1Result<Certificate> {
    part.read_optional(|reader| reader.read_tagged(Tag::context(0), |it| it.read_der()))?; // version
    part.next().read_der()?; // number
    part.next().read_der()?; // algorithm
    part.next().read_der()?; // issuer
    let (from_s, until_s) = part
        .next()
        .read_sequence(|times| Ok((second_of(times.next())?, second_of(times.next())?)))?;
    let common_name = common_name(part.next())?;
    part.next().read_der()?; // key
    let mut read = Certificate {
        from_s,
        until_s,
        common_name,
        serves: true,
        has_dns_names: false,
        has_addresses: false,
    };
    let extensions = part.read_optional(|reader| {
        reader.read_tagged(Tag::context(3), |list| list.collect_sequence_of(extension))
    })?;
    for (id, value) in extensions.into_iter().flatten() {
        read.take(&id, &value)?;
    }
    Ok(read)
}

impl Certificate {
    /// Takes what the extension `id` says.
    fn take(&mut self, id: &ObjectIdentifier, value: &[u8]) -> ASN1Result<()> {
        let id = id.components().as_slice();
        if id == KEY_USAGE {
            let (bits, _) = yasna::parse_der(value, |it| it.read_bitvec_bytes())?;
            self.serves &= bits.first().is_some_and(|bits| bits & TLS_USAGE != 0);
        } else if id == PURPOSES {
            let purposes =
                yasna::parse_der(value, |list| list.collect_sequence_of(|it| it.read_oid()))?;
            self.serves &= purposes.iter().any(|id| id.components().as_slice() == SERVES_TLS);
        } else if id == SUBJECT_NAMES {
            let kinds = yasna::parse_der(value, |list| {
                list.collect_sequence_of(|it| Ok(it.read_tagged_der()?.tag()))
            })?;
            self.has_dns_names = kinds.contains(&Tag::context(DNS_NAME));
            self.has_addresses = kinds.contains(&Tag::context(ADDRESS));
        }
        Ok(())
    }
}

/// A moment, seconds since 1970.
fn second_of(reader: BERReader<'_, '_>) -> ASN1Result<i64> {
    if reader.lookahead_tag()? == TAG_UTCTIME {
        Ok(reader.read_utctime()?.datetime().unix_timestamp())
    } else {
        Ok(reader.read_generalized_time()?.datetime().unix_timestamp())
    }
}

/// The first common name of a subject.
fn common_name(reader: BERReader<'_, '_>) -> ASN1Result<Option<String>> {
    let mut names = Vec::new();
    reader.read_sequence_of(|set| {
        set.read_set_of(|pair| {
            pair.read_sequence(|pair| {
                let id = pair.next().read_oid()?;
                let value = pair.next().read_tagged_der()?;
                if id.components().as_slice() == COMMON_NAME {
                    names.push(String::from_utf8(value.value().to_vec()).ok());
                }
                Ok(())
            })
        })
    })?;
    Ok(names.into_iter().next().flatten())
}

/// An extension: its identifier and its bytes.
fn extension(reader: BERReader<'_, '_>) -> ASN1Result<(ObjectIdentifier, Vec<u8>)> {
    reader.read_sequence(|parts| {
        let id = parts.next().read_oid()?;
        parts.read_optional(|it| it.read_bool())?; // is it critical?
        Ok((id, parts.next().read_bytes()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{
        CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    };

    fn der_of(change: impl FnOnce(&mut CertificateParams), names: &[&str]) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, "Db1.example");
        change(&mut params);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    fn of(change: impl FnOnce(&mut CertificateParams), names: &[&str]) -> Certificate {
        Certificate::parse(&der_of(change, names)).unwrap()
    }

    #[test]
    fn a_common_name_counts_where_no_name_of_the_kind_is_listed() {
        let bare = of(|_| {}, &[]);
        assert!(bare.is_commonly_named("db1.EXAMPLE") && !bare.is_commonly_named("db2.example"));
        let listed = of(|_| {}, &["db2.example"]);
        assert!(!listed.is_commonly_named("db1.example"));
        let address = |it: &mut CertificateParams| {
            it.distinguished_name.push(DnType::CommonName, "127.0.0.1");
        };
        assert!(of(address, &["db2.example"]).is_commonly_named("127.0.0.1"));
        assert!(!of(address, &["127.0.0.2"]).is_commonly_named("127.0.0.1"));
    }

    #[test]
    fn a_star_stands_for_one_label() {
        assert!(names("*.example.com", "db1.Example.com"));
        for host in ["example.com", "a.db1.example.com", ".example.com", "db1.example.org"] {
            assert!(!names("*.example.com", host), "{host}");
        }
    }

    #[test]
    fn its_time_and_its_purpose_are_checked() {
        let time = |it: &mut CertificateParams| {
            it.not_before = rcgen::date_time_ymd(2020, 1, 1);
            it.not_after = rcgen::date_time_ymd(2050, 1, 1);
        };
        let (in_2019, in_2030, in_2051) = (1_546_300_800, 1_893_456_000, 2_556_144_000);
        let usual = of(time, &[]);
        assert_eq!(usual.check(in_2030), Ok(()));
        assert_eq!(usual.check(in_2019), Err(CertificateError::NotValidYet));
        assert_eq!(usual.check(in_2051), Err(CertificateError::Expired));
        let purpose = |purpose| {
            move |it: &mut CertificateParams| {
                time(it);
                it.extended_key_usages = vec![purpose];
            }
        };
        let server = of(purpose(ExtendedKeyUsagePurpose::ServerAuth), &[]);
        assert_eq!(server.check(in_2030), Ok(()));
        let client = of(purpose(ExtendedKeyUsagePurpose::ClientAuth), &[]);
        assert_eq!(client.check(in_2030), Err(CertificateError::InvalidPurpose));
        let usage = |usage| {
            move |it: &mut CertificateParams| {
                time(it);
                it.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
                it.key_usages = vec![usage];
            }
        };
        let signs = of(usage(KeyUsagePurpose::DigitalSignature), &[]);
        assert_eq!(signs.check(in_2030), Ok(()));
        let certifies = of(usage(KeyUsagePurpose::KeyCertSign), &[]);
        assert_eq!(certifies.check(in_2030), Err(CertificateError::InvalidPurpose));
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes: Vec<u8>, at: usize, by: u8) {
            let _ = Certificate::parse(&bytes);
            let mut changed = der_of(|_| {}, &["db1"]);
            let at = at % changed.len();
            changed[at] ^= by;
            let _ = Certificate::parse(&changed);
            let _ = Certificate::parse(&changed[..at]);
        }
    }
}
