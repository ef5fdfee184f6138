//! An integration runtime that is killed within a batch: each message that it accepted is one row.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tempfile::TempDir;

use crate::cutter::Cutter;
use crate::flow_shared::served_folder;
use crate::kit::postgres::{Postgres, psql};
use crate::kit::{Program, Server, until};

const MESSAGES: usize = 60;

fn folder(data: &str) -> TempDir {
    served_folder(data, "[retry]\ntimes = 1000\ninterval = \"100ms\"\n")
}

fn serve(folder: &Path) -> Server {
    let words = ["flow", "serve", "flows", "--settings", "settings.toml", "--queue", "queue"];
    let words = [&words[..], &["--listen", "127.0.0.1:0"]].concat();
    Server::ready(Program::start(&words, folder))
}

/// Kills a runtime while the end of a batch is held, on its way to the server or on its way back.
fn killed(held: impl Fn(&Cutter) -> &AtomicBool) {
    let server = Postgres::start("");
    psql(&server.url(), "CREATE TABLE parts (part text)");
    let cutter = Cutter::start(&server.address);
    cutter.holds.store(true, Ordering::SeqCst);
    let folder = folder(&cutter.address);
    let flow = serve(folder.path());
    held(&cutter).store(true, Ordering::SeqCst);
    for number in 0..MESSAGES {
        let body = format!("<ORDER><ITEM>{number}</ITEM></ORDER>");
        let headers = [("Content-Type", "application/xml")];
        drop(flow.web().ask("POST", "/runner/rows", &headers, body.as_bytes()).with(202));
    }
    until(|| (!held(&cutter).load(Ordering::SeqCst)).then_some(()));
    flow.kill();
    let again = serve(folder.path());
    let counted = || psql(&server.url(), "SELECT count(*) FROM parts");
    until(|| (counted() == MESSAGES.to_string()).then_some(()));
    until(|| (waiting(&again) == 0).then_some(()));
    let parts = psql(&server.url(), "SELECT part FROM parts");
    let parts: Vec<&str> = parts.lines().collect();
    let each: BTreeSet<&str> = parts.iter().copied().collect();
    assert_eq!((parts.len(), each.len()), (MESSAGES, MESSAGES), "{parts:?}");
    assert_eq!(executions(&again, "failed").len(), 0);
    again.stop().with(0);
}

fn executions(server: &Server, state: &str) -> Vec<Value> {
    let target = format!("/manager?state={state}");
    let reply = server.web().ask("GET", &target, &[("Accept", "application/json")], b"").with(200);
    let page: Value = serde_json::from_str(&reply.text()).expect("it is JSON");
    page["executions"].as_array().expect("a list").clone()
}

fn waiting(server: &Server) -> usize {
    executions(server, "waiting").len() + executions(server, "running").len()
}

#[test]
fn before_the_server_has_heard_of_the_commit() {
    killed(|cutter| &cutter.before);
}

#[test]
fn behind_a_commit_that_it_never_heard_of() {
    killed(|cutter| &cutter.after);
}
