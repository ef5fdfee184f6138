//! The image holds one file and runs it as nobody in particular.

use std::fs;
use std::path::Path;

use super::package::program;
use super::{ran, sources};
use crate::kit::Ended;
use crate::kit::foreign::installed;
use crate::kit::namespace::allowed;

/// Runs buildah with everything that it keeps in `folder`.
fn buildah(words: &[&str], folder: &Path) -> Ended {
    let [kept, running] = ["kept", "running"].map(|name| folder.join(name).display().to_string());
    let own = ["--root", &kept, "--runroot", &running, "--storage-driver", "vfs"];
    ran("buildah", &[&own, words].concat(), folder, &[])
}

fn usable() -> Result<(), String> {
    installed("buildah", "buildah")?;
    installed("strip", "binutils")?;
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err("only root mounts images".into())
    }
}

#[test]
fn the_image_is_one_file() {
    if allowed(usable()).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let context = folder.path().join("context");
    fs::create_dir(&context).expect("a folder");
    let program = program(folder.path());
    fs::copy(&program, context.join("a-program")).expect("the program can be copied");
    let file = sources().join("deploy/Containerfile").display().to_string();
    let context = context.display().to_string();
    let words =
        ["build", "--isolation", "chroot", "--build-arg", "FILE=a-program", "--file", &file];
    buildah(&[&words[..], &["--tag", "plumb:tried", &context]].concat(), folder.path()).with(0);

    let container = buildah(&["from", "plumb:tried"], folder.path()).with(0).stdout;
    let container = container.trim();
    let about = buildah(&["inspect", container], folder.path()).with(0).json();
    let config = &about["OCIv1"]["config"];
    assert_eq!(config["User"], "65532:65532");
    assert_eq!(config["Entrypoint"], serde_json::json!(["/plumb"]));
    let mounted = buildah(&["mount", container], folder.path()).with(0).stdout;
    let content = fs::read_dir(mounted.trim()).expect("the image").filter_map(Result::ok);
    let mut names: Vec<String> =
        content.filter_map(|it| it.file_name().into_string().ok()).collect();
    names.sort();
    assert_eq!(names, ["plumb", "runs"]);
    if std::env::var_os("PLUMB_TEST_GUEST_PROGRAM").is_some() {
        // the program under test needs libraries, the one static file nothing
        let words = ["run", "--isolation", "chroot", container, "--", "/plumb", "--version"];
        let said = buildah(&words, folder.path()).with(0).stdout;
        assert_eq!(said.trim(), concat!("plumb ", env!("CARGO_PKG_VERSION")));
    }
    buildah(&["rm", container], folder.path()).with(0);
}
