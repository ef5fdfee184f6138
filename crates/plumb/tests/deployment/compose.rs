//! The compose file is what its own library takes.

use std::fs;

use serde_json::Value;

use super::credentials::of_go;
use super::{ran, text};
use crate::kit::Ended;
use crate::kit::namespace::allowed;

/// What the library makes of `file`, in a copy of `deploy/` with the files that are made beside it;
/// `Err` says why that is not known.
fn read(file: &str) -> Result<Ended, String> {
    let program = of_go("cmd")?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["compose/secrets", "compose/runs", "nats"] {
        fs::create_dir_all(folder.path().join(name)).expect("a folder");
    }
    let put = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a temporary folder can be written");
    };
    put("compose/compose.yaml", file);
    put("compose/remote.toml", &text("deploy/compose/remote.toml"));
    put("compose/secrets/nats.env", "PLUMB_REMOTE_NKEY=U\n");
    let words = ["-format", "json", "compose.yaml"];
    Ok(ran(&program, &words, &folder.path().join("compose"), &[]))
}

/// The model of the file.
fn model() -> Result<Value, String> {
    Ok(read(&text("deploy/compose/compose.yaml"))?.with(0).json())
}

/// The services of the file.
pub(super) fn services() -> Result<serde_json::Map<String, Value>, String> {
    Ok(model()?["services"].as_object().expect("services").clone())
}

#[test]
fn the_library_takes_the_file_and_refuses_others() {
    let Some(model) = allowed(model()) else { return };
    let names: Vec<&String> = model["services"].as_object().expect("services").keys().collect();
    let expected = ["controller", "nats", "remote-1", "remote-2", "remote-3", "remote-4", "target"];
    assert_eq!(names, expected);
    let file = text("deploy/compose/compose.yaml");
    for (right, wrong) in [
        ("depends_on: [nats]", "depends_on: nats"),
        ("mem_limit: 2g", "memlimit: 2g"),
        ("pids_limit: 1024", "pids_limit: []"),
        ("internal: true", "internal: inside"),
    ] {
        assert!(file.contains(right), "{right}");
        let ended = read(&file.replacen(right, wrong, 1)).expect("it was read before");
        assert_ne!(ended.code, Some(0), "{wrong}");
    }
}

#[test]
fn services_name_what_there_is() {
    let Some(model) = allowed(model()) else { return };
    let there = |kind: &str, name: &str| {
        assert!(model[kind].get(name).is_some(), "{kind}: {name}");
    };
    for service in model["services"].as_object().expect("services").values() {
        for name in service["depends_on"].as_object().into_iter().flat_map(|all| all.keys()) {
            there("services", name);
        }
        for name in service["networks"].as_object().expect("networks").keys() {
            there("networks", name);
        }
        for secret in service["secrets"].as_array().into_iter().flatten() {
            there("secrets", secret["source"].as_str().expect("a name"));
        }
    }
}

#[test]
fn no_service_has_privileges_or_publishes_a_port() {
    let Some(services) = allowed(services()) else { return };
    for (name, service) in services {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"], serde_json::json!(["ALL"]), "{name}");
        let options = serde_json::json!(["no-new-privileges:true"]);
        assert_eq!(service["security_opt"], options, "{name}");
        assert!(!service["mem_limit"].is_null(), "{name}");
        assert_eq!(service["user"], "65532:65532", "{name}");
        for key in ["privileged", "ports", "network_mode", "pid", "cap_add"] {
            assert!(service[key].is_null(), "{name}: {key}");
        }
    }
}

#[test]
fn images_are_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let files = ["compose/compose.yaml", "kubernetes/remotes.yaml", "kubernetes/controller.yaml"];
    for file in files.map(|name| text(&format!("deploy/{name}"))) {
        let images: Vec<&str> =
            file.lines().filter_map(|line| line.trim().strip_prefix("image: plumb:")).collect();
        assert!(!images.is_empty() && images.iter().all(|tag| *tag == version), "{images:?}");
    }
    let containerfile = text("deploy/Containerfile");
    assert!(containerfile.contains(&format!("--build-arg FILE=plumb-{version}-x86_64-linux")));
}
