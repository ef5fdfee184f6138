//! Runs of one plan are known as such, whatever each of them draws.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use crate::kit::http::{Reply, ReplyServer};
use crate::kit::postgres::{PASSWORD, Postgres};
use crate::kit::ui::UiServer;
use crate::kit::{PLUMB, Program, Server, plumb, until};

/// What every load of operations is asked for: so many that each number of connections has its own.
const FEW: &str = "--count=60 --warmup=0s --lag=50s";

/// A command of each kind of measurement but for where its run goes; `NTH` is that of the run.
fn commands(folder: &Path, servers: [&str; 2], site: &ReplyServer, database: &str) -> Vec<String> {
    let [echo, locks] = servers;
    let scenario = format!(
        "name = \"a mix\"\nbase = \"{}\"\n[[scenario]]\nname = \"reader\"\nusers = 2\n\
         iterations = 10\n[[scenario.step]]\nname = \"page\"\nget = \"/page\"\n",
        site.url("")
    );
    fs::write(folder.join("s.toml"), scenario).expect("it can be written");
    let (page, other, messages) = (site.url("/a"), site.url("/b"), site.url(""));
    vec![
        format!("net ping {echo} --connections=2,1 --size=100B,1B {FEW}"),
        format!("net ping {echo} --connections=2 --remotes=local:2 {FEW}"),
        format!("net stream {echo} --for=100ms"),
        format!("http ping {page} {other} --as-given --jtl=NTH-ping.jtl --connections=2,1 {FEW}"),
        "http load s.toml --jtl=NTH-load.jtl --lag=50s".into(),
        format!("flow load {messages} --transaction=t --connections=2,1 {FEW}"),
        format!("lock load pairs {locks} --connections=5,1,4,2,3 {FEW}"),
        format!("lock load sd {locks} --connections=5,1,4,2,3 {FEW}"),
        format!("db ping {database} {FEW}"),
    ]
}

#[test]
fn two_runs_of_a_command_are_of_one_plan_for_baselines_reports_and_trends() {
    let folder = tempdir().expect("a temporary folder");
    let at = folder.path();
    let (echo, locks, database) = (Server::start(&[]), Server::of_locks(), Postgres::start(""));
    let site = ReplyServer::start(|request, _| match request.starts_with("POST") {
        true => Reply::answer(202, "X-Execution-Id: 1\r\n", ""),
        false => Reply::page("hello"),
    });
    let servers = [echo.address.as_str(), locks.address.as_str()];
    let commands = commands(at, servers, &site, &database.url());
    for (number, command) in commands.iter().enumerate() {
        for nth in ["first", "second"] {
            let command = format!("{command} --out=plumb-runs/{number}-{nth}");
            let command = command.replace("NTH", nth);
            let words: Vec<&str> = command.split(' ').collect();
            let told = [("PGPASSWORD", PASSWORD)];
            let ended = Program::start_told(Path::new(PLUMB), &words, at, &told).wait();
            assert!(ended.code != Some(2), "{command}: {ended:#?}");
        }
    }
    let report = plumb(&["report", "plumb-runs", "--json"], at).json();
    let plans = report["plans"].as_array().expect("a list");
    let told = || plans.iter().map(|plan| (&plan["command"], &plan["runs"])).collect::<Vec<_>>();
    assert!(plans.iter().all(|plan| plan["runs"] == 2), "{:#?}", told());
    assert_eq!(plans.len(), commands.len());
    for (number, command) in commands.iter().enumerate() {
        let first = format!("plumb-runs/{number}-first");
        plumb(&["baseline", "set", "main", &first, "--accept-invalid"], at).with(0);
        let ended = plumb(&["baseline", "check", "main"], at);
        assert!(ended.code != Some(2), "{command}: {ended:#?}");
    }
    let app = UiServer::start(&at.join("plumb-runs"), &[]);
    let browser = app.browser();
    until(|| (!browser.get("/").text().contains("The folders are being")).then_some(()));
    let trends = browser.get("/trends").with(200).text();
    assert_eq!(trends.matches("/trend?series=").count(), commands.len(), "{trends}");
}
