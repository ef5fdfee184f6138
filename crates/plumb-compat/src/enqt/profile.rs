//! The profile that `enqt` is given: where the lock server is.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, bail, ensure};

/// The first port of a server; its instance number is added.
const FIRST_PORT: u16 = 3200;
/// The parameters that name the host, the first that is there counts.
const HOSTS: [&str; 2] = ["enque/serverhost", "SAPLOCALHOST"];
/// The parameters that name the instance, the first that is there counts.
const INSTANCES: [&str; 2] = ["enque/serverinst", "SAPSYSTEM"];

/// How often a value may refer to another that refers to another.
const REFERENCES_MAX: u8 = 8;

/// What a profile says of a lock server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) host: String,
    pub(super) port: u16,
    /// `enqueue/table_size`, or `enque/table_size`, in KiB; `None` where it is not said.
    pub(super) table_kib: Option<u64>,
}

/// Reads the profile at `path`.
///
/// # Errors
/// When it cannot be read, or a number in it is none.
pub(super) fn read(path: &str) -> anyhow::Result<Profile> {
    let bytes = fs::read(path).with_context(|| {
        format!("cannot read the profile {path}; name a readable file with pf=PROFILE")
    })?;
    // a comment may be of any encoding, and what is needed here is of none
    parse(&String::from_utf8_lossy(&bytes)).with_context(|| format!("in the profile {path}"))
}

/// The parameters of a profile, by name.
type Parameters<'a> = BTreeMap<&'a str, &'a str>;

/// `name = value` lines; `#` begins a comment.
fn parse(text: &str) -> anyhow::Result<Profile> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let values: Parameters<'_> = lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let first = |names: &[&str]| {
        let found = names.iter().find_map(|name| Some((name, values.get(name)?)));
        let Some((name, text)) = found else { return Ok(None) };
        let text = expanded(&values, text, REFERENCES_MAX)?;
        ensure!(!text.contains(char::REPLACEMENT_CHARACTER), "the value of {name} is not UTF-8");
        Ok(Some(text))
    };
    let port = match (first(&["enque/encni/port"])?, first(&INSTANCES)?) {
        (Some(port), _) => number(&port, "enque/encni/port")?,
        (None, Some(instance)) => FIRST_PORT + number::<u16>(&instance, "enque/serverinst")? % 100,
        (None, None) => FIRST_PORT,
    };
    let table_kib = first(&["enqueue/table_size", "enque/table_size"])?
        .map(|text| number(&text, "enqueue/table_size"))
        .transpose()?;
    let host = first(&HOSTS)?.unwrap_or_else(|| "127.0.0.1".to_owned());
    Ok(Profile { host, port, table_kib })
}

/// The value `text` with what it refers to: `$(NAME)` stands for another parameter, `$$` for the
/// instance number. References lead on at most `left` times.
fn expanded(values: &Parameters<'_>, text: &str, left: u8) -> anyhow::Result<String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('$') {
        whole.push_str(before);
        let named = match behind.strip_prefix('$') {
            Some(behind) => Some(("SAPSYSTEM", behind)),
            None => behind.strip_prefix('(').and_then(|inner| inner.split_once(')')),
        };
        let Some((name, behind)) = named else {
            whole.push('$');
            rest = behind;
            continue;
        };
        let Some(value) = values.get(name) else {
            bail!("{text} names $({name}), which the profile does not say; write the value there");
        };
        if left == 0 {
            bail!("{text} names $({name}), which leads on and on; write the value there");
        }
        whole.push_str(&expanded(values, value, left - 1)?);
        rest = behind;
    }
    whole.push_str(rest);
    Ok(whole)
}

fn number<N: std::str::FromStr>(text: &str, name: &str) -> anyhow::Result<N> {
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => bail!("{name} = {text} is not a number that fits there"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_port_and_size_are_found() {
        let text =
            "# SCS\nSAPSYSTEM = 01\nenque/serverhost=lockhost\nenqueue/table_size = 640000\n";
        let expected = Profile { host: "lockhost".into(), port: 3201, table_kib: Some(640_000) };
        assert_eq!(parse(text).unwrap(), expected);
        let profile = parse("SAPSYSTEM = 01\nenque/serverinst = 12").unwrap();
        assert_eq!((profile.host.as_str(), profile.port), ("127.0.0.1", 3212));
        assert_eq!(parse("enque/encni/port = 3777").unwrap().port, 3777);
        assert_eq!(parse("").unwrap().port, 3200);
    }

    #[test]
    fn a_comment_may_be_of_any_encoding_and_a_value_that_is_needed_may_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("DEFAULT.PFL");
        fs::write(&file, b"# \xc4nderung\nenque/serverhost = lockhost\n").unwrap();
        assert_eq!(read(file.to_str().unwrap()).unwrap().host, "lockhost");
        fs::write(&file, b"enque/serverhost = l\xf6ck1\n").unwrap();
        let error = format!("{:#}", read(file.to_str().unwrap()).unwrap_err());
        assert!(error.contains("enque/serverhost is not UTF-8"), "{error}");
    }

    #[test]
    fn a_value_may_refer_to_others() {
        let text = "SAPSYSTEM = 07\nSAPGLOBALHOST = ci\nenque/serverhost = $(SAPGLOBALHOST).local\n\
                    enque/serverinst = $$\nenque/encni/port = 33$(SAPSYSTEM)\n";
        let profile = parse(text).unwrap();
        assert_eq!((profile.host.as_str(), profile.port), ("ci.local", 3307));
        assert_eq!(parse("enque/serverinst = $$\nSAPSYSTEM = 07").unwrap().port, 3207);
        assert_eq!(parse("enque/serverhost = a$b$(c").unwrap().host, "a$b$(c");
        let refused = |text| parse(text).unwrap_err().to_string();
        assert!(refused("enque/serverhost = $(NOBODY)").contains("$(NOBODY)"));
        assert!(refused("SAPLOCALHOST = $(SAPLOCALHOST)").contains("leads on and on"));
    }

    #[test]
    fn a_number_that_is_none_is_named() {
        let error = parse("enqueue/table_size = big").unwrap_err().to_string();
        assert!(error.contains("enqueue/table_size = big"), "{error}");
    }
}
