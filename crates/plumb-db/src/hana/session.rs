//! Sessions of SAP HANA: how they are made, and how they are asked.

use plumb_db_login::SslMode;
use plumb_measure::Transport;

use crate::answer::{Limits, NoAnswer};
use crate::client::{Door, LoggedOn, NotOpened, Pipe, Reached, Refusal, Remedies, Trouble};
use crate::database::Way;
use crate::stream::Wire;

use super::PRODUCT;
use super::channel::Channel;
use plumb_sql::hana::proof::{self, Method};
use plumb_sql::hana::wire::{self, Ask, Reply, Rows, Transaction, part};

/// The error of the server for a user or a password that is wrong.
const NOT_LET_IN: i32 = 10;
/// Rows that an answer brings at once, at most.
const AT_ONCE: u32 = 10_000;
/// A statement that the server found to be a query: it reads, and locks nothing.
const QUERY: i16 = 5;
/// The transaction that comes refuses what writes.
const ONLY_READS: &str = "SET TRANSACTION READ ONLY";
/// Of what is asked beside a load.
const BESIDE: Limits = Limits { rows: 1_000, bytes: 1 << 16 };

/// A session, ready for statements.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) channel: Channel,
    pub(super) known: LoggedOn,
}

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    id: [u8; 8],
    /// It is a query, by the server's own word.
    pub(super) is_query: bool,
}

/// How a statement is named.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named<'a> {
    Text(&'a str),
    Prepared(Prepared),
}

impl Reached for Session {
    const REMEDIES: Remedies = Remedies::of_encrypt(
        PRODUCT,
        "check the certificate of the server and encrypt, sslvalidatecertificate, ssltruststore; does \
         that port take encrypted connections?",
        remedy,
    );

    async fn over(door: &Door, wire: Wire) -> Result<(Self, Option<u64>), NotOpened> {
        let mut channel = Channel::new(wire);
        let transport = channel.pipe.transport(); // who is gone already says so at the log-on
        let encrypted = door.login.ssl != SslMode::Disable;
        let (mut proven, mut tls_ns) = (None, None);
        if encrypted {
            let tls = door.tls.for_one();
            let wire = channel.pipe.take_plain().ok_or(Trouble::Garbled)?;
            let stream = tls.clone().handshake(wire).await.map_err(NotOpened::Tls)?;
            channel.pipe = Pipe::Tls(Box::new(stream));
            (proven, tls_ns) = (tls.proof(), tls.taken_ns());
        }
        channel.greet().await?;
        let version = prove(door, &mut channel).await?;
        let transport = transport.map(|it| Transport { tls: proven, ..it });
        let known = LoggedOn { transport, encrypted, version };
        let mut session = Session { channel, known };
        if !door.login.database.is_empty() {
            let schema = door.login.database.replace('"', "\"\"");
            session.order(&format!("SET SCHEMA \"{schema}\"")).await?;
        }
        Ok((session, tls_ns))
    }

    fn way(&self) -> Way<'_> {
        let transport = self.known.transport.as_ref();
        Way { transport, arrivals: Some(&self.channel.arrivals) }
    }
}

/// Proves to know the password, and has the server do the same; its version.
async fn prove(door: &Door, channel: &mut Channel) -> Result<String, NotOpened> {
    let password = door.password();
    let user = cesu8(&door.login.user);
    let challenge = proof::challenge().map_err(|_| Trouble::Garbled)?;
    let mut values: Vec<&[u8]> = vec![&user];
    for method in Method::ALL {
        values.extend([method.name().as_bytes(), &challenge]);
    }
    let asked = wire::fields(&values);
    channel.send(Ask::Authenticate, false, &[(part::AUTHENTICATION, 1, &asked)]).await?;
    let said = channel.message().await?;
    let reply = let_in(door, &said)?;
    let values = proofs_of(&reply).ok_or(Trouble::Garbled)?;
    let (name, said) = (values[0], values[1]);
    let method = Method::named(name).ok_or(Trouble::Garbled)?;
    let proofs = proof::answer(method, password, &challenge, said).ok_or(Trouble::Garbled)?;
    let proven = wire::fields(&[&user, method.name().as_bytes(), &proofs.of_client]);
    let (count, options) = wire::connect_options();
    let client = format!("{}@plumb", std::process::id());
    let parts: [(u8, u16, &[u8]); 3] = [
        (part::AUTHENTICATION, 1, &proven),
        (part::CLIENT, 1, client.as_bytes()),
        (part::CONNECT_OPTIONS, count, &options),
    ];
    channel.send(Ask::Connect, false, &parts).await?;
    let said = channel.message().await?;
    let reply = let_in(door, &said)?;
    if let Some(expected) = &proofs.of_server {
        let theirs = proofs_of(&reply).map(|values| values[1]);
        if !theirs.is_some_and(|said| proof::is_proven(said, expected)) {
            return Err(NotOpened::Unproven);
        }
    }
    Ok(reply.version().unwrap_or_else(|| "(which says no version)".into()))
}

