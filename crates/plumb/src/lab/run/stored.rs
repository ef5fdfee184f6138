//! An experiment that goes on: what is stored of it, and whether that is still what is asked for.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use plumb_experiment::{changes_between, inputs};
use plumb_folder::{ExperimentFolder, is_experiment, read_order};
use plumb_lab::{CellRecord, OrderRecord, VariantRecord};
use plumb_wire::secret::MASK;

use super::Asked;
use crate::experiment::{self, Overrides, Plan, Variant, without_secrets};

/// The file of what was asked for, in the folder of an experiment.
const EXPERIMENT: &str = "experiment.toml";
/// The largest experiment file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// An experiment and what is done of it.
pub(super) struct Stored {
    pub(super) asked: Asked,
    pub(super) order: OrderRecord,
}

/// The experiment at `path`, in which nobody else works.
pub(super) fn open(path: &Path) -> anyhow::Result<ExperimentFolder> {
    ensure!(
        is_experiment(path),
        "{} is no experiment: name the folder that plumb lab run made (with an order.json in it)",
        path.display()
    );
    Ok(ExperimentFolder::again(path)?)
}

/// Reads the experiment in `folder`; `file` is the experiment file when it is named again.
pub(super) fn read(
    folder: &ExperimentFolder,
    file: Option<&Path>,
    overrides: Overrides,
) -> anyhow::Result<Stored> {
    let folder = folder.path();
    let shown = folder.display();
    let order = OrderRecord::from_json(&read_order(folder)?).with_context(|| shown.to_string())?;
    let Some(extent) = order.extent else {
        bail!("{shown} was measured by an earlier version, which did not write down how to go on");
    };
    let version = experiment::program().version;
    ensure!(
        order.plumb.version == version,
        "{shown} was begun with plumb {}, and this is plumb {version}: go on with that one, or begin \
         anew",
        order.plumb.version
    );
    let path = folder.join(EXPERIMENT);
    let stored = text_of(&path)?;
    as_it_was(&path, order.asked.as_deref(), &stored)?;
    let mut text = stored.clone();
    if let Some(file) = file {
        text = text_of(file)?; // it has the secrets that a record has not
        let changes = changes_between(&stored, &plumb_experiment::without_secrets(&text))
            .with_context(|| format!("{} is no TOML", file.display()))?;
        ensure!(
            changes.is_empty(),
            "{} is not what {shown} was begun with: {}; go on without it, or begin anew",
            file.display(),
            changes.join("; ")
        );
    }
    ensure!(
        file.is_some() || !lacks_secrets(&stored),
        "{shown} does not keep the secrets of its commands: name the experiment file again"
    );
    let overrides = Overrides { seed: Some(order.seed), ..overrides };
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut asked = Asked::of(&path, text, name.unwrap_or_default(), overrides)?;
    asked.plan.extent = extent;
    let mut changes = inputs::changes(&order.inputs);
    changes.extend(experiment::surrounding_changes(&asked.plan, order.surroundings.as_ref()));
    changes.extend(variant_changes(&order, &asked.plan));
    ensure!(
        changes.is_empty(),
        "since {shown} was begun {}: put it back as it was and go on in the folder where it was \
         begun, or begin anew",
        changes.join("; ")
    );
    let cells: Vec<CellRecord> = asked.plan.cells.iter().map(|cell| cell.record.clone()).collect();
    let names = asked.plan.variants.iter().map(|variant| &variant.name);
    ensure!(
        cells == order.cells && names.eq(order.variants.iter().map(|variant| &variant.name)),
        "{} and the order.json beside it do not belong together: one of them was altered",
        path.display()
    );
    Ok(Stored { asked, order })
}

/// Refuses an experiment file at `path` that says something else than the blocks were taken with.
fn as_it_was(path: &Path, asked: Option<&str>, text: &str) -> anyhow::Result<()> {
    let Some(asked) = asked else {
        return Ok(()); // an earlier version wrote down the commands of the variants only
    };
    let changes =
        changes_between(asked, text).with_context(|| format!("{} is no TOML", path.display()))?;
    ensure!(
        changes.is_empty(),
        "{} is not what its blocks were taken with: {}; put it back, or begin anew",
        path.display(),
        changes.join("; ")
    );
    Ok(())
}

/// In what the variants differ from those that the blocks were taken with, in words.
fn variant_changes(order: &OrderRecord, plan: &Plan) -> Vec<String> {
    let of_variant = |(begun, now): (&VariantRecord, &Variant)| {
        let name = &begun.name;
        let none = || "nothing".to_owned();
        let keys = [
            ("command", Some(begun.command.clone()), Some(without_secrets(&now.command))),
            ("before", begun.before.clone(), now.before.as_deref().map(without_secrets)),
            ("after", begun.after.clone(), now.after.as_deref().map(without_secrets)),
        ];
        let changed = keys.into_iter().filter(|(_, was, is)| was != is);
        let said = changed.map(move |(key, was, is)| {
            let (was, is) = (was.unwrap_or_else(none), is.unwrap_or_else(none));
            format!("`{key}` of {name} was `{was}` and is `{is}`")
        });
        said.collect::<Vec<_>>()
    };
    let same_name = |(begun, now): &(&VariantRecord, &Variant)| begun.name == now.name;
    order.variants.iter().zip(&plan.variants).filter(same_name).flat_map(of_variant).collect()
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

/// True where an experiment cannot go on with the `text` of its folder alone.
fn lacks_secrets(text: &str) -> bool {
    text.contains(MASK)
}

/// The command that goes on with the experiment in `folder`, which was begun with `file`.
pub(super) fn goes_on_by(folder: &Path, file: Option<&Path>) -> String {
    let lacks = text_of(&folder.join(EXPERIMENT)).is_ok_and(|text| lacks_secrets(&text));
    let file = file.map_or_else(|| "FILE".into(), |file| file.display().to_string());
    let file = if lacks { format!("{file} ") } else { String::new() };
    format!("plumb lab run {file}--resume {}", folder.display())
}
