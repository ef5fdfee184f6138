//! What the AAA lines say about a host and its recording.

use std::fmt;

use crate::cell::text;

/// Most facts that are kept, and the longest.
const FACTS_MAX: usize = 2_000;
const FACT_BYTES_MAX: usize = 4_096;

/// The operating system of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum System {
    /// Linux, on any processor.
    Linux,
    /// AIX, recorded by `topas_nmon` or the older nmon.
    Aix,
    /// Windows, recorded by its own performance logs.
    Windows,
    /// The file does not say.
    #[default]
    Unknown,
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "Linux",
            Self::Aix => "AIX",
            Self::Windows => "Windows",
            Self::Unknown => "an unknown system",
        })
    }
}

/// The facts of the AAA lines, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    entries: Vec<(String, String)>,
}

impl Facts {
    /// Books `AAA,key,value...`; false when there are too many.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> bool {
        if self.entries.len() == FACTS_MAX {
            return false;
        }
        let short = |cell: &[u8]| text(&cell[..cell.len().min(FACT_BYTES_MAX)]);
        self.entries.push((short(key), short(value)));
        true
    }

    /// Every key and what stands behind it, commas included.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// What stands behind the first `AAA,key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// The first of the values behind `AAA,key`.
    fn first(&self, key: &str) -> Option<&str> {
        let value = self.get(key)?;
        value.split([',', ';']).next().map(str::trim).filter(|value| !value.is_empty())
    }

    /// The name of the host.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.first("host")
    }

    /// The program that recorded, and its version.
    #[must_use]
    pub fn recorder(&self) -> Option<String> {
        let program = self.first("progname")?;
        Some(match self.first("version") {
            Some(version) => format!("{program} {version}"),
            None => program.to_owned(),
        })
    }

    /// The operating system.
    #[must_use]
    pub fn system(&self) -> System {
        let is = |key, value| self.first(key).is_some_and(|first| first.starts_with(value));
        if is("OS", "Linux") {
            System::Linux
        } else if self.get("AIX").is_some() || is("build", "AIX") || is("progname", "topas") {
            System::Aix
        } else if is("OS", "Windows") {
            System::Windows
        } else {
            System::Unknown
        }
    }

    /// The time zone of the host's clock, in words; nmon names none.
    #[must_use]
    pub fn time_zone(&self) -> Option<&str> {
        self.first("timezone")
    }

    /// Processors, as the recorder counted them: of two numbers the second, on AIX those in use, on
    /// Linux on POWER their threads.
    #[must_use]
    pub fn cpus(&self) -> Option<u32> {
        let mut numbers = self.get("cpus")?.rsplit([',', ';']).map(str::trim);
        numbers.find_map(|number| number.parse().ok())
    }

    /// Processors of which the threads are [`cpus`](Self::cpus): on Linux on POWER the first of two
    /// numbers.
    #[must_use]
    pub(crate) fn cores(&self) -> Option<u32> {
        self.get("cpus")?.contains([',', ';']).then(|| self.first("cpus")?.parse().ok())?
    }

    /// Seconds between two snapshots, as announced.
    #[must_use]
    pub fn interval_s(&self) -> Option<u32> {
        self.first("interval")?.parse().ok().filter(|seconds| *seconds > 0)
    }

    /// Snapshots announced.
    #[must_use]
    pub fn snapshots(&self) -> Option<u64> {
        self.first("snapshots")?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(lines: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        for (key, value) in lines {
            assert!(facts.add(key.as_bytes(), value.as_bytes()));
        }
        facts
    }

    #[test]
    fn linux_and_aix_are_told_apart() {
        let linux = facts(&[("progname", "nmon"), ("OS", "Linux,6.1.0,#1 SMP"), ("cpus", "2")]);
        assert_eq!((linux.system(), linux.cpus()), (System::Linux, Some(2)));
        let aix =
            facts(&[("progname", "topas_nmon"), ("version", "TOPAS-NMON"), ("cpus", "512,256")]);
        assert_eq!((aix.system(), aix.cpus()), (System::Aix, Some(256)));
        assert_eq!(aix.recorder().as_deref(), Some("topas_nmon TOPAS-NMON"));
        assert_eq!(facts(&[]).system(), System::Unknown);
    }
}
