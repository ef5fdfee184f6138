//! `--hgrm`: the distributions of a run as `HdrHistogram` prints them, a file for each row.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use plumb_measure::{RunRecord, hdr, hgrm};

/// Writes the response times of each result, and of each part and group of one, as a table of its
/// own.
pub(super) fn write(record: &RunRecord, folder: &Path) -> anyhow::Result<()> {
    let failed = |path: &Path| format!("cannot write {}; name a folder of yours", path.display());
    fs::create_dir_all(folder).with_context(|| failed(folder))?;
    for (number, result) in (1..).zip(&record.results) {
        let whole = (result.name(), &result.response_ns);
        let parts = result.parts.iter().chain(&result.groups);
        let parts = parts.map(|part| (part.name.clone(), &part.response_ns));
        for (place, (name, times)) in std::iter::once(whole).chain(parts).enumerate() {
            let Some(times) = times else { continue }; // nothing succeeded
            let part = if place == 0 { String::new() } else { format!("-{place}") };
            let path = folder.join(format!("{number}{part}-{}.hgrm", file_name(&name)));
            let histogram = hdr::decode(&times.histogram)
                .with_context(|| format!("the response times of {name} cannot be read"))?;
            fs::write(&path, hgrm::table(&histogram)).with_context(|| failed(&path))?;
        }
    }
    Ok(())
}

/// `name` as far as every file system takes it.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let text: String = name.chars().take(80).map(plain).collect();
    text.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
