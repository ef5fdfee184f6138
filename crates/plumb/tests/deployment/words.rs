//! Every command line in `deploy/` and in the chapter on many machines is one that `plumb` takes.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::units::FILES;
use super::{compose, kubernetes, text};
use crate::kit::namespace::allowed;
use crate::kit::{Ended, plumb};

/// Files that command lines name, in a folder of their own.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = Self(folder);
        for name in ["options.toml", "app.toml", "settings.toml"] {
            files.put(name, "");
        }
        files
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.at().join(name), text).expect("a temporary folder can be written");
    }

    fn at(&self) -> &Path {
        self.0.path()
    }

    /// Asserts that `plumb` takes the words, none of which is its own name.
    fn taken(&self, words: &[String]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.said(&words).with(0);
    }

    fn said(&self, words: &[&str]) -> Ended {
        plumb(&[words, &["--print-options"]].concat(), self.at())
    }
}

fn words(line: &str) -> Vec<String> {
    shlex::split(line).unwrap_or_else(|| panic!("`{line}` is not closed"))
}

#[test]
fn units_start_what_there_is() {
    let files = Files::new();
    let environment = text("deploy/systemd/remote.env");
    let set = |name: &str| {
        let values = environment.lines().filter_map(|line| line.split_once('='));
        values
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .next_back()
            .expect("it is set")
    };
    for unit in FILES {
        let unit = text(&format!("deploy/systemd/{unit}"));
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/plumb "));
        let line = line
            .expect("a command")
            .replace("%H", "web1")
            .replace("%d", &files.at().display().to_string())
            .replace("${PLUMB_NATS_URL}", set("PLUMB_NATS_URL"))
            .replace("$PLUMB_REMOTE_OPTIONS", set("PLUMB_REMOTE_OPTIONS"));
        let words = words(&line);
        files.taken(&words);
    }
}

#[test]
fn containers_start_what_there_is() {
    let files = Files::new();
    let started = |words: &Value, options: &str| {
        let words = words.as_array().expect("words").iter().filter_map(Value::as_str);
        let mut words: Vec<String> =
            words.map(|word| word.replace("$(INDEX)", "7").replace("$(NODE)", "node7")).collect();
        for word in &mut words {
            *word = word.replace("/etc/plumb/remote.toml", options);
        }
        files.taken(&words);
    };
    files.put("compose.toml", &text("deploy/compose/remote.toml"));
    for (name, service) in allowed(compose::services()).into_iter().flatten() {
        if name != "nats" {
            started(&service["command"], "compose.toml");
        }
    }
    for manifest in ["remotes", "controller"] {
        let documents = kubernetes::documents(manifest);
        for document in &documents {
            if let Some(options) = document.pointer("/data/remote.toml").and_then(Value::as_str) {
                files.put("kubernetes.toml", options);
            }
        }
        for pod in documents.iter().filter_map(|document| document.pointer("/spec/template/spec")) {
            let container = &pod["containers"][0];
            if container["name"] != "nats" {
                started(&container["args"], "kubernetes.toml");
            }
        }
    }
}

#[test]
fn the_chapter_on_many_machines_shows_what_there_is() {
    let files = Files::new();
    let chapter = text("docs/ten-machines.md").replace("\\\n", " ");
    let lines = chapter.lines().filter_map(|line| line.strip_prefix("    plumb "));
    let mut seen = 0;
    for line in lines {
        let words = words(line);
        seen += 1;
        files.taken(&words);
    }
    assert!(seen >= 5, "{seen}");
    assert_eq!(files.said(&["net", "ping", "db1", "--no-such-option"]).code, Some(2));
}
