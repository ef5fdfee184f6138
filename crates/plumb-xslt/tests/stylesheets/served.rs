//! `plumb flow serve` with stylesheets: which are in force, and what becomes of one that is late.

use std::fs;
use std::io::{self, Read as _, Write};
use std::net::TcpStream;
use std::sync::mpsc;

use plumb_engine::Stop;
use plumb_engine::layer::{Job, Layer as _};
use plumb_flow::Flow;
use plumb_transaction::xslt::XsltLimits;
use tempfile::TempDir;

use crate::survival::children;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

/// Lines that somebody writes, as they come.
struct Lines {
    begun: Vec<u8>,
    whole: mpsc::Sender<String>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            // whoever does not listen any more needs none
            let _ = self.whole.send(line);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lines() -> (Lines, mpsc::Receiver<String>) {
    let (whole, told) = mpsc::channel();
    (Lines { begun: Vec::new(), whole }, told)
}

/// A server of the transactions in a folder.
struct Served<'a> {
    folder: &'a TempDir,
    address: String,
    log: mpsc::Receiver<String>,
}

impl Served<'_> {
    /// Puts a file into the folder, whole: who looks meanwhile sees no half of it.
    fn write(&self, name: &str, text: &str) {
        let beside = self.folder.path().join("file.written");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.folder.path().join("flows").join(name)).unwrap();
    }

    fn log(&self) -> String {
        self.log.recv_timeout(PATIENCE).unwrap()
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// What becomes of the execution that `accepted` names, once it is done or failed.
    fn ended(&self, accepted: &str) -> String {
        let id = accepted.lines().find_map(|line| line.strip_prefix("x-execution-id: ")).unwrap();
        let looks = std::iter::repeat_with(|| self.ask("GET", &format!("/executions/{id}"), ""));
        let done = |it: &String| it.contains("\"failed\"") || it.contains("\"done\"");
        looks.take(100_000).find(done).unwrap()
    }
}

/// Serves `files` with documents of `size` bytes at most while `test` goes on.
fn serve(size: u32, files: &[(&str, &str)], test: impl FnOnce(&Served<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("flows")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join("flows").join(name), text).unwrap();
    }
    let settings = folder.path().join("settings.toml");
    let text =
        format!("[front]\nbody-size = \"{size}B\"\n[retry]\ntimes = 1\ninterval = \"1ms\"\n");
    fs::write(&settings, text).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (flows, queue) = (path("flows"), path("queue"));
    let words = ["serve", &flows, "--settings", settings.to_str().unwrap(), "--queue", &queue];
    let words = [&words[..], &["--listen", "127.0.0.1:0"]].concat();
    let matches = Flow.command().no_binary_name(true).try_get_matches_from(words).unwrap();
    let stop = Stop::new().unwrap();
    let ((mut out, told), (mut log, logged)) = (lines(), lines());
    std::thread::scope(|threads| {
        let serving = threads.spawn(|| {
            let Ok(Job::Verb(mut verb)) = Flow.job(&matches) else { unreachable!("it is a verb") };
            let done = verb.run(&mut out, &mut log, &stop);
            done.map_err(|error| error.to_string()).unwrap();
        });
        let line = told.recv_timeout(PATIENCE).unwrap();
        let address = line.strip_prefix("listening on ").unwrap().to_owned();
        let served = Served { folder: &folder, address, log: logged };
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&served)));
        stop.ask();
        serving.join().unwrap();
        tested.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    });
}

fn sheet(body: &str) -> String {
    format!(
        "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>\n{body}\n\
         </xsl:stylesheet>"
    )
}

/// One that makes a document with this text.
fn making(text: &str) -> String {
    sheet(&format!("<xsl:template match='/'><a>{text}</a></xsl:template>"))
}

const SHOW: &str = "[[action]]\nxslt = \"SHEET\"\n[[action]]\nname = \"all\"\nrepeat = \"/a\"\n\
    assign = { text = \".\" }\ndo = [{ respond = \"${text}\" }]\n";

