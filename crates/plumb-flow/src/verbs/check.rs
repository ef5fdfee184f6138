//! `plumb flow check`: what is wrong with transactions, before anything runs.

use std::path::{Path, PathBuf};

use clap::Args;
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_measure::Span;

use crate::transactions::Transactions;
use plumb_data::DataServers;
use plumb_transaction::xslt::{Stylesheets, XsltLimits};
use plumb_transaction::{Mode, Transaction};

/// In which a stylesheet has to be compiled.
const STYLESHEET_TIME: Span = Span::from_ms(10_000);

/// What to check.
#[derive(Args, Clone, Debug)]
pub struct CheckOptions {
    /// A transaction, or a folder of them
    #[arg(value_name = "PATH")]
    pub path: PathBuf,

    /// Log on to the data servers and have them say what is wrong with statements; nothing is done
    /// there
    #[arg(long)]
    pub connect: bool,
}

/// Checking as a job.
#[derive(Debug)]
pub struct Check {
    options: CheckOptions,
    problems: usize,
}

impl Check {
    /// Takes the options.
    #[must_use]
    pub fn new(options: CheckOptions) -> Self {
        Self { options, problems: 0 }
    }
}

impl Verb for Check {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, _: &Stop) -> Result<(), JobError> {
        let mut transactions = Transactions::read(&self.options.path)?;
        let stylesheets = Stylesheets::new(XsltLimits::default());
        transactions.check_stylesheets(&stylesheets, STYLESHEET_TIME);
        let outside = self.outside(&transactions);
        // whoever stops reading still gets the exit code
        self.problems = transactions.problems().len() + outside.len();
        for transaction in transactions.all() {
            writeln!(out, "{}", outline(transaction))?;
        }
        for problem in transactions.problems() {
            writeln!(out, "{problem}")?;
        }
        for problem in &outside {
            writeln!(out, "{problem}")?;
        }
        let right = transactions.all().count();
        match self.problems {
            0 => writeln!(out, "{right} checked, nothing found")?,
            found => writeln!(out, "{found} to mend")?,
        }
        Ok(())
    }

    fn has_findings(&self) -> bool {
        self.problems > 0
    }
}

impl Check {
    /// What is wrong with data servers and back ends, and with what transactions reach of them.
    fn outside(&self, transactions: &Transactions) -> Vec<String> {
        let CheckOptions { path, connect } = &self.options;
        let folder = if path.is_file() { path.parent() } else { Some(path.as_path()) };
        let folder = folder.filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let servers = match DataServers::read(folder) {
            Ok(servers) => servers,
            Err(problem) => return vec![problem],
        };
        let mut problems = Vec::new();
        for transaction in transactions.all() {
            let found = match connect {
                true => servers.problems_at_servers(transaction),
                false => servers.problems_of(transaction),
            };
            let path = folder.join(format!("{}.toml", transaction.name));
            problems.extend(found.iter().map(|problem| format!("{}: {problem}", path.display())));
        }
        problems
    }
}

/// One line: name, mode, parameters, calls.
fn outline(transaction: &Transaction) -> String {
    let mode = match transaction.mode {
        Mode::Sync => "sync",
        Mode::Async => "async",
    };
    let parameters: Vec<String> = transaction
        .parameters()
        .map(|(name, required)| format!("{name}{}", if required { " (required)" } else { "" }))
        .collect();
    let calls: Vec<&str> = transaction.calls().into_iter().map(|(name, _)| name).collect();
    let mut line = format!("{}: {mode}", transaction.name);
    if !parameters.is_empty() {
        line += &format!("; parameters {}", parameters.join(", "));
    }
    if !calls.is_empty() {
        line += &format!("; calls {}", calls.join(", "));
    }
    line
}
