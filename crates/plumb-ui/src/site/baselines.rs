//! Runs with names: shown, set and forgotten.

use std::error::Error;

use hyper::StatusCode;
use plumb_engine::clock;
use plumb_folder::{Baseline, Baselines, baseline_name, read_record, record_digest};
use plumb_measure::Status;

use super::{Shared, nowhere, trouble};
use crate::answer::Answer;
use crate::pages;

const NOT_ENDED: &str =
    "This run is no baseline: its measurement did not come to its end. Measure again.";

impl Shared {
    pub(super) fn show_baselines(&self) -> Answer {
        match Baselines::read(self.index.folder()) {
            Ok(all) => {
                let unknown: Vec<&str> = all
                    .baselines
                    .iter()
                    .filter(|it| self.folder_of(&it.run).is_none())
                    .map(|it| it.name.as_str())
                    .collect();
                Answer::page("Baselines", &pages::baselines(&all, &unknown, &self.jobs))
            }
            Err(error) => Answer::refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    pub(super) fn set_baseline(&self, name: String, run: &str) -> Answer {
        if let Err(what) = baseline_name(&name) {
            return Answer::refused(StatusCode::BAD_REQUEST, &what);
        }
        let row = match self.index.find(run) {
            Ok(Some(row)) if row.kind == "run" => row,
            Ok(_) => return nowhere(),
            Err(error) => return trouble(&error),
        };
        let path = self.index.folder().join(run);
        // of what is under way there may be no record yet
        let ended = match row.is_under_way() {
            true => Ok(false),
            false => read_record(&path).map(|record| record.status == Status::Complete),
        };
        let refusal = match ended {
            Ok(true) if ["valid", "no latency"].contains(&row.verdict.as_str()) => None,
            Ok(true) => Some(format!(
                "This run is no baseline: its verdict is `{}` ({}). plumb baseline set takes it with \
                 --accept-invalid.",
                row.verdict, row.detail
            )),
            Ok(false) => Some(NOT_ENDED.to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(words) = refusal {
            return Answer::refused(StatusCode::BAD_REQUEST, &words);
        }
        let record = match record_digest(&path) {
            Ok(record) => record,
            Err(error) => return Answer::refused(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let set = clock::utc(clock::wall_ns());
        let plan = format!("{} {}", row.command, row.target);
        let baseline = Baseline { name, run: run.into(), record, set, plan, tolerance: None };
        self.alter_baselines(|all| {
            all.set(baseline);
            Ok(())
        })
    }

    pub(super) fn remove_baseline(&self, name: &str) -> Answer {
        self.alter_baselines(|all| {
            let removed = all.remove(name).map(drop);
            removed.ok_or_else(|| format!("There is no baseline {name}.").into())
        })
    }

    fn alter_baselines(
        &self,
        alter: impl FnOnce(&mut Baselines) -> Result<(), Box<dyn Error>>,
    ) -> Answer {
        match Baselines::alter(self.index.folder(), alter) {
            Ok(()) => Answer::see("/baselines"),
            Err(error) => Answer::refused(StatusCode::BAD_REQUEST, &error.to_string()),
        }
    }
}
