//! `plumb lock show`: who holds what, oldest first, and the removal of what nobody will release.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write};
use std::os::fd::AsFd as _;

use clap::Args;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_engine::{Interrupted, Stop, clock};
use plumb_lock_server::plain;
use plumb_measure::{Span, counted};
use serde_json::{Value, json};

use crate::LockError;
use crate::ask::PATIENCE;
use crate::said::Said;
use crate::target::{Target, TargetOptions};

/// Locks that are asked for at once.
const PAGE: &str = "1000";
/// Removals that are sent together.
const BATCH: usize = 1_000;
/// How long an answer may take and Ctrl-C still be heard meanwhile.
const ANSWER_MAX: Span = Span::from_ms(24 * 3_600_000);

/// Which locks, and what becomes of them.
#[derive(Args, Clone, Debug)]
pub struct ShowOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// Only locks of this owner
    #[arg(long, value_name = "OWNER")]
    pub owner: Option<String>,

    /// Only locks of this user
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,

    /// Only locks with this name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Only locks whose argument begins with this
    #[arg(long, value_name = "TEXT")]
    pub argument: Option<String>,

    /// Show so many of the oldest; 0: all
    #[arg(long, value_name = "N", default_value = "0")]
    pub limit: usize,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,

    /// Remove the locks that are shown, whoever owns them, after asking
    ///
    /// A lock is removed by its name, argument, owner and fence number, so one that was taken
    /// meanwhile stays.
    #[arg(long)]
    pub delete: bool,

    /// Do not ask before removing
    #[arg(long, requires = "delete")]
    pub yes: bool,
}

/// Shows locks.
#[derive(Debug)]
pub struct Show {
    options: ShowOptions,
    interrupted: bool,
}

/// A lock as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    /// Owner, name and argument as bytes, with which it is removed.
    owner: Vec<u8>,
    user: String,
    since_ms: u64,
    name: Vec<u8>,
    argument: Vec<u8>,
    mode: String,
    dialog: u64,
    update: u64,
    inherited: u64,
    fence: u64,
}

impl Shown {
    fn of(said: &Said) -> Option<Self> {
        let Said::Many(fields) = said else {
            return None;
        };
        let [owner, user, since, name, argument, mode, dialog, update, inherited, fence] =
            fields.as_slice()
        else {
            return None;
        };
        Some(Self {
            owner: owner.bytes().to_vec(),
            user: user.text(),
            since_ms: since.number(),
            name: name.bytes().to_vec(),
            argument: argument.bytes().to_vec(),
            mode: mode.text(),
            dialog: dialog.number(),
            update: update.number(),
            inherited: inherited.number(),
            fence: fence.number(),
        })
    }

    fn since(&self) -> String {
        clock::utc(self.since_ms.saturating_mul(1_000_000))
    }

    fn json(&self) -> Value {
        json!({
            "owner": text(&self.owner), "user": self.user, "since": self.since(),
            "since_ms": self.since_ms, "name": text(&self.name),
            "argument": text(&self.argument), "mode": self.mode, "dialog": self.dialog, "update": self.update,
            "inherited": self.inherited > 0, "fence": self.fence,
        })
    }

