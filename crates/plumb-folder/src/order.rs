//! The blocks of an experiment, as far as a report needs them to tell whose they are.

use plumb_measure::RecordError;
use serde::Deserialize;

/// How the forms of `order.json` are called, whatever their number: all have these fields.
const FORM: &str = "plumb.order/";

/// The variants of an experiment and the places of its blocks.
#[derive(Debug, Deserialize)]
pub(crate) struct Blocks {
    schema: String,
    /// What is compared, in the order of its numbers.
    pub(crate) variants: Vec<VariantName>,
    /// In the order in which they are taken.
    pub(crate) blocks: Vec<BlockPlace>,
}

/// One of the things compared.
#[derive(Debug, Deserialize)]
pub(crate) struct VariantName {
    /// As the experiment calls it.
    pub(crate) name: String,
}

/// One block.
#[derive(Debug, Deserialize)]
pub(crate) struct BlockPlace {
    /// The round, from one.
    pub(crate) round: u64,
    /// Number of the variant, from zero.
    pub(crate) variant: usize,
    /// Its run folder, relative to the experiment.
    pub(crate) folder: String,
    /// The digest of its record; absent where that was not written down.
    #[serde(default)]
    pub(crate) record: Option<String>,
    /// Why it came to nothing; absent when it did not.
    #[serde(default)]
    pub(crate) failed: Option<String>,
}

impl Blocks {
    /// Reads `order.json`.
    pub(crate) fn from_json(text: &str) -> Result<Self, RecordError> {
        let order: Self = serde_json::from_str(text)?;
        if !order.schema.starts_with(FORM) {
            return Err(RecordError::Schema { found: order.schema, reads: "plumb.order/1" });
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_and_what_a_report_does_not_need_is_passed_over() {
        let text = r#"{"schema":"plumb.order/1","seed":5,"variants":[{"name":"a","command":"x"}],
            "blocks":[{"round":1,"variant":0,"folder":"blocks/001-a","failed":"no server"}]}"#;
        let order = Blocks::from_json(text).unwrap();
        assert_eq!(order.variants[0].name, "a");
        assert_eq!(order.blocks[0].failed.as_deref(), Some("no server"));
        let other = text.replace("plumb.order", "somebody.else");
        assert!(Blocks::from_json(&other).unwrap_err().to_string().contains("somebody.else/1"));
        assert!(Blocks::from_json(&text[..60]).is_err());
    }
}
