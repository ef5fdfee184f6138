//! Sessions of SQL Server: how they are made, and how they are asked.

use plumb_db_login::SslMode;
use plumb_measure::Transport;

use crate::answer::{Limits, NoAnswer};
use crate::client::{Door, LoggedOn, NotOpened, Reached, Refusal, Remedies, Trouble, is_near};
use crate::database::Way;
use crate::stream::Wire;

use super::PRODUCT;
use super::channel::Channel;
use plumb_sql::tds::tokens::{Token, Tokens};
use plumb_sql::tds::wire::{self, Encryption, Kind, LogOn};

/// Whoever cannot log on: the error of the server for a user or a password that is wrong.
const NOT_LET_IN: i32 = 18456;
/// A transaction that an error leaves open is rolled back by the server.
const SETTINGS: &str = "SET XACT_ABORT ON";

/// A session, ready for statements.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) channel: Channel,
    pub(super) known: LoggedOn,
}

impl Reached for Session {
    const REMEDIES: Remedies = Remedies::of_encrypt(
        PRODUCT,
        "check the certificate of the server and encrypt, trustservercertificate, servercertificate",
        remedy,
    );

    async fn over(door: &Door, wire: Wire) -> Result<(Self, Option<u64>), NotOpened> {
        let mut channel = Channel::plain(wire);
        let transport = channel.pipe.transport(); // who is gone already says so at the log-on
        let wanted = match door.login.ssl {
            SslMode::Disable => Encryption::None,
            _ => Encryption::All,
        };
        channel.send(Kind::PreLogin, &wire::pre_login(wanted)).await?;
        let said = channel.message().await?;
        let encrypts = match (door.login.ssl, wire::agreed(&said).ok_or(Trouble::Garbled)?) {
            (SslMode::Disable, Encryption::None) => false,
            (SslMode::Disable, _) => {
                let message = "the server wants its connections encrypted".into();
                let refusal = Refusal { number: 0, is_fatal: true, message };
                return Err(Trouble::Refused(refusal).into());
            }
            (_, Encryption::All) => true,
            (SslMode::Prefer, _) => false,
            _ => return Err(NotOpened::NoTls),
        };
        if !encrypts && !door.password().is_empty() && !is_near(&door.endpoint) {
            return Err(NotOpened::Readable);
        }
        let (mut proven, mut tls_ns) = (None, None);
        if encrypts {
            let tls = door.tls.for_one();
            channel.encrypted(tls.clone()).await?.map_err(NotOpened::Tls)?;
            (proven, tls_ns) = (tls.proof(), tls.taken_ns());
        }
        let log_on = LogOn {
            user: &door.login.user,
            password: door.password(),
            application: &door.login.application,
            server: &door.login.host,
            database: &door.login.database,
        };
        channel.send(Kind::LogOn, &log_on.write()).await?;
        let said = channel.message().await?;
        let version = let_in(door, &said)?;
        let transport = transport.map(|it| Transport { tls: proven, ..it });
        let known = LoggedOn { transport, encrypted: encrypts, version };
        let mut session = Session { channel, known };
        session.order(SETTINGS).await?;
        Ok((session, tls_ns))
    }

    fn way(&self) -> Way<'_> {
        let transport = self.known.transport.as_ref();
        Way { transport, arrivals: Some(&self.channel.arrivals) }
    }
}

/// The server and its version, if it lets the client in.
fn let_in(door: &Door, said: &[u8]) -> Result<String, NotOpened> {
    let (mut tokens, mut version, mut refused) = (Tokens::of(said), None, None);
    while let Some(token) = tokens.take().map_err(|_| Trouble::Garbled)? {
        match token {
            Token::LogOn { program, version: [major, minor, high, low] } => {
                let build = u16::from_be_bytes([high, low]);
                version = Some(format!("{program} {major}.{minor}.{build}"));
            }
            Token::Error(refusal) if refused.is_none() => refused = Some(refusal),
            _ => {}
        }
    }
    match (version, refused) {
        (Some(version), _) => Ok(version),
        (None, Some(refusal)) if refusal.number == NOT_LET_IN && door.login.password.is_none() => {
            Err(NotOpened::NoPassword)
        }
        (None, Some(refusal)) => Err(Trouble::Refused(refusal).into()),
        (None, None) => Err(Trouble::Garbled.into()),
    }
}