    fn cells(&self) -> [String; 9] {
        [
            self.since(),
            plain(&self.user),
            plain(&text(&self.owner)),
            self.mode.clone(),
            plain(&text(&self.name)),
            plain(&text(&self.argument)),
            format!("{}/{}", self.dialog, self.update),
            if self.inherited > 0 { "yes" } else { "" }.into(),
            self.fence.to_string(),
        ]
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

const HEAD: [&str; 9] =
    ["since", "user", "owner", "mode", "name", "argument", "dialog/update", "inherited", "fence"];

impl Show {
    /// Shows what `options` ask for, once it runs.
    #[must_use]
    pub fn new(options: ShowOptions) -> Self {
        Self { options, interrupted: false }
    }

    fn show(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), LockError> {
        let target = self.options.target.resolve()?;
        let mut locks = self.locks(&target, stop)?;
        locks.sort_by_key(|lock| (lock.since_ms, lock.fence));
        let all = locks.len();
        if self.options.limit > 0 {
            locks.truncate(self.options.limit);
        }
        if self.options.json {
            let listed: Vec<Value> = locks.iter().map(Shown::json).collect();
            let shown = json!({
                "schema": "plumb.lock-show/1", "server": target.name, "locks": listed, "found": all,
            });
            writeln!(out, "{shown:#}")?;
        } else {
            table(out, &locks)?;
            writeln!(out, "{} of {}", locks.len(), counted(all as u64, "lock"))?;
        }
        if self.options.delete && !locks.is_empty() {
            self.interrupted = !self.agreed(log, locks.len(), stop)?;
            if !self.interrupted {
                self.remove(&target, &locks, (log, stop))?;
            }
        }
        Ok(())
    }

    /// Removes `locks`, and tells how many.
    fn remove(
        &mut self,
        target: &Target,
        locks: &[Shown],
        (log, stop): (Output<'_>, &Stop),
    ) -> Result<(), LockError> {
        let (gone, whole) = remove(target, locks, stop)?;
        self.interrupted = !whole;
        let rest = if whole { "" } else { "; those of the last request may be gone as well" };
        writeln!(log, "{} removed{rest}", counted(gone, "lock"))?;
        Ok(())
    }

    /// Every lock that fits, page by page.
    fn locks(&self, target: &Target, stop: &Stop) -> Result<Vec<Shown>, LockError> {
        let options = &self.options;
        let mut words: Vec<&[u8]> = vec![b"LOCKS", b"COUNT", PAGE.as_bytes()];
        let filters = [("OWNER", &options.owner), ("USER", &options.user), ("NAME", &options.name)];
        for (word, value) in filters {
            if let Some(value) = value {
                words.extend([word.as_bytes(), value.as_bytes()]);
            }
        }
        let fits = |lock: &Shown| {
            let start = options.argument.as_ref();
            start.is_none_or(|start| lock.argument.starts_with(start.as_bytes()))
        };
        let (mut locks, mut cursor) = (Vec::new(), 0);
        loop {
            let text = cursor.to_string();
            let page = [&words[..], &[b"CURSOR", text.as_bytes()]].concat();
            let said = target.ask_one(&page, PATIENCE, stop)?;
            let Said::Many(parts) = &said else {
                return Err(strange(target));
            };
            let [next, Said::Many(listed)] = parts.as_slice() else {
                return Err(strange(target));
            };
            locks.extend(listed.iter().filter_map(Shown::of).filter(fits));
            let next = next.number();
            if next <= cursor {
                return Ok(locks); // zero: that was the last page
            }
            cursor = next;
        }
    }

    /// Asks whoever sits there, unless that was said before; false after an interruption.
    fn agreed(&self, log: &mut dyn Write, count: usize, stop: &Stop) -> Result<bool, LockError> {
        if self.options.yes {
            return Ok(true);
        }
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return Err(LockError::NotAgreed("nobody can be asked here: write --yes as well"));
        }
        match count {
            1 => write!(log, "remove this lock, whoever holds it? [yes/no] ")?,
            _ => write!(log, "remove these {count} locks, whoever holds them? [yes/no] ")?,
        }
        log.flush()?;
        stop.wait_for(stdin.as_fd(), ANSWER_MAX)?;
        if stop.asked() {
            writeln!(log)?;
            return Ok(false);
        }
        let mut line = String::new();
        stdin.read_line(&mut line)?;
        if line.trim() == "yes" {
            return Ok(true);
        }
        Err(LockError::NotAgreed("only the whole word yes removes them"))
    }
}

fn strange(target: &Target) -> LockError {
    let how = "is no lock server of plumb".into();
    LockError::NoAnswer { address: target.name.clone(), how }
}

/// Removes them, those alone that are still what was shown; how many are known to be gone, and whether all
/// was answered before `stop` was asked.
fn remove(target: &Target, locks: &[Shown], stop: &Stop) -> Result<(u64, bool), LockError> {
    // two modes of one owner on one argument may have the same number: it is said once
    let said: BTreeSet<([&[u8]; 3], u64)> = locks
        .iter()
        .map(|lock| ([&*lock.name, &*lock.argument, &*lock.owner], lock.fence))
        .collect();
    let said: Vec<_> = said.into_iter().map(|(lock, fence)| (lock, fence.to_string())).collect();
    let mut gone = 0;
    for batch in said.chunks(BATCH) {
        let words: Vec<[&[u8]; 8]> = batch
            .iter()
            .map(|([name, argument, owner], fence)| {
                let fence = fence.as_bytes();
                [&b"REMOVE"[..], b"LOCK", name, argument, b"OWNER", owner, b"FENCE", fence]
            })
            .collect();
        let commands: Vec<&[&[u8]]> = words.iter().map(|words| &words[..]).collect();
        let answers = match target.ask(&commands, PATIENCE, stop) {
            Err(error) if Interrupted::is_behind(&error) => return Ok((gone, false)),
            answers => answers?,
        };
        gone += answers.iter().map(Said::number).sum::<u64>();
        if let Some(refused) = answers.iter().find(|said| matches!(said, Said::Error(_))) {
            let (address, why) = (target.name.clone(), refused.text());
            return Err(LockError::NotRemoved { address, gone: counted(gone, "lock"), why });
        }
    }
    Ok((gone, true))
}

/// Columns as wide as what is in them.
fn table(out: &mut dyn Write, locks: &[Shown]) -> Result<(), LockError> {
    let rows: Vec<[String; 9]> = locks.iter().map(Shown::cells).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head = HEAD.map(str::to_owned);
    for row in std::iter::once(&head).chain(&rows) {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

impl Verb for Show {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.show(out, log, stop)?)
    }

    fn was_interrupted(&self) -> bool {
        self.interrupted
    }
}
