//! The action and the template for pipelines are what their hosts take, and their scripts measure, keep the
//! verdict and end as the program does.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::credentials::of_go;
use super::kubernetes::documents_of;
use super::{ran, sources, text};
use crate::kit::namespace::allowed;
use crate::kit::{Ended, PLUMB, Server, names_in, read};

const ACTION: &str = "deploy/ci/github/action.yml";
const TEMPLATE: &str = "deploy/ci/gitlab/plumb.gitlab-ci.yml";

/// Whether the schema of the host takes a file; `Err` says why that is not known.
fn taken(schema: &str, file: &str) -> Result<bool, String> {
    let python = std::env::var("PLUMB_TEST_PYTHON").expect("PLUMB_TEST_PYTHON: run ./test");
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("file.yml"), file).expect("it can be written");
    let words = ["-m", "check_jsonschema", "--builtin-schema", schema, "file.yml"];
    let ended = ran(&python, &words, folder.path(), &[]);
    match ended.code {
        Some(0) => Ok(true),
        Some(1) if ended.stdout.contains("Schema validation errors") => Ok(false),
        _ if ended.stderr.contains("No module named") => Err("no check-jsonschema".into()),
        _ => panic!("{ended:#?}"),
    }
}

#[test]
fn the_schemas_of_the_hosts_take_both() {
    for (schema, file, right, wrong) in [
        ("vendor.github-actions", ACTION, "using: composite", "using: compote"),
        ("vendor.gitlab-ci", TEMPLATE, "when: always", "when: mostly"),
    ] {
        // the schema looks into jobs that run, not into those that others extend
        let file = text(file).replace("\n.plumb:", "\nplumb:");
        let Some(taken_as_it_is) = allowed(taken(schema, &file)) else { return };
        assert!(taken_as_it_is, "{schema}");
        assert!(file.contains(right), "{right}");
        assert_eq!(taken(schema, &file.replace(right, wrong)), Ok(false), "{wrong}");
    }
}

#[test]
fn the_example_uses_the_action_as_it_is() {
    let Some(lint) = allowed(of_go("actionlint")) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    for name in [".git", ".github/workflows", "deploy/ci/github"] {
        fs::create_dir_all(at(name)).expect("a folder");
    }
    fs::write(at(ACTION), text(ACTION)).expect("it can be written");
    let example = text("deploy/ci/github/workflow.yml");
    let look = |example: &str| {
        fs::write(at(".github/workflows/p.yml"), example).expect("it can be written");
        // labels of runners are everybody's own
        let words = ["-ignore", "label .* is unknown", "-no-color"];
        ran(&lint, &words, folder.path(), &[])
    };
    look(&example).with(0);
    let ended = look(&example.replace("tolerance: 10%", "tolerence: 10%")).with(1);
    assert!(ended.stdout.contains("tolerence"), "{ended:#?}");
}

/// The script of the action, and that of the template.
fn scripts() -> [(&'static str, String); 2] {
    let script = |file: &str, at: &str| {
        let found = documents_of(&sources().join(file))[0].clone();
        found.pointer(at).and_then(Value::as_str).expect("a script").to_owned()
    };
    [("bash", script(ACTION, "/runs/steps/0/run")), ("sh", script(TEMPLATE, "/.plumb/script/0"))]
}

#[test]
fn shellcheck_finds_nothing_in_the_scripts() {
    if !Path::new("/usr/bin/shellcheck").exists() {
        let _: Option<()> = allowed(Err("no shellcheck".into()));
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (shell, script) in scripts() {
        fs::write(folder.path().join("script"), &script).expect("it can be written");
        let words = ["--shell", shell, "script"];
        ran("shellcheck", &words, folder.path(), &[]).with(0);
    }
}

/// A folder in which both scripts are run.
struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (shell, script) in scripts() {
            fs::write(folder.path().join(format!("{shell}.script")), script).expect("a file");
        }
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the script of `shell` with `command`, and with what else it is told.
    fn run(&self, shell: &str, command: &str, further: &[(&str, &str)]) -> Ended {
        let (summary, output) = (self.at("summary"), self.at("output"));
        let (summary, output) = (summary.display().to_string(), output.display().to_string());
        let told = [
            ("PLUMB", PLUMB),
            ("PLUMB_COMMAND", command),
            ("PLUMB_FOLDER", "verdict"),
            ("GITHUB_STEP_SUMMARY", &summary),
            ("GITHUB_OUTPUT", &output),
        ];
        let all = ["PLUMB_BASELINE", "PLUMB_TOLERANCE", "PLUMB_SET_BASELINE", "CI_COMMIT_BRANCH"];
        let empty: Vec<(&str, &str)> = all.iter().map(|name| (*name, "")).collect();
        let told = [&told[..], &empty, further].concat();
        let file = format!("{shell}.script");
        let words: &[&str] = if shell == "bash" { &["-e", &file] } else { &[&file] };
        ran(shell, words, self.folder.path(), &told)
    }
}

#[test]
fn a_script_keeps_the_verdict_and_ends_as_the_program_does() {
    let server = Server::start(&[]);
    for shell in ["bash", "sh"] {
        let job = Job::new();
        let good = format!("net ping '{}' --count=200 \"--warmup=0s\"", server.address);
        job.run(shell, &good, &[]).with(0);
        assert_eq!(names_in(&job.at("verdict")), ["plumb.md", "plumb.sarif", "plumb.xml"]);
        // what stands in the command is words, whatever they look like
        let ended = job.run(shell, "net ping '$(touch harm)' `touch harm`", &[]).with(2);
        assert!(!job.at("harm").exists(), "{ended:#?}");
        let unseen = format!("{good} --host-interval=0s --foreign-limit=5%");
        job.run(shell, &unseen, &[]).with(3);
        assert!(read(&job.at("verdict/plumb.xml")).contains("<error "));
    }
}

#[test]
fn a_script_sets_a_baseline_and_compares_with_it() {
    let server = Server::start(&[]);
    let command = format!("net ping {} --count=200 --warmup=0s", server.address);
    let baseline = [("PLUMB_BASELINE", "main"), ("PLUMB_TOLERANCE", "100%")];
    for (shell, set) in
        [("bash", ("PLUMB_SET_BASELINE", "true")), ("sh", ("CI_COMMIT_BRANCH", "main"))]
    {
        let job = Job::new();
        job.run(shell, &command, &baseline).with(2);
        job.run(shell, &command, &[&baseline[..], &[set]].concat()).with(0);
        assert!(job.at("plumb-runs/baselines.json").exists());
        let ended = job.run(shell, &command, &baseline);
        // a machine that is busy meanwhile may be slower by more than that
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
        let failed = read(&job.at("verdict/baseline.xml")).contains("<failure ");
        assert_eq!(failed, ended.code == Some(1), "{ended:#?}");
        if shell == "bash" {
            let said = read(&job.at("output"));
            let code = ended.code.expect("it ended").to_string();
            assert!(said.ends_with(&format!(
                "exit-code={code}\njunit=verdict/plumb.xml\nsarif=verdict/plumb.sarif\n\
                 summary=verdict/plumb.md\n"
            )));
            assert!(read(&job.at("summary")).contains("### baseline main: "));
        }
    }
}