/// What to do about a log-on that the server refuses with this error.
fn remedy(number: i32) -> &'static str {
    match number {
        NOT_LET_IN => {
            "check user and password: SQLCMDUSER and SQLCMDPASSWORD are where they are looked for"
        }
        4060 => "check the name behind the last / (SELECT name FROM sys.databases lists them)",
        0 => "leave encrypt=no out",
        _ => "the log of the server says more (ERRORLOG)",
    }
}

/// What an answer brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brought {
    /// Answers that have columns, be their rows none.
    pub(super) tables: u32,
    pub(super) rows: u64,
    /// Bytes of the rows.
    pub(super) bytes: u64,
}

impl Session {
    /// Carries out statements whose rows, if any, are of no interest.
    ///
    /// # Errors
    /// [`Trouble`].
    pub(super) async fn order(&mut self, text: &str) -> Result<(), Trouble> {
        let limits = Limits { rows: 1_000, bytes: 1 << 16 };
        match self.asked(text, limits, |_, _| {}).await {
            Ok(_) => Ok(()),
            Err(NoAnswer::Driver(trouble)) => Err(trouble),
            Err(NoAnswer::TooLarge | NoAnswer::Unexpected) => Err(Trouble::Garbled),
        }
    }

    /// Sends a batch, and reads its answer.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn asked(
        &mut self,
        text: &str,
        limits: Limits,
        row: impl FnMut(u32, &[Option<&[u8]>]),
    ) -> Result<Brought, NoAnswer<Trouble>> {
        self.channel.send(Kind::Batch, &wire::batch(text)).await?;
        self.answer(limits, row).await
    }

    /// Reads the whole answer to a batch; `row` is shown each row, with the number of its table from 1
    /// on. The first error is the answer where there is one.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn answer(
        &mut self,
        limits: Limits,
        mut row: impl FnMut(u32, &[Option<&[u8]>]),
    ) -> Result<Brought, NoAnswer<Trouble>> {
        self.channel.takes(limits.bytes);
        let payload = self.channel.message().await.map_err(|trouble| match trouble {
            Trouble::TooLong => NoAnswer::TooLarge,
            other => NoAnswer::Driver(other),
        })?;
        let (mut brought, mut refused) = (Brought::default(), None);
        let mut tokens = Tokens::of(&payload);
        while let Some(token) = tokens.take().map_err(|_| NoAnswer::Unexpected)? {
            match token {
                Token::Table => brought.tables += 1,
                Token::Row { values, bytes } => {
                    brought.rows += 1;
                    brought.bytes += bytes as u64;
                    row(brought.tables, &values);
                }
                Token::Error(refusal) if refused.is_none() => refused = Some(refusal),
                Token::Error(_) | Token::LogOn { .. } | Token::Done | Token::GivenUp => {}
            }
        }
        match refused {
            Some(refusal) => Err(Trouble::Refused(refusal).into()),
            None => {
                limits.check(brought.rows, brought.bytes)?;
                Ok(brought)
            }
        }
    }

    /// The rows of a batch, each value a whole number.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) async fn numbers_of(
        &mut self,
        text: &str,
        limits: Limits,
    ) -> Result<Vec<Vec<Option<i64>>>, NoAnswer<Trouble>> {
        let mut rows = Vec::new();
        let number = |value: &Option<&[u8]>| value.and_then(plumb_sql::tds::types::number);
        self.asked(text, limits, |_, row| rows.push(row.iter().map(number).collect())).await?;
        Ok(rows)
    }

    /// Has the server give up what was asked, if that can be said at once: it hears of it before it
    /// notices that the connection is gone.
    pub(super) async fn give_up(mut self) {
        // best effort: a server that does not hear it is in worse trouble already
        let _ = self.channel.send(Kind::Attention, &[]).await;
    }
}