/// The reply, unless it refuses the log-on.
fn let_in<'a>(door: &Door, said: &'a [u8]) -> Result<Reply<'a>, NotOpened> {
    let reply = Reply::read(said).ok_or(Trouble::Garbled)?;
    match reply.refusal() {
        None => Ok(reply),
        Some(Some(refusal)) if refusal.number == NOT_LET_IN && door.login.password.is_none() => {
            Err(NotOpened::NoPassword)
        }
        Some(refusal) => Err(refused(refusal).into()),
    }
}

/// Method and data of an authentication.
fn proofs_of<'a>(reply: &Reply<'a>) -> Option<Vec<&'a [u8]>> {
    let values = wire::values(reply.part(part::AUTHENTICATION)?.data)?;
    (values.len() >= 2).then_some(values)
}

fn refused(refusal: Option<Refusal>) -> Trouble {
    refusal.map_or(Trouble::Garbled, Trouble::Refused)
}

/// What to do about a log-on that the server refuses with this error.
fn remedy(number: i32) -> &'static str {
    match number {
        NOT_LET_IN => "check user and password: HDB_PASSWORD is where it is looked for",
        362 => "check the schema behind the last / (SELECT SCHEMA_NAME FROM SCHEMAS lists them)",
        414 | 416 => "the password has to be changed, or the user to be unlocked, first",
        _ => "is it the SQL port of the tenant (3NN15, 3NN41 and above)?",
    }
}

/// `text` as the protocol has it: UTF-8, in which characters of four bytes are two of three.
pub(super) fn cesu8(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for character in text.chars() {
        if u32::from(character) < 0x1_0000 {
            let mut room = [0; 4];
            out.extend(character.encode_utf8(&mut room).as_bytes());
        } else {
            let mut room = [0; 2];
            for unit in character.encode_utf16(&mut room) {
                let [low, high] = unit.to_le_bytes();
                out.extend([0xe0 | high >> 4, 0x80 | (high & 15) << 2 | low >> 6, 0x80 | low & 63]);
            }
        }
    }
    out
}

/// What an answer brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brought {
    /// It has columns, be its rows none.
    pub(super) is_table: bool,
    pub(super) rows: u64,
    /// Bytes of the rows.
    pub(super) bytes: u64,
    /// The server was at work for it, microseconds, if it tells.
    pub(super) server_us: Option<u64>,
    /// What became of its transaction.
    pub(super) transaction: Transaction,
}

