//! The counters of several recordings beside each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use plumb_nmon::machine_and_counter;

use crate::recording::{JoinedCounter, Together};
use crate::{Shown, figures};

/// The counters that at least two of all recordings have, those of each further machine in a log of
/// Windows for themselves; joined by their names without the machine.
pub(crate) fn of(files: &[Shown]) -> Option<Together> {
    let columns: Vec<Column> = files.iter().flat_map(columns).collect();
    if columns.len() < 2 {
        return None;
    }
    let mut rows: Vec<JoinedCounter> = Vec::new();
    let mut places = BTreeMap::new();
    for (at, column) in columns.iter().enumerate() {
        for (name, unit, found) in &column.counters {
            let row = *places.entry((name, unit)).or_insert(rows.len());
            if row == rows.len() {
                let figures = vec![None; columns.len()];
                rows.push(JoinedCounter { name: name.clone(), unit: (*unit).into(), figures });
            }
            // one of the same name is another one
            rows[row].figures[at].get_or_insert(*found);
        }
    }
    rows.retain(|row| row.figures.iter().flatten().count() >= 2);
    let doubts = files.iter().filter(|file| !file.agrees());
    let doubts = doubts.map(|file| {
        format!("{} holds figures that cannot be true; see below", file.path.display())
    });
    let doubts = doubts.collect();
    (!rows.is_empty()).then(|| Together { names: names(&columns), rows, doubts })
}

/// One machine of one recording.
struct Column {
    file: String,
    path: String,
    machine: String,
    counters: Vec<(String, &'static str, [Option<f64>; 3])>,
}

/// The machines of a file, in their order.
fn columns(shown: &Shown) -> Vec<Column> {
    let path: &Path = &shown.path;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = path.display().to_string();
    let mut all = Vec::new();
    for (recording, _) in shown.recordings() {
        let begin = all.len();
        let first = figures::host(recording);
        for row in recording.summary() {
            let (machine, counter) = machine_and_counter(&row.counter);
            let machine = machine.unwrap_or(&first);
            let known = all[begin..].iter().position(|it: &Column| it.machine == machine);
            let at = known.map_or(all.len(), |known| begin + known);
            if at == all.len() {
                let (file, path) = (file.clone(), path.clone());
                all.push(Column { file, path, machine: machine.into(), counters: Vec::new() });
            }
            let found = [row.stat.average(), row.stat.min(), row.stat.max()];
            all[at].counters.push((counter.to_owned(), row.unit, found));
        }
    }
    all
}

/// The shortest names that tell all columns apart: file, file and machine, path and machine.
fn names(columns: &[Column]) -> Vec<String> {
    let forms: [fn(&Column) -> String; 2] =
        [|it| it.file.clone(), |it| format!("{} {}", it.file, it.machine)];
    for form in forms {
        let names: Vec<String> = columns.iter().map(form).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    columns.iter().map(|it| format!("{} {}", it.path, it.machine)).collect()
}
