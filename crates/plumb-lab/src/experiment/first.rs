//! The first form of an order: one cell, which had no labels.

use plumb_comparison::Better;
use plumb_measure::Program;
use serde::Deserialize;

use super::{BlockRecord, CellRecord, OrderRecord, VariantRecord};
use crate::LabError;

/// Its name.
pub(super) const ORDER_SCHEMA: &str = "plumb.order/1";

#[derive(Deserialize)]
struct First {
    plumb: Program,
    started: String,
    seed: u64,
    #[serde(default)]
    margin: Option<f64>,
    figure: Better,
    variants: Vec<VariantRecord>,
    blocks: Vec<BlockRecord>,
    #[serde(default)]
    cut_short: Option<String>,
}

/// Reads an order of the first form.
pub(super) fn read(text: &str) -> Result<OrderRecord, LabError> {
    let first: First = serde_json::from_str(text)?;
    Ok(OrderRecord {
        schema: super::ORDER_SCHEMA.into(),
        plumb: first.plumb,
        started: first.started,
        seed: first.seed,
        extent: None,
        margin: first.margin,
        cells: vec![CellRecord { better: Some(first.figure), ..CellRecord::default() }],
        variants: first.variants,
        asked: None,
        surroundings: None,
        inputs: Vec::new(),
        blocks: first.blocks, // how one failed was not written down
        cut_short: first.cut_short,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_is_one_cell() {
        let text = r#"{"schema": "plumb.order/1", "plumb": {"version": "0.1.0"},
            "started": "2026-11-21T08:30:48Z", "seed": 7, "figure": "higher",
            "variants": [{"name": "baseline", "command": "echo 1"}],
            "blocks": [{"round": 2, "variant": 0, "folder": "blocks/001-baseline"},
                       {"round": 2, "variant": 0, "folder": "x", "failed": "no luck"}]}"#;
        let order = OrderRecord::from_json(text).unwrap();
        assert_eq!(order.cells[0].better, Some(Better::Higher));
        assert_eq!(order.cells[0].name(), "");
        assert_eq!((order.blocks[0].cell, &order.blocks[0].failed), (0, &None));
        let failed = &order.blocks[1];
        assert_eq!((failed.failed.as_deref(), failed.failure), (Some("no luck"), None));
    }
}
