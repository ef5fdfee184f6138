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
const EXAMPLE: &str = "deploy/ci/github/workflow.yml";
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
    let example = text(EXAMPLE);
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

/// What stands at `at` in a file of the sources.
fn part(file: &str, at: &str) -> Value {
    let found = documents_of(&sources().join(file))[0].clone();
    found.pointer(at).unwrap_or_else(|| panic!("{file} has no {at}")).clone()
}

/// The script of the action, and that of the template.
fn scripts() -> [(&'static str, String); 2] {
    let script = |file, at| part(file, at).as_str().expect("a script").to_owned();
    [("bash", script(ACTION, "/runs/steps/0/run")), ("sh", script(TEMPLATE, "/.plumb/script/0"))]
}

/// The steps of the example.
fn steps() -> Vec<Value> {
    part(EXAMPLE, "/jobs/measure/steps").as_array().expect("steps").clone()
}

/// The script by which the example has only baselines stay.
fn cleaning() -> String {
    let script = steps().iter().find_map(|step| step["run"].as_str().map(str::to_owned));
    script.expect("the example has one script")
}

#[test]
fn only_the_main_branch_keeps_runs_and_every_branch_gets_them() {
    let cache = part(TEMPLATE, "/.plumb/cache");
    assert_eq!(cache["unprotect"], true, "of another branch GitLab would take another cache");
    assert_eq!(cache["policy"], "$PLUMB_CACHE");
    let policies: Vec<(Value, Value)> = part(TEMPLATE, "/.plumb/rules")
        .as_array()
        .expect("rules")
        .iter()
        .map(|rule| (rule["if"].clone(), rule["variables"]["PLUMB_CACHE"].clone()))
        .collect();
    assert_eq!(part(TEMPLATE, "/.plumb/variables/PLUMB_CACHE"), "pull-push");
    assert_eq!(policies.len(), 2, "{policies:?}");
    assert_eq!(policies[0], ("$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH".into(), Value::Null));
    assert_eq!(policies[1].1, "pull");

    let using = |name: &str| -> Vec<Value> {
        let uses = |step: &Value| step["uses"].as_str().is_some_and(|it| it.starts_with(name));
        steps().into_iter().filter(uses).collect()
    };
    assert_eq!(using("actions/cache@").len(), 0, "it saves whatever the event is");
    assert_eq!(using("actions/cache/restore@").len(), 1);
    let saving = using("actions/cache/save@");
    assert_eq!(saving.len(), 1);
    assert_eq!(saving[0]["if"], "github.event_name == 'push'");
}

#[test]
fn shellcheck_finds_nothing_in_the_scripts() {
    if !Path::new("/usr/bin/shellcheck").exists() {
        let _: Option<()> = allowed(Err("no shellcheck".into()));
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (shell, script) in scripts().into_iter().chain([("bash", cleaning())]) {
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
        // how fast the machine is meanwhile decides the verdict, which is kept whatever it is
        let verdict = read(&job.at("verdict/baseline.xml"));
        let kept = [verdict.contains("<failure "), verdict.contains("<error ")];
        match ended.code {
            Some(0) => assert_eq!(kept, [false, false], "{verdict}"),
            Some(1) => assert_eq!(kept, [true, false], "{verdict}"),
            Some(3) => assert_eq!(kept, [false, true], "{verdict}"),
            _ => panic!("{ended:#?}"),
        }
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

#[test]
fn of_the_runs_that_were_kept_only_baselines_stay() {
    let server = Server::start(&[]);
    let command = format!("net ping {} --count=200 --warmup=0s", server.address);
    let set = [("PLUMB_BASELINE", "main"), ("CI_COMMIT_BRANCH", "main")];
    let job = Job::new();
    job.run("sh", &command, &set).with(0);
    let kept = names_in(&job.at("plumb-runs"));
    assert_eq!(kept.len(), 2, "the run, and that it is a baseline: {kept:?}");
    let earlier = job.at("plumb-runs/2026-01-01T000000Z-net-ping");

    fs::create_dir(&earlier).expect("a folder");
    fs::write(job.at("cleaning"), cleaning()).expect("it can be written");
    ran("bash", &["-e", "cleaning"], job.folder.path(), &[]).with(0);
    assert_eq!(names_in(&job.at("plumb-runs")), kept);

    fs::create_dir(&earlier).expect("a folder");
    job.run("sh", &format!("{command} --out run"), &[]).with(0);
    assert_eq!(names_in(&job.at("plumb-runs")), kept);
}
