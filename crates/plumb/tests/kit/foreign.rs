//! Servers that were not written here, in a namespace of their own.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::Program;
use super::namespace::Namespace;

/// A server that is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct Foreign {
    _program: Program,
    _folder: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl Foreign {
    /// nginx on port 80 of `host`, with a page and an image of 4 KiB; `Err` says why not.
    pub(crate) fn nginx(place: &Namespace, host: &str) -> Result<Self, String> {
        installed("nginx", "nginx-light")?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path().display().to_string();
        for name in ["page", "image"] {
            fs::write(folder.path().join(name), "x".repeat(4 << 10)).expect("a file");
        }
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log stderr notice; \
             events {{ worker_connections 256; }} http {{ access_log off; \
             client_body_temp_path {at}/1; proxy_temp_path {at}/2; fastcgi_temp_path {at}/3; \
             uwsgi_temp_path {at}/4; scgi_temp_path {at}/5; \
             server {{ listen {host}:80; root {at}; }} }}"
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, config).expect("a file");
        let words = ["-e", "stderr", "-c", &file.display().to_string()];
        let program = place.start_as("nginx", &words, folder.path());
        // it says on which system it runs once its socket listens
        while !program.log_line().contains("OS: Linux") {}
        Ok(Self { _program: program, _folder: folder, address: format!("{host}:80") })
    }

    /// Redis on port 6379 of `host`; `Err` says why not.
    pub(crate) fn redis(place: &Namespace, host: &str) -> Result<Self, String> {
        Self::redis_at(host, "6379", |words, folder| place.start_as("redis-server", words, folder))
    }

    /// Redis on a free port of 127.0.0.1; `Err` says why not.
    pub(crate) fn redis_here() -> Result<Self, String> {
        let address = super::free_address();
        let (host, port) = address.rsplit_once(':').expect("an address of TCP");
        Self::redis_at(host, port, |words, folder| {
            Program::start_as(Path::new("redis-server"), words, folder)
        })
    }

    fn redis_at(
        host: &str,
        port: &str,
        start: impl Fn(&[&str], &Path) -> Program,
    ) -> Result<Self, String> {
        installed("redis-server", "redis-server")?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let words = ["--port", port, "--bind", host, "--save", "", "--protected-mode", "no"];
        let program = start(&words, folder.path());
        while !program.line().contains("eady to accept connections") {}
        Ok(Self { _program: program, _folder: folder, address: format!("{host}:{port}") })
    }
}

/// Whether a program of this machine is there; `Err` names the package that brings it.
pub(crate) fn installed(program: &str, package: &str) -> Result<(), String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin"]);
    if folders.into_iter().any(|folder| Path::new(folder).join(program).is_file()) {
        return Ok(());
    }
    Err(format!("{program} is not installed (package {package}; ./test installs it)"))
}