impl Session {
    /// Carries out a statement whose rows, if any, are of no interest.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn order(&mut self, text: &str) -> Result<(), Trouble> {
        self.carry_out(text, true).await
    }

    /// Has the next transaction, which nothing commits, refuse what writes.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn only_reads(&mut self) -> Result<(), Trouble> {
        self.carry_out(ONLY_READS, false).await
    }

    async fn carry_out(&mut self, text: &str, commits: bool) -> Result<(), Trouble> {
        match self.ask(Named::Text(text), commits, BESIDE, |_| {}).await {
            Ok(_) => Ok(()),
            Err(NoAnswer::Driver(trouble)) => Err(trouble),
            Err(NoAnswer::TooLarge | NoAnswer::Unexpected) => Err(Trouble::Garbled),
        }
    }

    /// Has a statement prepared, which does not run it.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn prepare(&mut self, text: &str) -> Result<Prepared, Trouble> {
        let text = cesu8(text);
        self.channel.send(Ask::Prepare, false, &[(part::COMMAND, 1, &text)]).await?;
        let said = self.channel.message().await?;
        let reply = Reply::read(&said).ok_or(Trouble::Garbled)?;
        if let Some(refusal) = reply.refusal() {
            return Err(refused(refusal));
        }
        let id = reply.part(part::STATEMENT).and_then(|part| part.data.get(..8)?.try_into().ok());
        let id = id.ok_or(Trouble::Garbled)?;
        Ok(Prepared { id, is_query: reply.function == QUERY })
    }

    /// Asks a statement, and reads its whole answer; `read` is shown the rows as they come.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn ask(
        &mut self,
        named: Named<'_>,
        commits: bool,
        limits: Limits,
        mut read: impl FnMut(Rows<'_>),
    ) -> Result<Brought, NoAnswer<Trouble>> {
        self.channel.takes(limits.bytes);
        let most = u32::try_from(limits.rows.saturating_add(1)).unwrap_or(AT_ONCE).min(AT_ONCE);
        let size = most.to_le_bytes();
        let fetch: (u8, u16, &[u8]) = (part::FETCH_SIZE, 1, &size);
        match named {
            Named::Text(text) => {
                let text = cesu8(text);
                let parts = [(part::COMMAND, 1, text.as_slice()), fetch];
                self.channel.send(Ask::Directly, commits, &parts).await?;
            }
            Named::Prepared(statement) => {
                let parts = [(part::STATEMENT, 1, statement.id.as_slice()), fetch];
                self.channel.send(Ask::Execute, commits, &parts).await?;
            }
        }
        let mut brought = Brought::default();
        let mut result = None;
        loop {
            let said = self.message().await?;
            let reply = understood(&said)?;
            brought.server_us = sum(brought.server_us, reply.server_us());
            let transaction = reply.transaction();
            brought.transaction.ended |= transaction.ended;
            brought.transaction.writes |= transaction.writes;
            brought.is_table |= reply.part(part::METADATA).is_some();
            if let Some(part) = reply.part(part::RESULT) {
                result = part.data.get(..8).and_then(|id| <[u8; 8]>::try_from(id).ok());
            }
            let Some(rows) = reply.rows() else { return Ok(brought) };
            brought.is_table = true;
            brought.rows += rows.count;
            brought.bytes += rows.data.len() as u64;
            read(rows);
            limits.check(brought.rows, brought.bytes)?;
            let id = match (rows.are_last, rows.is_closed, result) {
                (true, true, _) | (true, _, None) => return Ok(brought),
                (_, _, Some(id)) => id,
                (false, _, None) => return Err(NoAnswer::Unexpected),
            };
            if rows.are_last {
                self.channel.send(Ask::Close, commits, &[(part::RESULT, 1, &id)]).await?;
                let said = self.message().await?;
                brought.server_us = sum(brought.server_us, understood(&said)?.server_us());
                return Ok(brought);
            }
            self.channel.send(Ask::Fetch, commits, &[(part::RESULT, 1, &id), fetch]).await?;
        }
    }

    async fn message(&mut self) -> Result<Vec<u8>, NoAnswer<Trouble>> {
        self.channel.message().await.map_err(|trouble| match trouble {
            Trouble::TooLong => NoAnswer::TooLarge,
            other => NoAnswer::Driver(other),
        })
    }

    /// Rolls back what was not committed: without any of that, a message that asks for no work. How long
    /// the server was at work for it, microseconds, if it tells.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn roll_back(&mut self) -> Result<Option<u64>, NoAnswer<Trouble>> {
        self.channel.send(Ask::Rollback, false, &[]).await?;
        let said = self.message().await?;
        Ok(understood(&said)?.server_us())
    }

    /// The rows of a query of so many columns, each `BIGINT`.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn numbers_of(
        &mut self,
        text: &str,
        columns: usize,
    ) -> Result<Vec<Option<i64>>, NoAnswer<Trouble>> {
        let mut found = None;
        let limits = Limits { rows: 16, bytes: 1 << 12 };
        let read = |rows: Rows<'_>| found = wire::numbers(rows.data, columns);
        self.ask(Named::Text(text), true, limits, read).await?;
        found.ok_or(NoAnswer::Unexpected)
    }

    /// Carries out a statement whose effect is to be rolled back.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn uncommitted(&mut self, text: &str) -> Result<(), NoAnswer<Trouble>> {
        self.ask(Named::Text(text), false, BESIDE, |_| {}).await.map(drop)
    }

    /// The texts of a query of one column of characters, asked within the transaction that is open.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn texts_of(
        &mut self,
        text: &str,
    ) -> Result<Vec<Option<String>>, NoAnswer<Trouble>> {
        let mut found = Some(Vec::new());
        let read = |rows: Rows<'_>| {
            let more = wire::texts(rows.data, rows.count);
            found = found.take().zip(more).map(|(so_far, more)| [so_far, more].concat());
        };
        self.ask(Named::Text(text), false, BESIDE, read).await?;
        found.ok_or(NoAnswer::Unexpected)
    }

    /// Ends the session, if that can be said at once.
    pub(super) async fn end(mut self) {
        // best effort: a server that does not hear it notices that the connection is gone
        let _ = self.channel.send(Ask::Disconnect, false, &[]).await;
    }
}

/// A reply that is an answer.
fn understood(said: &[u8]) -> Result<Reply<'_>, NoAnswer<Trouble>> {
    let reply = Reply::read(said).ok_or(NoAnswer::Unexpected)?;
    match reply.refusal() {
        None => Ok(reply),
        Some(refusal) => Err(refused(refusal).into()),
    }
}

/// Of two times, each of which may not be told, what is known.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}
