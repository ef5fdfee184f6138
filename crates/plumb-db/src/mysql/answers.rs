//! What a session is asked, and its answers: whole ones, row by row, and what they report of the session.

use crate::answer::{Limits, NoAnswer};

use crate::client::Trouble;

use super::channel::refused;
use super::session::Session;
use plumb_sql::mysql::{self as wire, Done, Prepared, Refusal, can};

/// Has the server report every system variable of the session that changes.
const REPORT_CHANGES: &str = "SET SESSION session_track_system_variables = '*'";
/// Transactions of the session may not write, unless they say otherwise: each statement that stands alone
/// is one.
const READ_ONLY: &str = "SET SESSION TRANSACTION READ ONLY";
/// What the server calls that, by its age.
const READ_ONLY_NAMES: [&[u8]; 2] = [b"tx_read_only", b"transaction_read_only"];

/// What an answer brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brought {
    /// Answers that have columns, be their rows none.
    pub(super) tables: u32,
    pub(super) rows: u64,
    /// Bytes of the rows.
    pub(super) bytes: u64,
    /// It ended within a transaction that may not write.
    pub(super) was_read_only: bool,
    /// The server has warnings of it.
    pub(super) has_warnings: bool,
}

/// Whether the session's transactions are read-only, if the end of an answer reports that this changed.
fn reported(done: &Done<'_>) -> Option<bool> {
    let changed = done.variables().filter(|(name, _)| READ_ONLY_NAMES.contains(name));
    changed.last().map(|(_, value)| value == b"ON" || value == b"1")
}

impl Session {
    /// Asks to be read-only. Two messages, one way there and back.
    ///
    /// # Errors
    /// [`Trouble`]. A server that is too old to report does not, which is no failure and no promise.
    pub(super) async fn promise(&mut self) -> Result<(), Trouble> {
        wire::query(&mut self.channel.outbox, REPORT_CHANGES);
        wire::query(&mut self.channel.outbox, READ_ONLY);
        self.channel.send().await?;
        for _ in [REPORT_CHANGES, READ_ONLY] {
            match self.done().await {
                Ok(_) | Err(Trouble::Refused(..)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    /// False when it was read-only and is not any more.
    pub(super) fn keeps_its_promise(&self) -> bool {
        self.reports_read_only != Some(false)
    }

    /// Carries out a statement without rows.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn order(&mut self, text: &str) -> Result<Brought, Trouble> {
        wire::query(&mut self.channel.outbox, text);
        self.channel.send().await?;
        self.done().await
    }

    /// The rows of a statement that is asked as text.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn rows_of(
        &mut self,
        text: &str,
        limits: Limits,
    ) -> Result<Vec<Vec<Option<String>>>, NoAnswer<Trouble>> {
        wire::query(&mut self.channel.outbox, text);
        self.channel.send().await?;
        let mut rows = Vec::new();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let read = |row: &[u8]| rows.push(wire::texts(row).map(|it| it.map(text)).collect());
        self.answer(limits, read).await?;
        Ok(rows)
    }

    /// Has a statement prepared.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn prepare(&mut self, text: &str) -> Result<Prepared, Trouble> {
        wire::prepare(&mut self.channel.outbox, text);
        self.channel.send().await?;
        let (payload, _) = self.channel.packet().await?;
        if let Some(refusal) = Refusal::read(payload) {
            return Err(refused(&refusal));
        }
        let prepared = Prepared::read(payload).ok_or(Trouble::Garbled)?;
        self.definitions(prepared.parameters.into()).await?;
        self.definitions(prepared.columns.into()).await?;
        Ok(prepared)
    }

    /// Passes over so many definitions of columns.
    async fn definitions(&mut self, count: u64) -> Result<(), Trouble> {
        let ends = count > 0 && !self.ends_like_everything();
        for _ in 0..count + u64::from(ends) {
            self.channel.packet().await?;
        }
        Ok(())
    }

    /// True when rows end with the message that ends everything else.
    fn ends_like_everything(&self) -> bool {
        self.can & can::DEPRECATE_EOF != 0
    }

    fn tracks(&self) -> bool {
        self.can & can::SESSION_TRACK != 0
    }

    /// Reads an answer without rows.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn done(&mut self) -> Result<Brought, Trouble> {
        let tracks = self.tracks();
        let (payload, _) = self.channel.packet().await?;
        if let Some(refusal) = Refusal::read(payload) {
            return Err(refused(&refusal));
        }
        let done = Done::read(payload, tracks).filter(|_| payload.first() == Some(&0));
        let done = done.ok_or(Trouble::Garbled)?;
        let (was_read_only, has_warnings) = (done.is_read_only(), done.warnings > 0);
        let brought = Brought { was_read_only, has_warnings, ..Brought::default() };
        self.reports_read_only = reported(&done).or(self.reports_read_only);
        Ok(brought)
    }

    /// Reads the whole answer to a statement, each row of which `row` is shown.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn answer(
        &mut self,
        limits: Limits,
        mut row: impl FnMut(&[u8]),
    ) -> Result<Brought, NoAnswer<Trouble>> {
        self.channel.takes(limits.bytes);
        let mut brought = Brought::default();
        loop {
            let tracks = self.tracks();
            let (payload, _) = self.channel.packet().await.map_err(too_large)?;
            if let Some(refusal) = Refusal::read(payload) {
                return Err(refused(&refusal).into());
            }
            let is_followed = if payload.first() == Some(&0) {
                let done = Done::read(payload, tracks).ok_or(NoAnswer::Unexpected)?;
                let (is_followed, said) = (done.is_followed(), reported(&done));
                self.reports_read_only = said.or(self.reports_read_only);
                is_followed
            } else {
                let columns = wire::columns(payload).ok_or(NoAnswer::Unexpected)?;
                brought.tables += 1;
                self.definitions(columns).await?;
                self.rows(limits, &mut brought, &mut row).await?
            };
            if !is_followed {
                return Ok(brought);
            }
        }
    }

    /// Reads rows to their end; true when another answer of the same statement follows.
    async fn rows(
        &mut self,
        limits: Limits,
        brought: &mut Brought,
        row: &mut impl FnMut(&[u8]),
    ) -> Result<bool, NoAnswer<Trouble>> {
        let (like_everything, tracks) = (self.ends_like_everything(), self.tracks());
        loop {
            let (payload, _) = self.channel.packet().await.map_err(too_large)?;
            if let Some(refusal) = Refusal::read(payload) {
                return Err(refused(&refusal).into());
            }
            if wire::ends_rows(payload, like_everything) {
                let done = match like_everything {
                    true => Done::read(payload, tracks),
                    false => Done::read_old(payload),
                };
                let done = done.ok_or(NoAnswer::Unexpected)?;
                let (is_followed, said) = (done.is_followed(), reported(&done));
                self.reports_read_only = said.or(self.reports_read_only);
                return Ok(is_followed);
            }
            brought.rows += 1;
            brought.bytes += payload.len() as u64;
            row(payload);
            limits.check(brought.rows, brought.bytes)?;
        }
    }
}

fn too_large(trouble: Trouble) -> NoAnswer<Trouble> {
    match trouble {
        Trouble::TooLong => NoAnswer::TooLarge,
        other => NoAnswer::Driver(other),
    }
}
