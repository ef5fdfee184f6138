//! Scenarios that tests write, and what came of them.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::http::{Reply, ReplyServer};
use super::{Ended, PLUMB, Program};

/// The user of an application server that names none.
const WHO: [(&str, &str); 2] = [("PLUMB_HTTP_USER", "demo"), ("PLUMB_HTTP_PASSWORD", "demo")];

/// A folder with `text` as its scenario `s.toml`.
pub(crate) fn scenario(text: &str) -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    fs::write(folder.path().join("s.toml"), text).expect("it can be written");
    folder
}

/// Plays the scenario at `path` in `folder`.
pub(crate) fn play(path: &Path, words: &[&str], folder: &Path) -> Ended {
    let path = path.display().to_string();
    let words = [&["http", "load", &path, "--lag", "10s"], words].concat();
    Program::start_told(Path::new(PLUMB), &words, folder, &WHO).wait()
}

/// Plays `s.toml` of `folder`.
pub(crate) fn play_in(folder: &Path, words: &[&str]) -> Ended {
    play(&folder.join("s.toml"), words, folder)
}

/// The record of `text`, played to its end with `code`.
pub(crate) fn played(text: &str, words: &[&str], code: i32) -> Value {
    let folder = scenario(text);
    play_in(folder.path(), &[words, &["--json"]].concat()).with(code).json()
}

/// What stands at `path` of a record.
pub(crate) fn field<'a>(value: &'a Value, path: &str) -> &'a Value {
    value.pointer(path).unwrap_or_else(|| panic!("no {path} in {value:#}"))
}

/// The part of the only result with this name.
pub(crate) fn part<'a>(record: &'a Value, name: &str) -> &'a Value {
    let parts = field(record, "/results/0/parts").as_array().expect("a list");
    parts
        .iter()
        .find(|part| part["name"] == name)
        .unwrap_or_else(|| panic!("no {name}: {parts:#?}"))
}

/// What the verdict on the only result says.
pub(crate) fn reasons(record: &Value) -> String {
    let reasons = field(record, "/results/0/validity/reasons").as_array().expect("a list");
    reasons.iter().filter_map(|reason| reason["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// `text` with `site` as its server.
pub(crate) fn with_base(site: &ReplyServer, text: &str) -> String {
    format!("base = \"{}\"\n{text}", site.url(""))
}

/// A site with a list of `n` details, and the details.
pub(crate) fn list_of(n: usize) -> ReplyServer {
    ReplyServer::start(move |head, _| {
        if head.starts_with("GET /list") {
            let items: Vec<String> = (0..n).map(|id| format!("{{\"id\":\"{id}\"}}")).collect();
            return Reply::page(&format!("{{\"items\":[{}]}}", items.join(",")));
        }
        let id = head.split_whitespace().nth(1).and_then(|path| path.strip_prefix("/detail/"));
        match id {
            Some(id) => Reply::page(&format!("detail {id}")),
            None => Reply::answer(404, "", "no"),
        }
    })
}
