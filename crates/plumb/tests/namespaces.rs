//! Client and server in network namespaces of their own, as containers have them.

mod kit;

use kit::namespace::{ENDS, Namespace};
use kit::{Program, record};
use tempfile::tempdir;

/// The address that a server says it listens on.
fn address(server: &Program) -> String {
    let line = server.line();
    line.strip_prefix("listening on ").expect("an address").to_owned()
}

#[test]
fn a_server_in_another_namespace_is_found_and_its_machine_recorded() {
    let [here, there] = match Namespace::pair() {
        Ok(pair) => pair,
        Err(reason) => {
            eprintln!("not tried: {reason}");
            return;
        }
    };
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
