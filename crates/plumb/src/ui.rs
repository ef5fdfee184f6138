//! `plumb ui`: the local web app, with the pages that reports and comparisons are everywhere.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{ArgMatches, FromArgMatches as _};
use plumb_command::{Exit, exit, signals};
use plumb_engine::layer::Verb as _;
use plumb_ui::{Reports, Ui, UiOptions};

use crate::{compare, report};

/// Serves the app until it is stopped.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = UiOptions::from_arg_matches(words)?;
    let program = std::env::current_exe().context("cannot find out which program this is")?;
    let mut ui = Ui::new(options, Box::new(Pages), program)?;
    let stop = signals::stop()?;
    ui.run(&mut io::stdout(), &mut io::stderr(), &stop).map_err(plumb_command::plain)?;
    Ok(Exit::Ran)
}

/// Made by the code of `plumb report` and `plumb compare`.
struct Pages;

impl Reports for Pages {
    fn page(&self, path: &Path) -> Result<String, String> {
        report::page(path).map_err(|error| exit::said(&error))
    }

    fn comparison(&self, runs: &[PathBuf]) -> Result<String, String> {
        compare::page(runs).map_err(|error| exit::said(&error))
    }
}
