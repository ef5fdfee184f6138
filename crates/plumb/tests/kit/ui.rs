//! `plumb ui` over a folder of runs, and a browser's part by hand.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;

use super::web::{Reply, Web};
use super::{PATIENCE, Program};

/// The app, ended with the test.
#[derive(Debug)]
pub(crate) struct UiServer {
    pub(crate) program: Program,
    /// Host and port.
    pub(crate) address: String,
    /// What is to be opened, with the secret.
    pub(crate) url: String,
}

impl UiServer {
    /// The app over the folder `runs`, on a free port of 127.0.0.1.
    pub(crate) fn start(runs: &Path, words: &[&str]) -> Self {
        let runs = runs.to_str().expect("a plain path");
        Self::ready(Program::start(&[&["ui", runs], words].concat(), Path::new(".")))
    }

    /// The app that `program` becomes.
    pub(crate) fn ready(program: Program) -> Self {
        let line = program.line();
        let address = line.strip_prefix("listening on ").expect("an address").to_owned();
        let line = program.line();
        let url = line.strip_prefix("open ").expect("what to open").to_owned();
        Self { program, address, url }
    }

    /// The secret behind the `#`.
    pub(crate) fn token(&self) -> &str {
        self.url.split_once('#').expect("a fragment").1
    }

    /// A browser that is logged on.
    pub(crate) fn browser(&self) -> Browser {
        let mut browser = Browser { address: self.address.clone(), cookie: String::new() };
        let form = format!("secret={}", self.token());
        let reply = browser.post("/session", &form).with(303);
        let set = reply.header("set-cookie");
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
        browser.cookie = set.split(';').next().expect("a pair").to_owned();
        browser
    }
}

/// What a browser sends.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    pub(crate) address: String,
    pub(crate) cookie: String,
}

impl Browser {
    /// Reads `path`.
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[("Host", &self.address), ("Cookie", &self.cookie)], "")
    }

    /// Sends a form from a page of the app.
    pub(crate) fn post(&self, path: &str, form: &str) -> Reply {
        let origin = format!("http://{}", self.address);
        let headers =
            [("Host", self.address.as_str()), ("Cookie", &self.cookie), ("Origin", &origin)];
        self.ask("POST", path, &headers, form)
    }

    /// Sends exactly these headers, on a connection of its own.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut web = Web::connect(&self.address);
        let mut head = format!("{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head += &format!("{name}: {value}\r\n");
        }
        web.raw(format!("{head}\r\n{body}").as_bytes());
        web.answer().expect("the server answers")
    }
}

impl UiServer {
    /// The events of `path`.
    pub(crate) fn events(&self, browser: &Browser, path: &str) -> Events {
        let stream = TcpStream::connect(&self.address).expect("the app listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
        let (host, cookie) = (&browser.address, &browser.cookie);
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
        (&stream).write_all(head.as_bytes()).expect("the app reads");
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).expect("an answer");
        assert!(status.contains(" 200 "), "{status}");
        Events(lines)
    }
}

/// Server-sent events, in their order.
#[derive(Debug)]
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// The data of the next event called `name`; others are passed over.
    pub(crate) fn next(&mut self, name: &str) -> String {
        let mut found = false;
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).expect("an event in time");
            assert!(read > 0, "the stream ended before an event `{name}`");
            if line.trim_end() == format!("event: {name}") {
                found = true;
            } else if let Some(data) = line.strip_prefix("data: ")
                && found
            {
                return data.trim_end().to_owned();
            }
        }
    }
}
