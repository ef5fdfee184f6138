//! Runs of two pages, one of them missing, with a file of their operations.

use serde_json::Value;
use tempfile::TempDir;

use super::http::{Reply, ReplyServer};
use super::{only_run, plumb, read, record};

/// The words that every run begins with.
pub(crate) const FIXED: [&str; 4] = ["http", "ping", "--warmup=0s", "--lag=10s"];

/// A page, unless `/gone` is asked for.
pub(crate) fn page(request: &str, _: usize) -> Reply {
    if request.starts_with("GET /gone") {
        Reply::answer(404, "", "no")
    } else {
        Reply::page("hello")
    }
}

/// A run of two pages, one of them missing, with a file of its operations.
pub(crate) fn run(words: &[&str]) -> (TempDir, Value, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let site = ReplyServer::start(page);
    let (good, gone) = (site.url("/a,b"), site.url("/gone"));
    let fixed = ["--as-given", "--jtl", "samples.jtl", "--count=40", &good, &gone];
    plumb(&[&FIXED[..], &fixed, words].concat(), folder.path()).with(1);
    let record = record(&only_run(folder.path()));
    let samples = read(&folder.path().join("samples.jtl"));
    (folder, record, samples)
}
