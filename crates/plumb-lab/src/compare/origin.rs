//! Where blocks come from: those of a variant were measured on one machine, by one version, of one
//! target, and for this experiment.

use std::path::Path;

use plumb_folder::record_digest;
use plumb_measure::RunRecord;

use super::variant_blocks::VariantBlocks;
use crate::LabError;
use crate::experiment::{BlockRecord, OrderRecord};

/// Refuses blocks that do not belong to the others of their variant.
///
/// # Errors
/// [`LabError::Origin`] names the block and what differs.
pub(super) fn check(
    order: &OrderRecord,
    folder: &Path,
    variants: &[VariantBlocks],
) -> Result<(), LabError> {
    for (number, variant) in variants.iter().enumerate() {
        let taken = order.blocks.iter().filter(|it| it.variant == number && it.failed.is_none());
        let blocks: Vec<(&BlockRecord, &RunRecord)> =
            taken.zip(variant.blocks.iter().map(|block| &block.record)).collect();
        for (block, record) in &blocks {
            let of_cell = blocks.iter().find(|(one, _)| one.cell == block.cell);
            let differs = difference(&blocks[0], record, machine)
                .or_else(|| difference(of_cell?, record, aim))
                .map(|difference| (difference, "measure all of them again in one place"));
            let another = || -> Result<_, LabError> {
                let digest = record_digest(&folder.join(&block.folder))?;
                let is_another = block.record.as_ref().is_some_and(|taken| *taken != digest);
                let difference = "its run.json is not the one that this experiment took there";
                let remedy = "copy the folder again from where it was measured";
                Ok(is_another.then(|| (difference.to_owned(), remedy)))
            };
            if let Some((difference, remedy)) = differs.map_or_else(another, |it| Ok(Some(it)))? {
                let (block, variant) = (block.folder.clone(), variant.name.clone());
                return Err(LabError::Origin { block, variant, difference, remedy });
            }
        }
    }
    Ok(())
}

/// A fact of a run: what it is, and its value.
type Known = (&'static str, String);

/// In which of its `facts` a record differs from that of a block before it.
fn difference<const N: usize>(
    (block, before): &(&BlockRecord, &RunRecord),
    record: &RunRecord,
    facts: fn(&RunRecord) -> [Known; N],
) -> Option<String> {
    let (expected, found) = (facts(before), facts(record));
    let (expected, found) = expected.iter().zip(&found).find(|(one, other)| one != other)?;
    Some(format!("{} is {}, and {} in {}", found.0, found.1, expected.1, block.folder))
}

fn machine(record: &RunRecord) -> [Known; 4] {
    [
        ("its host", record.host.name.clone()),
        ("its kernel", record.host.kernel.clone()),
        ("its number of processors", record.host.cpus.to_string()),
        ("its version of plumb", record.plumb.version.clone()),
    ]
}

fn aim(record: &RunRecord) -> [Known; 1] {
    [("its target", target(&record.target.address))]
}

/// Whose an address is, without its port: a server that is started for each block has another each
/// time. Of a socket file only that it is one.
fn target(address: &str) -> String {
    if address.starts_with("unix:") || address.starts_with('/') {
        return "a socket file".into();
    }
    let mut host = String::new();
    let mut rest = address;
    while let Some((before, after)) = rest.split_once(':') {
        host += before;
        let port = after.chars().take_while(char::is_ascii_digit).count();
        if port == 0 {
            host.push(':');
        }
        rest = &after[port..];
    }
    host + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_told_by_its_host_and_not_by_its_port() {
        assert_eq!(target("127.0.0.1:4711"), "127.0.0.1");
        assert_eq!(target("http://web1:8000/shop"), "http://web1/shop");
        assert_ne!(target("db1:5432"), target("db2:5432"));
        assert_eq!(target("unix:/run/a/1.sock"), target("unix:/run/a/2.sock"));
        assert_eq!(target("whatever the command measures"), "whatever the command measures");
    }
}
