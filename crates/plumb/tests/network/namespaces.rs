//! Client and server in network namespaces of their own, as containers have them.

use crate::kit;

use kit::namespace::{ENDS, Namespace, allowed};
use kit::{Program, Server, plumb, record};
use tempfile::tempdir;

/// The address that a server says it listens on.
fn address(server: &Program) -> String {
    let line = server.line();
    line.strip_prefix("listening on ").expect("an address").to_owned()
}

#[test]
fn a_server_in_another_namespace_is_found_and_its_machine_recorded() {
    let Some([here, there]) = allowed(Namespace::pair()) else { return };
    let folder = tempdir().expect("a temporary folder");
    let any = format!("{}:0", ENDS[1]);
    let echo = there.start(&["net", "serve", "--listen", &any], folder.path());
    let samples =
        there.start(&["host", "serve", "--listen", &any, "--every", "10ms"], folder.path());
    let (target, far) = (address(&echo), address(&samples));
    let words = ["net", "ping", &target, "--for", "1300ms", "--delay", "5ms", "--out", "run"];
    let words = [&words[..], &["--host-interval", "50ms", "--far-host", &far]].concat();
    here.start(&words, folder.path()).wait().with(0);
    let record = record(&folder.path().join("run"));
    let result = &record["results"][0];
    assert_eq!(result["host"]["tested"], serde_json::json!([echo.id()]), "{}", result["host"]);
    assert_eq!(record["far"]["address"], far);
    assert!(result["far"]["samples"].as_u64().is_some_and(|samples| samples >= 5), "{result}");
}

#[test]
fn clients_run_in_namespaces_of_their_own() {
    let Some([here, there]) = allowed(Namespace::pair()) else { return };
    let folder = tempdir().expect("a temporary folder");
    let any = format!("{}:0", ENDS[1]);
    let echo = there.start(&["net", "serve", "--listen", &any], folder.path());
    let target = address(&echo);
    let both = [here.path(), there.path()].join(",");
    let words = ["net", "ping", &target, "--clients", "2", "--netns", &both, "--count", "50"];
    let words = [&words[..], &["--out", "run"]].concat();
    here.start(&words, folder.path()).wait().with(0);
    let record = record(&folder.path().join("run"));
    let clients = record["results"][0]["clients"].as_array().expect("a row a client");
    let hosts: Vec<&str> = clients
        .iter()
        .filter_map(|client| client["address"].as_str()?.rsplit_once(':').map(|(host, _)| host))
        .collect();
    assert_eq!(hosts, ENDS, "{clients:#?}");
    assert!(clients.iter().all(|client| client["operations"] == 50), "{clients:#?}");
}

#[test]
fn a_namespace_that_is_not_there_is_named() {
    let server = Server::start(&["--quiet"]);
    let words = ["net", "ping", &server.address, "--netns", "no-such-namespace", "--count", "1"];
    let ended = plumb(&words, std::path::Path::new(".")).with(2);
    assert!(ended.stderr.contains("network namespace no-such-namespace"), "{ended:#?}");
}
