//! `plumb flow try`: one message through a transaction, action by action.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Output, Verb};

use crate::FlowError;
use crate::transactions::Transactions;
use plumb_data::{DataServers, Work};
use plumb_transaction::xslt::{Stylesheets, XsltLimits};
use plumb_transaction::{Body, Request, Trace, Traced, UnitOfWork as _, run};

/// Bytes of a message at most.
const MESSAGE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a document that a stylesheet is given, at most.
const DOCUMENT_BYTES_MAX: u32 = 256 << 20;

/// What to try.
#[derive(Args, Clone, Debug)]
pub struct TryOptions {
    /// The transaction: its file without `.toml`
    pub name: String,

    /// The message, an XML or JSON file; `-` reads it from standard input
    pub message: PathBuf,

    /// Where the transactions are
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub transactions: PathBuf,

    /// A parameter of the transaction, repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,

    /// What the message is [default: JSON if it begins with `{` or `[`, else XML]
    #[arg(long = "type", value_name = "TYPE")]
    pub form: Option<Form>,

    /// Keep what was done at the data servers, and send what changes something to back ends
    #[arg(long)]
    pub commit: bool,

    /// Rows of each `repeat` that are shown
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub rows: u64,
}

/// The form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// XML in UTF-8.
    Xml,
    /// JSON.
    Json,
}

/// Trying as a job.
#[derive(Debug)]
pub struct TryOut {
    options: TryOptions,
    parameters: BTreeMap<String, String>,
}

impl TryOut {
    /// Checks the options.
    ///
    /// # Errors
    /// [`FlowError::NotAssigned`].
    pub fn new(options: TryOptions) -> Result<Self, FlowError> {
        let mut parameters = BTreeMap::new();
        for given in &options.parameters {
            let Some((name, value)) = given.split_once('=') else {
                return Err(FlowError::NotAssigned { given: given.clone() });
            };
            parameters.insert(name.to_string(), value.to_string());
        }
        Ok(Self { options, parameters })
    }
}

impl Verb for TryOut {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, _: &Stop) -> Result<(), JobError> {
        let TryOptions { name, message, transactions: folder, .. } = &self.options;
        let transactions = Transactions::read(folder)?;
        let own = format!("{name}.toml");
        let of_it = |path: &Path| path.file_name().is_some_and(|file| *file == *own);
        if let Some(problem) = transactions.problems().iter().find(|it| of_it(&it.path)) {
            return Err(FlowError::Wrong(problem.to_string()).into());
        }
        let Some(transaction) = transactions.find(name) else {
            let nearest = transactions.nearest(name);
            let (name, folder) = (name.clone(), folder.clone());
            return Err(FlowError::Unknown { name, folder, nearest }.into());
        };
        let bytes = read(message)?;
        let body = match self.options.form.unwrap_or_else(|| form_of(&bytes)) {
            Form::Xml => Body::Xml(&bytes),
            Form::Json => Body::Json(&bytes),
        };
        let request = Request { body, parameters: self.parameters.clone() };
        let limits = XsltLimits { document_bytes: DOCUMENT_BYTES_MAX, processes: 1 };
        let servers = DataServers::read(folder).map_err(FlowError::Wrong)?;
        let servers = Arc::new(servers.with_stylesheets(Arc::new(Stylesheets::new(limits))));
        let mut work = if self.options.commit { servers.direct() } else { servers.trial() };
        let mut shown = Shown { out, most: self.options.rows, rows: Vec::new(), failed: None };
        let done =
            run(transaction, &request, &|name| transactions.find(name), &mut work, &mut shown);
        if let Some(error) = shown.failed {
            return Err(error.into());
        }
        let completed = done.map_err(|failed| FlowError::Wrong(format!("{name}: {failed}")))?;
        ended(&mut work, self.options.commit, out)?;
        writeln!(out, "completed: {} {}", completed.status, completed.media_type)?;
        if !completed.text.is_empty() {
            writeln!(out, "{}", completed.text)?;
        }
        Ok(())
    }
}

/// Ends what was done at data servers, and says how.
fn ended(work: &mut Work, commits: bool, out: Output<'_>) -> Result<(), JobError> {
    let reached: Vec<String> = work.reached().map(str::to_owned).collect();
    for (_, done) in work.commit() {
        done.map_err(|error| FlowError::Wrong(format!("not committed: {error}")))?;
    }
    if !reached.is_empty() {
        let ended = if commits { "committed at" } else { "undone (--commit keeps it) at" };
        writeln!(out, "{ended} {}", reached.join(", "))?;
    }
    Ok(())
}

fn form_of(bytes: &[u8]) -> Form {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Form::Json,
        _ => Form::Xml,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FlowError> {
    let unreadable = |error| FlowError::unreadable(path, error);
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let mut bytes = Vec::new();
    source.take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MESSAGE_BYTES_MAX {
        return Err(FlowError::TooLarge { path: path.into(), most: MESSAGE_BYTES_MAX });
    }
    Ok(bytes)
}

/// Writes what each action did, and the first rows of each `repeat`.
struct Shown<'a> {
    out: &'a mut (dyn Write + Send),
    most: u64,
    /// Rows of the repeats that are under way, by their depth.
    rows: Vec<(usize, u64)>,
    failed: Option<std::io::Error>,
}

impl Shown<'_> {
    /// Rows of the repeat at `depth` with this one, or all when it has ended.
    fn row(&mut self, depth: usize) -> u64 {
        self.rows.retain(|(of, _)| *of <= depth);
        match self.rows.last_mut() {
            Some((of, rows)) if *of == depth => {
                *rows += 1;
                *rows
            }
            _ => {
                self.rows.push((depth, 1));
                1
            }
        }
    }

    /// Whether what happens at `depth` belongs to a row that is not shown any more.
    fn is_hidden(&self, depth: usize) -> bool {
        self.rows.iter().any(|(of, rows)| *of < depth && *rows > self.most)
    }
}

impl Trace for Shown<'_> {
    fn wants_answers(&self) -> bool {
        true
    }

    fn traced(&mut self, depth: usize, action: &str, what: Traced<'_>) {
        if self.is_hidden(depth) {
            return;
        }
        match what {
            Traced::Row(_) if self.row(depth) > self.most => return,
            Traced::Rows(_) => self.rows.retain(|(of, _)| *of < depth),
            _ => {}
        }
        let line = writeln!(self.out, "{:width$}{action}: {what}", "", width = 2 * depth);
        if let (Err(error), None) = (line, &self.failed) {
            self.failed = Some(error);
        }
    }
}
