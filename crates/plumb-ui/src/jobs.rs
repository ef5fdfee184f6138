//! Commands that are started from the page: one at a time, of this very program, with words that no
//! shell sees. They end with the app.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use plumb_engine::clock;
use plumb_measure::Span;
use plumb_serve::Pieces;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::live::event;

/// Commands that are remembered.
const JOBS_MAX: usize = 20;
/// Lines that are kept of what one says, the last ones, and bytes of each.
const LINES_MAX: usize = 400;
const LINE_MAX: u64 = 2_000;
/// Files that are offered.
const FILES_MAX: usize = 200;
/// The longest time for a server of a checkup.
const LENGTH_MAX_NS: u64 = 600_000_000_000;
/// Between two looks at what one says.
const PAUSE: Duration = Duration::from_millis(300);
/// Looks in all; a browser that is still there asks again.
const LOOKS_MAX: u32 = 12_000;
/// Names the process with which a command ends that was started here.
const STARTER: &str = "PLUMB_STARTER";

/// Why nothing was started.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotStarted {
    #[error("this app only looks: start it without --read-only")]
    ReadOnly,
    #[error("a command is under way: one measurement at a time, so that none meets another")]
    Busy,
    #[error("there is no file `{0}` in the folder of --experiments")]
    NoFile(String),
    #[error("`{0}` is no time for a checkup: write one from 1s to 10m")]
    Length(String),
    #[error("cannot start: {0}")]
    System(String),
}

/// Commands that were started.
#[derive(Debug)]
pub(crate) struct Jobs {
    program: PathBuf,
    runs: PathBuf,
    files: Option<PathBuf>,
    read_only: bool,
    jobs: Mutex<VecDeque<Arc<Job>>>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Job {
    /// From one.
    pub(crate) id: u64,
    /// Behind `plumb`.
    pub(crate) words: Vec<String>,
    /// Its folder, below that of the runs.
    pub(crate) folder: String,
    /// When it began, in UTC.
    pub(crate) started: String,
    state: Mutex<JobState>,
}

#[derive(Debug, Default)]
struct JobState {
    lines: VecDeque<String>,
    /// All that there were.
    said: usize,
    process: Option<Pid>,
    ended: Option<String>,
}

impl Jobs {
    pub(crate) fn new(
        program: PathBuf,
        runs: PathBuf,
        files: Option<PathBuf>,
        read_only: bool,
    ) -> Self {
        Self { program, runs, files, read_only, jobs: Mutex::default() }
    }

    /// True when nothing may be started, and nothing of the folders changed.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The files that may be started, by their names in the folder that was named for them.
    pub(crate) fn files(&self) -> Vec<String> {
        let Some(folder) = &self.files else { return Vec::new() };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let names = plain.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| name.ends_with(".toml") && !name.starts_with('.')).collect();
        names.sort();
        names.truncate(FILES_MAX);
        names
    }

    /// All of them, the latest first.
    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        self.lock().iter().cloned().collect()
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Job>> {
        self.lock().iter().find(|job| job.id == id).cloned()
    }

    /// True when what writes into `folder` has not ended.
    pub(crate) fn is_under_way(&self, folder: &str) -> bool {
        self.lock().iter().any(|job| job.folder == folder && job.ended().is_none())
    }

    /// Starts a checkup that takes `length` for each server.
    ///
    /// # Errors
    /// [`NotStarted`].
    pub(crate) fn checkup(
        &self,
        landscape: Option<&str>,
        length: &str,
    ) -> Result<Arc<Job>, NotStarted> {
        let length: Span = length
            .parse()
            .ok()
            .filter(|it: &Span| (1_000_000_000..=LENGTH_MAX_NS).contains(&it.ns()))
            .ok_or_else(|| NotStarted::Length(length.chars().take(40).collect()))?;
        let mut words = vec!["checkup".to_owned(), format!("--for={length}")];
        if let Some(name) = landscape {
            words.push(format!("--target={}", self.file(name)?));
        }
        self.start(words, "checkup")
    }

    /// Starts the experiment of a file.
    ///
    /// # Errors
    /// [`NotStarted`].
    pub(crate) fn experiment(&self, name: &str) -> Result<Arc<Job>, NotStarted> {
        let words = ["lab", "run", &self.file(name)?].map(str::to_owned).to_vec();
        self.start(words, name.trim_end_matches(".toml"))
    }

    /// The path of a file that is offered under this very name, which so leads nowhere else.
    fn file(&self, name: &str) -> Result<String, NotStarted> {
        let unknown = || NotStarted::NoFile(name.chars().take(80).collect());
        let folder = self.files.as_ref().ok_or_else(unknown)?;
        if !self.files().iter().any(|known| known == name) {
            return Err(unknown());
        }
        folder.join(name).to_str().map(str::to_owned).ok_or_else(unknown)
    }

