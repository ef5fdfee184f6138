//! A unit of work: what several messages do at data servers, committed together.

use std::sync::Arc;

use plumb_measure::Span;
use plumb_serve::database::Statement;

use super::server::Way;
use super::share::Share;
use super::{DataServers, is_read};
use crate::transaction::{
    BackEndAnswer, BackEndRequest, Outside, OutsideError, SqlAnswer, UnitOfWork,
};
use crate::xslt::Stylesheet;
use plumb_queue::ExecutionId;

/// A unit of work over data servers. What is not committed when it is dropped is undone.
///
/// A message that does something at several data servers is committed at one after the other. When
/// one of them is lost between, the message comes again, and what is committed is not done again.
#[derive(Debug)]
pub struct Work {
    servers: Arc<DataServers>,
    way: Way,
    shares: Vec<Share>,
    messages: Vec<Message>,
    /// What was committed before the last message of the unit.
    ended: Vec<(ExecutionId, Result<(), OutsideError>)>,
}

/// A message of the unit.
#[derive(Debug)]
struct Message {
    id: ExecutionId,
    /// It wants no other message in its transaction.
    alone: bool,
    /// Its shares, by their place.
    shares: Vec<usize>,
    /// Where it changes something and needs the answer of that.
    answered: Option<usize>,
    /// Where it changes something.
    changed: Vec<usize>,
}

impl Work {
    pub(super) fn new(servers: Arc<DataServers>, way: Way) -> Self {
        let (shares, messages, ended) = (Vec::new(), Vec::new(), Vec::new());
        Self { servers, way, shares, messages, ended }
    }

    /// Names of the data servers at which something has been done since the last commit.
    pub fn reached(&self) -> impl Iterator<Item = &str> {
        self.shares.iter().map(Share::name)
    }

    /// The share at `server` for the message that is under way.
    fn share(&mut self, server: &str) -> Result<usize, OutsideError> {
        if self.messages.is_empty() {
            self.begin(ExecutionId(0));
        }
        // the only one needs no name: what it is called is known when it is found
        let found = self.servers.find(server)?;
        let name = &found.pool.plan().name;
        let at = match self.shares.iter().position(|share| share.name() == name) {
            Some(at) => at,
            None => {
                self.shares.push(Share::new(found, self.way));
                self.shares.len() - 1
            }
        };
        let Some(message) = self.messages.last_mut() else { return Ok(at) };
        if !message.shares.contains(&at) {
            message.shares.push(at);
            // one that is refused somewhere is undone everywhere: it stands alone everywhere
            let (id, several) = (message.id, message.shares.len() > 1);
            if several && self.way == Way::Recorded {
                for share in &message.shares {
                    self.shares[*share].stand_alone(id)?;
                }
            }
        }
        Ok(at)
    }