#[test]
fn a_stylesheet_is_in_force_once_it_is_compiled_and_its_processes_end_with_it() {
    let (one, two) = (SHOW.replace("SHEET", "one.xsl"), SHOW.replace("SHEET", "two.xsl"));
    let files = [
        ("one.toml", &*one),
        ("two.toml", &*two),
        ("one.xsl", &*making("first")),
        ("two.xsl", &*making("second")),
    ];
    // processes of this test are told from others by their memory
    let size = (1 << 20) + 31;
    let memory = XsltLimits { document_bytes: size, processes: 1 }.memory_bytes();
    serve(size, &files, |served| {
        let says = |name: &str| served.ask("POST", &format!("/runner/{name}"), "<b/>");
        assert!(says("one").ends_with("first") && says("two").ends_with("second"));
        // one that was forked for a moment may not have ended
        let mut looks = std::iter::repeat_with(|| children(memory)).take(10_000);
        let before = looks.find(|now| now.len() == 2);
        let left = children(memory);
        assert!(before.is_some(), "each stylesheet has been compiled once: {left:?}");
        let mut before = before.unwrap_or_default();
        // one is right and the other is not: neither comes into force, and nothing is left of them
        served.write("two.xsl", &sheet("<xsl:template match='/'>\n<xsl:value-of/></xsl:template>"));
        served.write("one.xsl", &making("third"));
        let told = served.log();
        let expected = "two.toml: two.xsl: line 3";
        assert!(told.contains("are not in force") && told.contains(expected), "{told}");
        assert!(says("one").ends_with("first") && says("two").ends_with("second"));
        before.sort_unstable();
        let mut looks = std::iter::repeat_with(|| {
            let mut after = children(memory);
            after.sort_unstable();
            after
        });
        assert!(looks.by_ref().take(10_000).any(|after| after == before));
        served.write("two.xsl", &making("fourth"));
        // the two changes of before may have been looked at one by one
        let mut told = std::iter::repeat_with(|| served.log());
        assert!(told.by_ref().take(2).any(|line| line.contains("2 transactions in force")));
        assert!(says("one").ends_with("third") && says("two").ends_with("fourth"));
        let now = children(memory);
        assert!(now.len() == 2 && now.iter().all(|id| !before.contains(id)), "{now:?}");
    });
}

#[test]
fn a_stylesheet_that_is_late_is_stopped_and_tried_again_and_holds_up_nobody() {
    let loops = (0..8).fold("<x/>".to_string(), |inner, _| {
        format!("<xsl:for-each select='//c'>{inner}</xsl:for-each>")
    });
    let busy = format!(
        "<xsl:template match='/b'>{loops}</xsl:template>\
         <xsl:template match='/d'><a>fine</a></xsl:template>"
    );
    let show =
        format!("time-limit = \"500ms\"\npersist = \"always\"\n{}", SHOW.replace("SHEET", "s.xsl"));
    let hostile = format!("<b>{}</b>", "<c/>".repeat(1000));
    serve(1 << 20, &[("show.toml", &show), ("s.xsl", &sheet(&busy))], |served| {
        let late = served.ask("POST", "/runner/show", &hostile);
        assert!(late.starts_with("HTTP/1.1 504 "), "{late}");
        let expected = "s.xsl: it was not done in time, and was stopped (time-limit)";
        assert!(late.contains(expected), "{late}");
        let accepted = served.ask("POST", "/runner/show?mode=async", &hostile);
        let ended = served.ended(&accepted);
        // the first attempt, and one more
        assert!(ended.contains("\"failures\":2") && ended.contains(expected), "{ended}");
        let fine = served.ask("POST", "/runner/show?mode=async", "<d/>");
        assert!(served.ended(&fine).contains("\"done\""));
    });
}