    fn start(&self, mut words: Vec<String>, stem: &str) -> Result<Arc<Job>, NotStarted> {
        if self.read_only {
            return Err(NotStarted::ReadOnly);
        }
        let mut jobs = self.lock();
        if jobs.front().is_some_and(|job| job.ended().is_none()) {
            return Err(NotStarted::Busy);
        }
        let started = clock::utc(clock::wall_ns());
        let stem: String =
            stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let folder = self.free(&format!("{}-{stem}", started.replace(':', "")));
        let out = self.runs.join(&folder);
        let path = out.to_str().ok_or_else(|| {
            NotStarted::System(format!("{} is not UTF-8: name another folder", out.display()))
        })?;
        words.push(format!("--out={path}"));
        let job = Arc::new(Job {
            id: jobs.front().map_or(1, |job| job.id + 1),
            words,
            folder,
            started,
            state: Mutex::default(),
        });
        let (told, began) = std::sync::mpsc::channel();
        let (program, runs, running) = (self.program.clone(), self.runs.clone(), Arc::clone(&job));
        // the thread that starts a process is the one with which it ends
        std::thread::spawn(move || match spawn(&program, &runs, &running.words) {
            Ok(child) => {
                running.lock().process = Some(Pid::from_child(&child));
                let _ = told.send(Ok(()));
                running.hear(child);
            }
            Err(error) => {
                let _ = told.send(Err(error));
            }
        });
        let began = began.recv().unwrap_or_else(|_| Err(io::Error::other("no thread")));
        began.map_err(|error| NotStarted::System(error.to_string()))?;
        jobs.push_front(Arc::clone(&job));
        jobs.truncate(JOBS_MAX);
        Ok(job)
    }

    /// A name that is free in the folder of the runs.
    fn free(&self, stem: &str) -> String {
        let names = (1..1_000).map(|number| match number {
            1 => stem.to_owned(),
            more => format!("{stem}-{more}"),
        });
        let mut names = names.filter(|name| !self.runs.join(name).exists());
        names.next().unwrap_or_else(|| stem.to_owned())
    }

    /// Ends what is under way, and waits for it as long as somebody has patience.
    pub(crate) fn end(&self, patience: Duration) {
        let under_way: Vec<Arc<Job>> =
            self.all().into_iter().filter(|job| job.ended().is_none()).collect();
        under_way.iter().for_each(|job| job.stop(Signal::TERM));
        let (never, waits) = std::sync::mpsc::channel::<()>();
        let looks = patience.as_millis() / 50;
        for _ in 0..looks {
            if under_way.iter().all(|job| job.ended().is_some()) {
                return;
            }
            let _ = waits.recv_timeout(Duration::from_millis(50));
        }
        drop(never);
        under_way.iter().for_each(|job| job.stop(Signal::KILL));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spawn(program: &Path, runs: &Path, words: &[String]) -> io::Result<Child> {
    Command::new(program)
        .args(words)
        .current_dir(runs.parent().filter(|it| it.is_dir()).unwrap_or(runs))
        .env(STARTER, std::process::id().to_string())
        .env_remove(crate::options::PASSWORD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0) // what comes from a terminal is for the app alone
        .spawn()
}

impl Job {
    fn lock(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it ended, in words; `None` while it goes on.
    pub(crate) fn ended(&self) -> Option<String> {
        self.lock().ended.clone()
    }

    /// The last lines that it said.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lock().lines.iter().cloned().collect()
    }

    /// Sends it a signal, unless it has ended: its number is another's then.
    pub(crate) fn stop(&self, signal: Signal) {
        let state = self.lock();
        if let (Some(process), None) = (state.process, &state.ended) {
            // it may be ending right now
            let _ = kill_process(process, signal);
        }
    }

    /// Takes all that `child` says, and waits for its end.
    fn hear(&self, mut child: Child) {
        let (out, err) = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|threads| {
            threads.spawn(|| self.take(err));
            self.take(out);
        });
        // both are closed: it has ended, or has nothing more to say. Its number stays its own until
        // somebody has waited for it, which is done with the lock: nobody signals another process
        let waited = rustix::process::waitid(
            rustix::process::WaitId::Pid(Pid::from_child(&child)),
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
        );
        let mut state = self.lock();
        let ended = match waited {
            Ok(_) => child.wait().map_or_else(|error| error.to_string(), words_of),
            Err(error) => error.to_string(),
        };
        state.ended = Some(ended);
    }

    fn take(&self, stream: Option<impl Read>) {
        let Some(stream) = stream else { return };
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            match (&mut stream).take(LINE_MAX).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            let mut state = self.lock();
            state.said += 1;
            state.lines.push_back(line);
            if state.lines.len() > LINES_MAX {
                state.lines.pop_front();
            }
        }
    }