    /// Takes note of a change, of which only one kind can be told apart when a message comes again.
    fn note_change(&mut self, at: usize, answered: bool) -> Result<(), OutsideError> {
        let Some(message) = self.messages.last_mut() else { return Ok(()) };
        if !message.changed.contains(&at) {
            message.changed.push(at);
        }
        if answered {
            message.answered.get_or_insert(at);
        }
        match message.answered {
            Some(answered) if message.changed.iter().any(|other| *other != answered) => {
                let (one, other) = (self.shares[answered].name(), self.shares[at].name());
                Err(OutsideError::Refused(format!(
                    "the answer of a statement that changes the data server {one} is used: then \
                     no other one, such as {other}, can be changed by the same message"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The message under way has done all it does.
    fn end_message(&mut self) {
        let Some(message) = self.messages.last() else { return };
        let (id, shares) = (message.id, message.shares.clone());
        let failed = shares.iter().find_map(|share| self.shares[*share].finish(id).err());
        match failed {
            Some(error) if shares.len() > 1 => {
                shares.iter().for_each(|share| self.shares[*share].undo(id));
                self.messages.pop();
                self.ended.push((id, Err(error)));
            }
            // of one share that share tells
            _ => shares.iter().for_each(|share| self.shares[*share].release()),
        }
    }

    /// Ends the transactions of all shares.
    fn commit_shares(&mut self) {
        let mut shares: Vec<Share> = std::mem::take(&mut self.shares);
        shares.iter_mut().for_each(Share::flush);
        let mut results: Vec<(ExecutionId, Result<(), OutsideError>)> = Vec::new();
        let messages = std::mem::take(&mut self.messages);
        for (at, mut share) in shares.into_iter().enumerate() {
            // a message that was not committed before is not committed here
            let missing = messages.iter().find_map(|message| {
                let failed = results.iter().find(|(id, done)| *id == message.id && done.is_err());
                failed.filter(|_| message.shares.contains(&at))
            });
            if let Some((_, Err(error))) = missing {
                share.give_up(&format!("not committed, because of another data server: {error}"));
            }
            results.extend(share.commit());
        }
        for message in messages {
            let mut own = results.iter().filter(|(id, _)| *id == message.id);
            let failed = own.find_map(|(_, done)| done.clone().err());
            self.ended.push((message.id, failed.map_or(Ok(()), Err)));
        }
    }

    fn statement(text: &str, values: &[Option<&str>]) -> Statement {
        let values = values.iter().map(|value| value.map(str::to_owned)).collect();
        Statement { text: text.into(), values }
    }
}

impl Outside for Work {
    fn sql(
        &mut self,
        server: &str,
        text: &str,
        values: &[Option<&str>],
    ) -> Result<SqlAnswer, OutsideError> {
        let at = self.share(server)?;
        let changes = !is_read(text);
        if changes {
            self.note_change(at, true)?;
        }
        let id = self.messages.last().map_or(ExecutionId(0), |message| message.id);
        let answer = self.shares[at].ask(id, &Self::statement(text, values), changes)?;
        let first = match answer.first {
            Some(values) => answer.columns.into_iter().zip(values).collect(),
            None => answer.columns.into_iter().map(|name| (name, None)).collect(),
        };
        Ok(SqlAnswer { changed: answer.changed, first })
    }

    fn sql_later(
        &mut self,
        server: &str,
        text: &str,
        values: &[Option<&str>],
    ) -> Result<(), OutsideError> {
        let at = self.share(server)?;
        self.note_change(at, false)?;
        let id = self.messages.last().map_or(ExecutionId(0), |message| message.id);
        self.shares[at].later(id, Self::statement(text, values))
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        if self.way == Way::Trial && !["GET", "HEAD"].contains(&request.method) {
            return Err(OutsideError::Refused(format!(
                "{} {} could not be undone, so it is not sent; --commit sends it",
                request.method, request.target
            )));
        }
        self.servers.back_ends().call(request)
    }

    fn transform(
        &mut self,
        stylesheet: &Stylesheet,
        document: &[u8],
        patience: Span,
    ) -> Result<Vec<u8>, OutsideError> {
        Ok(self.servers.stylesheets().transform(stylesheet, document, patience)?)
    }
}

impl UnitOfWork for Work {
    fn begin(&mut self, id: ExecutionId) {
        self.end_message();
        // where messages come one by one, none waits for another
        let alone = self.way != Way::Recorded || self.servers.takes_alone(id);
        if alone || self.messages.last().is_some_and(|message| message.alone) {
            self.commit_shares();
        }
        let (shares, changed) = (Vec::new(), Vec::new());
        self.messages.push(Message { id, alone, shares, answered: None, changed });
    }

    fn undo(&mut self) {
        if let Some(message) = self.messages.pop() {
            message.shares.iter().for_each(|share| self.shares[*share].undo(message.id));
        }
    }

    fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)> {
        self.end_message();
        self.commit_shares();
        std::mem::take(&mut self.ended)
    }
}
