//! A unit of work: what several messages do at data servers, committed together.

use std::sync::Arc;

use plumb_serve::database::Statement;
use plumb_wire::secret::masked_url;

use super::call_key::Calls;
use super::server::CommitMode;
use super::share::Share;
use super::{DataServers, Origin, is_read};
use plumb_queue::ExecutionId;
use plumb_transaction::{
    BackEndAnswer, BackEndRequest, Outside, OutsideError, SessionTimes, SqlAnswer, SqlRequest,
    UnitOfWork, XsltRequest,
};

/// A unit of work over data servers. What is not committed when it is dropped is undone.
///
/// A message that does something at several data servers is committed at one after the other. When
/// one of them is lost between, the message comes again, and what is committed is not done again.
pub struct Work {
    servers: Arc<DataServers>,
    way: CommitMode,
    origin: Arc<Origin>,
    shares: Vec<Share>,
    messages: Vec<Message>,
    /// What was committed before the last message of the unit.
    ended: Vec<(ExecutionId, Result<(), OutsideError>)>,
    /// Of the shares that have ended.
    times: SessionTimes,
    /// What is dropped before anything is waited for.
    kept: Option<Box<dyn Send>>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work")
            .field("way", &self.way)
            .field("shares", &self.shares)
            .finish_non_exhaustive()
    }
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
    /// What it has asked of back ends.
    calls: Calls,
}

impl Work {
    pub(super) fn new(servers: Arc<DataServers>, way: CommitMode, origin: Origin) -> Self {
        let (shares, messages, ended) = (Vec::new(), Vec::new(), Vec::new());
        let (times, origin) = (SessionTimes::default(), Arc::new(origin));
        Self { servers, way, origin, shares, messages, ended, times, kept: None }
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
                self.shares.push(Share::new(found, self.way, Arc::clone(&self.origin)));
                self.shares.len() - 1
            }
        };
        let Some(message) = self.messages.last_mut() else { return Ok(at) };
        if !message.shares.contains(&at) {
            message.shares.push(at);
            // one that is refused somewhere is undone everywhere: it stands alone everywhere
            let (id, several) = (message.id, message.shares.len() > 1);
            if several {
                self.kept = None;
            }
            for share in message.shares.iter().filter(|_| several) {
                match self.way {
                    CommitMode::Recorded => self.shares[*share].stand_alone(id)?,
                    CommitMode::Direct => self.shares[*share].commit_others(id),
                    CommitMode::Trial => {}
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
            self.times = self.times.and(share.times());
        }
        for message in messages {
            let mut own = results.iter().filter(|(id, _)| *id == message.id);
            let failed = own.find_map(|(_, done)| done.clone().err());
            self.ended.push((message.id, failed.map_or(Ok(()), Err)));
        }
    }

    /// The key of a call that may come again, and does something.
    fn call_key(&mut self, request: &BackEndRequest<'_>) -> Option<String> {
        let message = self.messages.last_mut()?;
        let comes_again =
            self.way == CommitMode::Recorded && !["GET", "HEAD"].contains(&request.method);
        comes_again.then(|| message.calls.key((self.origin.queue, message.id), request))
    }

    fn statement(request: &SqlRequest<'_>) -> Statement {
        let values = request.values.iter().map(|value| value.map(str::to_owned)).collect();
        Statement { text: request.text.into(), values }
    }
}

impl Outside for Work {
    fn sql(&mut self, request: &SqlRequest<'_>) -> Result<SqlAnswer, OutsideError> {
        self.kept = None;
        let at = self.share(request.server)?;
        let changes = !is_read(request.text);
        if changes {
            self.note_change(at, true)?;
        }
        let id = self.messages.last().map_or(ExecutionId(0), |message| message.id);
        let answer = self.shares[at].ask(id, &Self::statement(request), changes)?;
        let first = match answer.first {
            Some(values) => answer.columns.into_iter().zip(values).collect(),
            None => answer.columns.into_iter().map(|name| (name, None)).collect(),
        };
        Ok(SqlAnswer { changed: answer.changed, first })
    }

    fn sql_later(&mut self, request: &SqlRequest<'_>) -> Result<(), OutsideError> {
        let at = self.share(request.server)?;
        self.note_change(at, false)?;
        let id = self.messages.last().map_or(ExecutionId(0), |message| message.id);
        if self.way == CommitMode::Trial || !self.shares[at].only_gathers() {
            self.kept = None;
        }
        self.shares[at].later(id, Self::statement(request))
    }

    fn session_times(&self) -> SessionTimes {
        self.shares.iter().fold(self.times, |sum, share| sum.and(share.times()))
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        self.kept = None;
        if self.way == CommitMode::Trial && !["GET", "HEAD"].contains(&request.method) {
            return Err(OutsideError::Refused(format!(
                "{} {} could not be undone, so it is not sent; --commit sends it",
                request.method,
                masked_url(request.target)
            )));
        }
        let key = self.call_key(request);
        let request = BackEndRequest { idempotency_key: key.as_deref(), ..*request };
        self.servers.back_ends().call(&request)
    }

    fn transform(&mut self, request: &XsltRequest<'_>) -> Result<Vec<u8>, OutsideError> {
        self.kept = None;
        let XsltRequest { stylesheet, document, patience } = *request;
        Ok(self.servers.stylesheets().transform(stylesheet, document, patience)?)
    }
}

impl UnitOfWork for Work {
    fn keep_until_it_waits(&mut self, what: Box<dyn Send>) {
        self.kept = Some(what);
    }

    fn begin(&mut self, id: ExecutionId) {
        self.end_message();
        let alone = match self.way {
            CommitMode::Recorded => self.servers.takes_alone(id),
            CommitMode::Direct => !self.takes_more(),
            CommitMode::Trial => true,
        };
        let before = self.messages.last().is_some_and(|message| message.alone);
        if alone || self.way == CommitMode::Recorded && before {
            if !self.shares.is_empty() {
                self.kept = None;
            }
            self.commit_shares();
        }
        let (shares, changed) = (Vec::new(), Vec::new());
        let (answered, calls) = (None, Calls::default());
        self.messages.push(Message { id, alone, shares, answered, changed, calls });
    }

    fn undo(&mut self) {
        if let Some(message) = self.messages.pop() {
            message.shares.iter().for_each(|share| self.shares[*share].undo(message.id));
        }
    }

    fn takes_more(&self) -> bool {
        match &*self.shares {
            [share] => self.way == CommitMode::Direct && share.takes_more(),
            _ => false,
        }
    }

    fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)> {
        self.kept = None;
        self.end_message();
        self.commit_shares();
        std::mem::take(&mut self.ended)
    }
}
