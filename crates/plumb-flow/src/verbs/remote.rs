//! `plumb flow list`, `show`, `retry` and `drop`: the transaction manager of a server, from a
//! command line.

mod client;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_engine::tls::TrustOptions;
use plumb_wire::percent::form_encoded;
use plumb_wire::secret::first_line;
use serde_json::Value;

pub(crate) use self::client::Client;
use crate::FlowError;

/// Which server, and who asks.
#[derive(Args, Clone, Debug)]
pub struct ServerOptions {
    /// The server, such as http://127.0.0.1:50000 or https://HOST:PORT
    #[arg(value_name = "URL")]
    pub url: String,

    /// Log on as this user, with the password of --password-file
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub user: Option<String>,

    /// A file whose first line is the password of --user, or without --user a token
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// Print the answer of the server, JSON
    #[arg(long)]
    pub json: bool,

    /// Who is believed, and who we say we are.
    #[command(flatten)]
    pub trust: TrustOptions,
}

/// Which executions.
#[derive(Args, Clone, Debug)]
pub struct ChoiceOptions {
    /// Of this transaction
    #[arg(long, value_name = "NAME")]
    pub transaction: Option<String>,

    /// Exactly this one
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
}

/// What to list.
#[derive(Args, Clone, Debug)]
pub struct ListOptions {
    /// The server.
    #[command(flatten)]
    pub server: Apart<ServerOptions>,

    /// Which executions.
    #[command(flatten)]
    pub choice: ChoiceOptions,

    /// In this state
    #[arg(long, value_name = "STATE")]
    pub state: Option<StateName>,

    /// Before this one, for the next page
    #[arg(long, value_name = "ID")]
    pub before: Option<String>,

    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub most: u32,
}

/// What to show.
#[derive(Args, Clone, Debug)]
pub struct ShowOptions {
    /// The server.
    #[command(flatten)]
    pub server: Apart<ServerOptions>,

    /// The execution
    #[arg(value_name = "ID")]
    pub id: String,
}

/// What to retry.
#[derive(Args, Clone, Debug)]
pub struct RetryOptions {
    /// The server.
    #[command(flatten)]
    pub server: Apart<ServerOptions>,

    /// Which executions.
    #[command(flatten)]
    pub choice: ChoiceOptions,

    /// Every failed one
    #[arg(long)]
    pub all: bool,

    /// So many a second [default: all at once]
    #[arg(long, value_name = "N")]
    pub rate: Option<u32>,
}

/// What to drop.
#[derive(Args, Clone, Debug)]
pub struct DropOptions {
    /// The server.
    #[command(flatten)]
    pub server: Apart<ServerOptions>,

    /// Which executions.
    #[command(flatten)]
    pub choice: ChoiceOptions,

    /// In this state; needed unless --id names one
    #[arg(long, value_name = "STATE", required_unless_present = "id")]
    pub state: Option<StateName>,

    /// Those of every transaction
    #[arg(long)]
    pub all: bool,
}

/// A state of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateName {
    /// Accepted, or failed and to be tried again.
    Waiting,
    /// Under way.
    Running,
    /// Done, and kept.
    Done,
    /// Failed for the last time.
    Failed,
}

impl StateName {
    fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// What is asked of a manager.
#[derive(Clone, Debug)]
enum Ask {
    List,
    Show,
    Retry,
    Drop,
}

/// Asking a transaction manager as a job.
#[derive(Clone, Debug)]
pub struct AskManager {
    ask: Ask,
    client: Client,
    target: String,
    /// `None`: it is only looked at.
    form: Option<String>,
    json: bool,
}

impl AskManager {
    /// Takes the options of `list`.
    ///
    /// # Errors
    /// [`FlowError`] for a URL or a password file that is none.
    pub fn list(options: &ListOptions) -> Result<Self, FlowError> {
        let mut query = choice(&options.choice);
        query.push(("state", options.state.map_or("all", StateName::word).into()));
        query.push(("most", options.most.to_string()));
        query.extend(options.before.clone().map(|id| ("before", id)));
        let target = format!("/manager?{}", encoded(&query));
        Self::new(Ask::List, &options.server, target, None)
    }

    /// Takes the options of `show`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn show(options: &ShowOptions) -> Result<Self, FlowError> {
        let target = format!("/manager/executions/{}", form_encoded(&options.id));
        Self::new(Ask::Show, &options.server, target, None)
    }

