//! An experiment that goes on: what is stored of it, and whether that is still what is asked for.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use plumb_lab::{CellRecord, OrderRecord};
use plumb_report::{is_experiment, read_order};

use super::{Asked, changes};
use crate::experiment::{self, Wishes};

/// The file of what was asked for, in the folder of an experiment.
const EXPERIMENT: &str = "experiment.toml";
/// The largest experiment file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// An experiment and what is done of it.
pub(super) struct Stored {
    pub(super) asked: Asked,
    pub(super) order: OrderRecord,
}

/// Reads the experiment in `folder`; `file` is the experiment file when it is named again.
pub(super) fn read(folder: &Path, file: Option<&Path>, wishes: Wishes) -> anyhow::Result<Stored> {
    let shown = folder.display();
    ensure!(
        is_experiment(folder),
        "{shown} is no experiment: name the folder that plumb lab run made (with an order.json in \
         it)"
    );
    let order = OrderRecord::from_json(&read_order(folder)?).with_context(|| shown.to_string())?;
    let Some(extent) = order.extent else {
        bail!("{shown} was measured by an earlier version, which did not write down how to go on");
    };
    let path = folder.join(EXPERIMENT);
    let text = text_of(&path)?;
    if let Some(file) = file {
        let changes = changes::between(&text, &text_of(file)?)
            .with_context(|| format!("{} is no TOML", file.display()))?;
        ensure!(
            changes.is_empty(),
            "{} is not what {shown} was begun with: {}; go on without it, or begin anew",
            file.display(),
            changes.join("; ")
        );
    }
    let changes = experiment::input_changes(&order.inputs);
    ensure!(
        changes.is_empty(),
        "since {shown} was begun {}: put it back as it was and go on in the folder where it was \
         begun, or begin anew",
        changes.join("; ")
    );
    let wishes = Wishes { seed: Some(order.seed), ..wishes };
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut asked = Asked::of(&path, text, name.unwrap_or_default(), wishes)?;
    asked.plan.extent = extent;
    let cells: Vec<CellRecord> = asked.plan.cells.iter().map(|cell| cell.record.clone()).collect();
    let names = asked.plan.variants.iter().map(|variant| &variant.name);
    ensure!(
        cells == order.cells && names.eq(order.variants.iter().map(|variant| &variant.name)),
        "{} and the order.json beside it do not belong together: one of them was altered",
        path.display()
    );
    Ok(Stored { asked, order })
}

/// The text of the file at `path`.
pub(super) fn text_of(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read the experiment {shown}; check the path"))?;
    ensure!(
        read as u64 <= BYTES_MAX,
        "{shown} is no experiment file: it is larger than {BYTES_MAX} bytes"
    );
    String::from_utf8(bytes).with_context(|| format!("{shown} is no UTF-8 text; TOML is"))
}