    /// The lines behind the first `told`, how many there are now, and how it ended.
    fn since(&self, told: usize) -> (Vec<String>, usize, Option<String>) {
        let state = self.lock();
        let new = state.said.saturating_sub(told).min(state.lines.len());
        let skipped = state.lines.len() - new;
        (state.lines.iter().skip(skipped).cloned().collect(), state.said, state.ended.clone())
    }
}

/// How a process of ours ended.
fn words_of(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "it ran (0)".to_owned(),
        (Some(1), _) => "it ran, with findings (1)".to_owned(),
        (Some(2), _) => "it did not run (2)".to_owned(),
        (Some(3), _) => "it ran, and something could not be answered (3)".to_owned(),
        (Some(130), _) => "stopped (130)".to_owned(),
        (Some(code), _) => format!("ended with {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Sends what `job` says until it has ended, the client has gone, or `stopped` says so.
pub(crate) async fn follow(job: Arc<Job>, pieces: Pieces, stopped: impl Fn() -> bool) {
    let mut told = 0;
    for look in 0..LOOKS_MAX {
        let (lines, said, ended) = job.since(told);
        told = said;
        let mut news: Vec<Bytes> =
            lines.iter().map(|line| event("line", &json!(line).to_string())).collect();
        if let Some(ended) = &ended {
            news.push(event("ended", &json!(ended).to_string()));
        } else if look % 40 == 39 {
            news.push(Bytes::from_static(b": still here\n\n"));
        }
        if !news.is_empty() && pieces.send(Bytes::from(news.concat())).await.is_err() {
            return;
        }
        if ended.is_some() || stopped() {
            break;
        }
        tokio::select! {
            () = pieces.gone() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    // whoever is gone needs no end
    let _ = pieces.end().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(files: Option<&Path>) -> Jobs {
        Jobs::new("/bin/false".into(), "/tmp".into(), files.map(Into::into), false)
    }

    #[test]
    fn only_files_that_are_offered_are_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("a.toml"), "").unwrap();
        fs::write(path.join("b.txt"), "").unwrap();
        fs::write(path.join(".c.toml"), "").unwrap();
        fs::create_dir(path.join("d.toml")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path.join("e.toml")).unwrap();
        let jobs = jobs(Some(path));
        assert_eq!(jobs.files(), ["a.toml"]);
        assert!(jobs.file("a.toml").unwrap().ends_with("/a.toml"));
        for name in
            ["", ".", "b.txt", ".c.toml", "d.toml", "e.toml", "../a.toml", "./a.toml", "/a.toml"]
        {
            assert_eq!(jobs.file(name), Err(NotStarted::NoFile(name.into())), "{name}");
        }
        assert_eq!(self::jobs(None).file("a.toml"), Err(NotStarted::NoFile("a.toml".into())));
    }

    #[test]
    fn what_may_not_be_started_is_not() {
        for length in ["", "0s", "1 hour", "11m", "--for", "999999999h", "500ms"] {
            let refused = jobs(None).checkup(None, length).unwrap_err();
            assert_eq!(refused, NotStarted::Length(length.into()));
        }
        let only_looks = Jobs { read_only: true, ..jobs(None) };
        assert_eq!(only_looks.checkup(None, "2s").unwrap_err(), NotStarted::ReadOnly);
        let nothing = Jobs { program: "/nowhere".into(), ..jobs(None) };
        assert!(matches!(nothing.checkup(None, "2s").unwrap_err(), NotStarted::System(_)));
        assert!(nothing.all().is_empty());
    }

    #[test]
    fn a_terminal_tells_its_end_to_nobody_who_was_started_here() {
        let mut child = spawn(Path::new("/bin/true"), Path::new("/tmp"), &[]).unwrap();
        let process = Pid::from_child(&child);
        assert_eq!(rustix::process::getpgid(Some(process)).unwrap(), process);
        child.wait().unwrap();
    }

    #[test]
    fn of_what_is_said_the_last_lines_are_kept() {
        let job = Job {
            id: 1,
            words: Vec::new(),
            folder: String::new(),
            started: String::new(),
            state: Mutex::default(),
        };
        let text: String = (0..LINES_MAX + 5).map(|at| format!("{at}\n")).collect();
        job.take(Some((text + &"x".repeat(5_000)).as_bytes()));
        let lines = job.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES_MAX, "8"));
        assert!(lines.iter().all(|line| line.len() <= 2_000));
        let (new, said, ended) = job.since(LINES_MAX + 6);
        assert_eq!((new.len(), said, ended), (2, LINES_MAX + 8, None));
    }
}
