//! The profile that `enqt` is given: where the lock server is.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, bail};

/// The first port of a server; its instance number is added.
const FIRST_PORT: u16 = 3200;
/// The parameters that name the host, the first that is there counts.
const HOSTS: [&str; 2] = ["enque/serverhost", "SAPLOCALHOST"];
/// The parameters that name the instance, the first that is there counts.
const INSTANCES: [&str; 2] = ["enque/serverinst", "SAPSYSTEM"];

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
    let text = fs::read_to_string(path).with_context(|| {
        format!("cannot read the profile {path}; name a readable file with pf=PROFILE")
    })?;
    parse(&text).with_context(|| format!("in the profile {path}"))
}

/// `name = value` lines; `#` begins a comment.
fn parse(text: &str) -> anyhow::Result<Profile> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let values: BTreeMap<&str, &str> = lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let first = |names: &[&str]| names.iter().find_map(|name| values.get(name).copied());
    let port = match (values.get("enque/encni/port"), first(&INSTANCES)) {
        (Some(port), _) => number(port, "enque/encni/port")?,
        (None, Some(instance)) => FIRST_PORT + number::<u16>(instance, "enque/serverinst")? % 100,
        (None, None) => FIRST_PORT,
    };
    let table_kib = first(&["enqueue/table_size", "enque/table_size"])
        .map(|text| number(text, "enqueue/table_size"))
        .transpose()?;
    let host = first(&HOSTS).unwrap_or("127.0.0.1").to_owned();
    Ok(Profile { host, port, table_kib })
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
    fn a_number_that_is_none_is_named() {
        let error = parse("enqueue/table_size = big").unwrap_err().to_string();
        assert!(error.contains("enqueue/table_size = big"), "{error}");
    }
}
