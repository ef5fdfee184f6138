//! The manifests are what Kubernetes takes, and their pods may do next to nothing.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{ran, sources, text};
use crate::kit::Ended;
use crate::kit::namespace::allowed;

/// The oldest and the newest version that they are checked against.
const VERSIONS: [&str; 2] = ["1.25", "1.37"];
const MANIFESTS: [&str; 2] = ["remotes", "controller"];

/// Every document of the manifest.
pub(super) fn documents(name: &str) -> Vec<Value> {
    documents_of(&sources().join(format!("deploy/kubernetes/{name}.yaml")))
}

/// Every document of a file in YAML.
pub(super) fn documents_of(file: &Path) -> Vec<Value> {
    let documents = asked(&[&file.display().to_string()]).with(0).json();
    documents.as_array().expect("a list").clone()
}

/// What the reader of manifests says.
fn asked(words: &[&str]) -> Ended {
    let python = std::env::var("PLUMB_TEST_PYTHON")
        .expect("PLUMB_TEST_PYTHON must name a Python that has yaml: run ./test, which sets it up");
    let script = sources().join("crates/plumb/tests/interop/kubernetes.py").display().to_string();
    ran(&python, &[&[script.as_str()], words].concat(), &sources(), &[])
}

/// Whether the schemas take a manifest; `Err` says why that is not known.
fn taken(manifest: &str) -> Result<bool, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("manifest.yaml");
    fs::write(&file, manifest).expect("a temporary folder can be written");
    let ended = asked(&[&[&file.display().to_string(), "--schema"], &VERSIONS[..]].concat());
    match ended.code {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        Some(3) => Err(format!("no schemas of Kubernetes ({})", ended.stdout.trim())),
        _ => panic!("{ended:#?}"),
    }
}

#[test]
fn the_schemas_take_every_document() {
    let manifests = MANIFESTS.map(|name| text(&format!("deploy/kubernetes/{name}.yaml")));
    for (name, manifest) in MANIFESTS.iter().zip(&manifests) {
        let Some(taken) = allowed(taken(manifest)) else { return };
        assert!(taken, "{name}");
    }
    for (right, wrong) in [
        ("completions: 10", "completions: ten"),
        ("backoffLimit: 20", "backofLimit: 20"),
        ("runAsNonRoot: true", "runAsNotRoot: true"),
    ] {
        assert!(manifests[0].contains(right), "{right}");
        assert_eq!(taken(&manifests[0].replace(right, wrong)), Ok(false), "{wrong}");
    }
}

#[test]
fn no_pod_has_privileges_or_writes_into_its_image() {
    let mut pods = 0;
    for name in MANIFESTS {
        let documents = documents(name);
        let templates = documents.iter().filter_map(|document| {
            let spec = document.pointer("/spec/template/spec")?;
            Some((document["metadata"]["name"].to_string(), spec))
        });
        for (name, spec) in templates {
            pods += 1;
            assert_eq!(spec["automountServiceAccountToken"], false, "{name}");
            let user = &spec["securityContext"];
            assert_eq!(user["runAsNonRoot"], true, "{name}");
            assert_eq!(user["seccompProfile"]["type"], "RuntimeDefault", "{name}");
            for key in ["hostNetwork", "hostPID", "hostIPC"] {
                assert_eq!(spec[key], Value::Null, "{name}");
            }
            let volumes = spec["volumes"].as_array().expect("volumes");
            assert!(volumes.iter().all(|volume| volume["hostPath"].is_null()), "{name}");
            for container in spec["containers"].as_array().expect("containers") {
                let may = &container["securityContext"];
                assert_eq!(may["readOnlyRootFilesystem"], true, "{name}");
                assert_eq!(may["allowPrivilegeEscalation"], false, "{name}");
                assert_eq!(may["privileged"], false, "{name}");
                assert_eq!(may["capabilities"], serde_json::json!({"drop": ["ALL"]}), "{name}");
                let limits = &container["resources"]["limits"];
                assert!(limits["memory"].is_string(), "{name}");
                // a share of processor time would stand in the figures
                assert!(limits["cpu"].is_null(), "{name}");
            }
        }
    }
    assert_eq!(pods, 3);
}

#[test]
fn keys_come_from_secrets_and_every_name_is_known() {
    let all = MANIFESTS.map(documents).concat();
    let made = text("deploy/kubernetes/remotes.yaml");
    let named = |kind: &str, name: &str| {
        all.iter().any(|it| it["kind"] == kind && it["metadata"]["name"] == name)
    };
    for spec in all.iter().filter_map(|document| document.pointer("/spec/template/spec")) {
        for volume in spec["volumes"].as_array().expect("volumes") {
            if let Some(name) = volume.pointer("/secret/secretName").and_then(Value::as_str) {
                assert!(made.contains(&format!("create secret generic {name} ")), "{name}");
                assert_eq!(volume["secret"]["defaultMode"], 0o440, "{name}");
            }
            if let Some(name) = volume.pointer("/configMap/name").and_then(Value::as_str) {
                let by_hand = made.contains(&format!("create configmap {name} "));
                assert!(named("ConfigMap", name) || by_hand, "{name}");
            }
        }
        for from in
            spec.pointer("/containers/0/envFrom").and_then(Value::as_array).into_iter().flatten()
        {
            let name = from["secretRef"]["name"].as_str().expect("a secret");
            assert!(made.contains(&format!("create secret generic {name} ")), "{name}");
        }
    }
    // a Secret with its content would stand in files that people share
    assert!(all.iter().all(|document| document["kind"] != "Secret"));
}

#[test]
fn where_remotes_may_go_is_said_twice_and_alike() {
    let documents = documents("remotes");
    let find = |kind: &str| {
        documents.iter().find(|it| it["kind"] == kind && it["metadata"]["name"] == "plumb-remote")
    };
    let options = find("ConfigMap").expect("options")["data"]["remote.toml"].clone();
    let options: toml::Table = options.as_str().expect("text").parse().expect("TOML");
    let allowed: Vec<&str> = options["allow-target"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    let policy = find("NetworkPolicy").expect("a policy");
    let ways = policy["spec"]["egress"].as_array().expect("ways out");
    let targets: Vec<&str> = ways
        .iter()
        .filter_map(|way| way.pointer("/to/0/ipBlock/cidr").and_then(Value::as_str))
        .collect();
    assert_eq!(allowed, targets);
}
