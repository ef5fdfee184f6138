//! `plumb flow list`, `show`, `retry` and `drop`: the transaction manager of a server, from a
//! command line.

mod client;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_engine::tls::TrustOptions;
use plumb_wire::document::nearest;
use plumb_wire::percent::form_encoded;
use plumb_wire::secret::first_line;
use serde_json::Value;

pub(crate) use self::client::{Client, WHO_ASKS};
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
    /// Whose executions are meant, if those of one transaction.
    transaction: Option<String>,
    /// Executions that are shown at most.
    most: u32,
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
        let list = Self::new(Ask::List, &options.server, target, None)?;
        Ok(Self { most: options.most, ..list.of(&options.choice) })
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
        let (target, form) = ("/manager/retry".into(), Some(encoded(&form)));
        Ok(Self::new(Ask::Retry, &options.server, target, form)?.of(&options.choice))
    }

    /// Takes the options of `drop`.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn drop(options: &DropOptions) -> Result<Self, FlowError> {
        let mut form = choice(&options.choice);
        form.extend(options.all.then(|| ("all", "yes".into())));
        form.extend(options.state.map(|state| ("state", state.word().into())));
        let (target, form) = ("/manager/drop".into(), Some(encoded(&form)));
        Ok(Self::new(Ask::Drop, &options.server, target, form)?.of(&options.choice))
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
        let json = server.json;
        Ok(Self { ask, client, target, form, transaction: None, most: 0, json })
    }

    fn of(self, choice: &ChoiceOptions) -> Self {
        Self { transaction: choice.transaction.clone(), ..self }
    }

    /// Refuses the name of a transaction that the server does not have, and did not have for
    /// anything that is still in its queue; `answer` came to what was asked.
    fn check_name(&self, answer: &Value, stop: &Stop) -> Result<(), FlowError> {
        let Some(name) = &self.transaction else { return Ok(()) };
        let seen = match self.ask {
            // a page behind the last one, or one of a state, may be empty
            Ask::List if !is_empty(answer) => return Ok(()),
            Ask::List => self.overview_of(name, stop)?,
            Ask::Retry | Ask::Drop if count(answer, "retried") + count(answer, "dropped") == 0 => {
                self.overview_of(name, stop)?
            }
            Ask::Show | Ask::Retry | Ask::Drop => return Ok(()),
        };
        unknown(name, &seen).map_or(Ok(()), |it| Err(FlowError::Plan(it)))
    }

    /// What there is of a transaction, whatever was asked for.
    fn overview_of(&self, name: &str, stop: &Stop) -> Result<Value, FlowError> {
        let query = encoded(&[("transaction", name.to_owned()), ("most", "1".into())]);
        self.client.ask(&format!("/manager?{query}"), None, stop)
    }
}

impl Verb for AskManager {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        let answer = self.client.ask(&self.target, self.form.as_deref(), stop)?;
        let text = match self.ask {
            _ if self.json => format!("{answer}\n"),
            Ask::List => listed(&answer, self.most),
            Ask::Show => shown(&answer),
            Ask::Retry => counted(&answer, "retried"),
            Ask::Drop => counted(&answer, "dropped"),
        };
        write!(out, "{text}")?;
        self.check_name(&answer, stop)?;
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

/// What is wrong with the name of a transaction, by an overview of its executions.
fn unknown(name: &str, seen: &Value) -> Option<String> {
    let here = seen["figures"]["transactions"]["names"].as_array().into_iter().flatten();
    let mut here: Vec<&str> = here.filter_map(Value::as_str).collect();
    if here.contains(&name) || !is_empty(seen) {
        return None;
    }
    here.sort_unstable();
    let meant = nearest(name, here);
    let meant = meant.map_or(String::new(), |it| format!("; did you mean `{it}`?"));
    Some(format!("the server has no transaction `{name}`, and no execution of it{meant}"))
}

/// True for an overview without executions.
fn is_empty(seen: &Value) -> bool {
    seen["executions"].as_array().is_some_and(Vec::is_empty)
}

/// An overview; `most` executions were asked for.
fn listed(answer: &Value, most: u32) -> String {
    let queue = &answer["figures"]["queue"];
    let mut out = format!(
        "in the queue: {} waiting, {} running, {} failed\n",
        queue["waiting"], queue["running"], queue["failed"]
    );
    // those fail without having been in the queue, and are listed as others are
    let called = &answer["figures"]["executions"];
    if called["failed"].as_u64().is_some_and(|failed| failed > 0) {
        let (done, failed) = (&called["done"], &called["failed"]);
        out += &format!("synchronous, since the server began: {done} done, {failed} failed\n");
    }
    let executions = answer["executions"].as_array().map_or(&[][..], Vec::as_slice);
    for it in executions {
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
    if let Some(last) = executions.last().filter(|_| executions.len() as u64 >= u64::from(most)) {
        let count = plumb_measure::counted(u64::from(most), "execution");
        out += &format!("{count} at most; for those before: --before {}\n", text(last, "id"));
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
    format!("{} {what}\n", plumb_measure::counted(count(answer, what), "execution"))
}

fn count(answer: &Value, what: &str) -> u64 {
    answer[what].as_u64().unwrap_or(0)
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
            listed(&answer, 2),
            "in the queue: 1 waiting, 0 running, 2 failed\n00000000000000ff  failed   2026-01-01T00:00:00.000Z  \
             a  3 bytes  failures: 4  no \u{fffd}[2J place DETAIL: none\n"
        );
        let more = listed(&answer, 1);
        assert!(
            more.ends_with("\n1 execution at most; for those before: --before 00000000000000ff\n")
        );
        assert_eq!(counted(&json!({ "retried": 1 }), "retried"), "1 execution retried\n");
        let one = json!({ "id": "ff", "state": "done", "trace": "a\nb\n", "message": "" });
        assert_eq!(shown(&one), "ff: done\n\ntrace:\na\nb\n");
    }

    #[test]
    fn executions_that_failed_beside_the_queue_are_counted() {
        let mut answer = json!({
            "figures": {
                "queue": { "waiting": 0, "running": 0, "failed": 0 },
                "executions": { "done": 5, "failed": 200 },
            },
            "executions": [],
        });
        let queue = "in the queue: 0 waiting, 0 running, 0 failed\n";
        let called = "synchronous, since the server began: 5 done, 200 failed\n";
        assert_eq!(listed(&answer, 50), format!("{queue}{called}"));
        answer["figures"]["executions"]["failed"] = 0.into();
        assert_eq!(listed(&answer, 50), queue);
    }

    #[test]
    fn a_transaction_is_unknown_when_the_server_has_neither_it_nor_an_execution_of_it() {
        let names = json!({ "transactions": { "names": ["order", "stock"] } });
        let seen = json!({ "figures": names, "executions": [] });
        assert_eq!(unknown("order", &seen), None);
        let told = unknown("ordr", &seen).unwrap();
        assert!(told.contains("no transaction `ordr`") && told.ends_with("did you mean `order`?"));
        let left = json!({ "figures": names, "executions": [{ "id": "ff" }] });
        assert_eq!(unknown("old", &left), None);
    }
}