    /// Takes the options of `retry`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn retry(options: &RetryOptions) -> Result<Self, FlowError> {
        let mut form = choice(&options.choice);
        form.extend(options.all.then(|| ("all", "yes".into())));
        form.extend(options.rate.map(|rate| ("rate", rate.to_string())));
        Self::new(Ask::Retry, &options.server, "/manager/retry".into(), Some(encoded(&form)))
    }

    /// Takes the options of `drop`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn drop(options: &DropOptions) -> Result<Self, FlowError> {
        let mut form = choice(&options.choice);
        form.extend(options.all.then(|| ("all", "yes".into())));
        form.extend(options.state.map(|state| ("state", state.word().into())));
        Self::new(Ask::Drop, &options.server, "/manager/drop".into(), Some(encoded(&form)))
    }

    fn new(
        ask: Ask,
        server: &ServerOptions,
        target: String,
        form: Option<String>,
    ) -> Result<Self, FlowError> {
        let secret = server.password_file.as_deref().map(secret).transpose()?;
        let client =
            Client::new(&server.url, &server.trust, server.user.as_deref(), secret.as_deref())?;
        Ok(Self { ask, client, target, form, json: server.json })
    }
}

impl Verb for AskManager {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, _: &Stop) -> Result<(), JobError> {
        let answer = self.client.ask(&self.target, self.form.as_deref())?;
        if self.json {
            writeln!(out, "{answer}")?;
            return Ok(());
        }
        let text = match self.ask {
            Ask::List => listed(&answer),
            Ask::Show => shown(&answer),
            Ask::Retry => counted(&answer, "retried"),
            Ask::Drop => counted(&answer, "dropped"),
        };
        write!(out, "{text}")?;
        Ok(())
    }
}

fn choice(options: &ChoiceOptions) -> Vec<(&'static str, String)> {
    let named = options.transaction.clone().map(|name| ("transaction", name));
    named.into_iter().chain(options.id.clone().map(|id| ("id", id))).collect()
}

fn encoded(pairs: &[(&str, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}={}", form_encoded(value))).collect();
    pairs.join("&")
}

/// The first line of the file at `path`.
pub(crate) fn secret(path: &Path) -> Result<String, FlowError> {
    let text = std::fs::read_to_string(path).map_err(|error| FlowError::unreadable(path, error))?;
    Ok(first_line(&text).to_owned())
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn listed(answer: &Value) -> String {
    let queue = &answer["figures"]["queue"];
    let mut out = format!(
        "in the queue: {} waiting, {} running, {} failed\n",
        queue["waiting"], queue["running"], queue["failed"]
    );
    for it in answer["executions"].as_array().into_iter().flatten() {
        out += &format!(
            "{}  {:7}  {}  {}  {} bytes",
            text(it, "id"),
            text(it, "state"),
            text(it, "accepted"),
            text(it, "transaction"),
            it["bytes"],
        );
        if it["failures"].as_u64().is_some_and(|failures| failures > 0) {
            out += &format!("  failures: {}", it["failures"]);
        }
        if let Some(error) = it["error"].as_str() {
            out += &format!("  {}", printable(error).replace('\n', " "));
        }
        out.push('\n');
    }
    out
}

fn shown(it: &Value) -> String {
    let mut out = format!("{}: {}\n", text(it, "id"), text(it, "state"));
    for name in ["transaction", "version", "accepted", "due", "ended", "order_key", "error"] {
        if let Some(value) = it[name].as_str() {
            out += &format!("{}: {}\n", name.replace('_', " "), printable(value));
        }
    }
    for (name, value) in it["parameters"].as_object().into_iter().flatten() {
        out += &format!("parameter {name}: {}\n", printable(value.as_str().unwrap_or("")));
    }
    for name in ["trace", "message"] {
        if let Some(value) = it[name].as_str().filter(|it| !it.is_empty()) {
            out += &format!("\n{name}:\n{}\n", printable(value).trim_end());
        }
    }
    out
}

fn counted(answer: &Value, what: &str) -> String {
    let count = answer[what].as_u64().unwrap_or(0);
    format!("{} {what}\n", plumb_measure::counted(count, "execution"))
}

/// Without what moves the cursor of a terminal.
fn printable(text: &str) -> String {
    let fine = |char: char| !char.is_control() || char == '\n' || char == '\t';
    text.chars().map(|char| if fine(char) { char } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn executions_are_lines_without_what_moves_a_cursor() {
        let answer = json!({
            "figures": { "queue": { "waiting": 1, "running": 0, "failed": 2 } },
            "executions": [{
                "id": "00000000000000ff", "state": "failed", "accepted": "2026-01-01T00:00:00.000Z",
                "transaction": "a", "bytes": 3, "failures": 4, "error": "no \u{1b}[2J place\nDETAIL: none"
            }]
        });
        assert_eq!(
            listed(&answer),
            "in the queue: 1 waiting, 0 running, 2 failed\n00000000000000ff  failed   2026-01-01T00:00:00.000Z  \
             a  3 bytes  failures: 4  no \u{fffd}[2J place DETAIL: none\n"
        );
        assert_eq!(counted(&json!({ "retried": 1 }), "retried"), "1 execution retried\n");
        let one = json!({ "id": "ff", "state": "done", "trace": "a\nb\n", "message": "" });
        assert_eq!(shown(&one), "ff: done\n\ntrace:\na\nb\n");
    }
}
