//! Sessions of MariaDB and MySQL: how they are made, what they promise, and how they are asked.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use plumb_db_login::{Login, LoginError, SslMode, Tls};
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Endpoint, EngineError};
use plumb_measure::{Clock as _, FailureKind, Span, Transport};

use crate::DbError;
use crate::answer::Failure;
use crate::database::Opened;
use crate::stream::{Traffic, Wire};

use super::channel::{Channel, Trouble};
use plumb_sql::mysql::proof::Method;
use plumb_sql::mysql::{self as wire, Greeting, LogOn, Refusal, Reply, can};

/// What every client here can do. Changes of a session are reported with answers, where the server does.
const OURS: u32 = can::LONG_PASSWORD
    | can::LONG_FLAG
    | can::PROTOCOL_41
    | can::TRANSACTIONS
    | can::SECURE_CONNECTION
    | can::MULTI_RESULTS
    | can::PS_MULTI_RESULTS
    | can::PLUGIN_AUTH
    | can::PLUGIN_AUTH_LENENC
    | can::SESSION_TRACK
    | can::DEPRECATE_EOF;

/// What a method says that wants the password itself, over a connection that nobody can read.
const WANTS_PASSWORD: &[u8] = &[4];

/// Everything it takes to open a session.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) endpoint: Endpoint,
    /// The server as messages name it.
    pub(super) server: String,
    login: Login,
    tls: Tls,
    traffic: Arc<Traffic>,
    patience: Span,
}

/// A session, ready for statements.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) channel: Channel,
    pub(super) transport: Option<Transport>,
    pub(super) encrypted: bool,
    /// Version of the server, as it says.
    pub(super) version: String,
    /// Number of the connection, as the server named it at the log-on.
    pub(super) id: u32,
    pub(super) can: u32,
    /// Whether its transactions are read-only unless they say otherwise, as the server last reported;
    /// `None` when it reported nothing.
    pub(super) reports_read_only: Option<bool>,
}

/// Why a session could not be opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    /// The transport.
    Socket(io::Error),
    /// The handshake of TLS.
    Tls(io::Error),
    /// TLS is asked for, and the server does not offer it.
    NoTls,
    /// The server wants a proof that cannot be given: what, and what to do.
    Method(String),
    /// There is no password, and the server wants one.
    NoPassword,
    /// The log-on.
    LogOn(Trouble),
    /// It took too long.
    TimedOut,
}

impl From<Trouble> for NotOpened {
    fn from(trouble: Trouble) -> Self {
        Self::LogOn(trouble)
    }
}

impl Failure for NotOpened {
    fn kind(&self) -> FailureKind {
        match self {
            Self::TimedOut => FailureKind::ConnectTimedOut,
            Self::Socket(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                FailureKind::ConnectRefused
            }
            Self::Tls(_) | Self::NoTls => FailureKind::HandshakeFailed,
            Self::Socket(_) | Self::Method(_) | Self::NoPassword | Self::LogOn(_) => {
                FailureKind::ConnectFailed
            }
        }
    }
}

impl Door {
    /// The door to `endpoint` for `login`; a session must be open within `patience`.
    ///
    /// # Errors
    /// [`DbError`] when certificates cannot be used.
    pub(super) fn new(endpoint: Endpoint, login: &Login, patience: Span) -> Result<Self, DbError> {
        let mut login = login.clone();
        if let Endpoint::Unix(_) | Endpoint::Own = endpoint {
            login.ssl = SslMode::Disable;
        }
        let (server, tls) = (login.server(), Tls::of(&login)?);
        Ok(Self { endpoint, server, login, tls, traffic: Arc::default(), patience })
    }

    /// The same with a count of its own of what is carried.
    pub(super) fn counting(&self, traffic: &Arc<Traffic>) -> Self {
        Self { traffic: Arc::clone(traffic), ..self.clone() }
    }

    /// Opens a session that is asked to be read-only.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub(super) async fn open(&self) -> Result<(Session, Opened), NotOpened> {
        let opening = tokio::time::timeout(Duration::from_nanos(self.patience.ns()), self.log_on());
        opening.await.map_err(|_| NotOpened::TimedOut)?
    }

    async fn log_on(&self) -> Result<(Session, Opened), NotOpened> {
        let began_ns = MonotonicClock.now_ns();
        let wire = Wire::connect(&self.endpoint, Arc::clone(&self.traffic))
            .await
            .map_err(NotOpened::Socket)?;
        let transport_ns = Some(MonotonicClock.now_ns().saturating_sub(began_ns));
        let (mut session, tls_ns) = self.over(wire).await?;
        session.promise().await?;
        session.transport.iter().for_each(|it| self.traffic.stands(it));
        let total_ns = MonotonicClock.now_ns().saturating_sub(began_ns);
        Ok((session, Opened { transport_ns, tls_ns, total_ns }))
    }

    /// A session over `wire`, and how long its handshake of TLS took, nanoseconds.
    pub(super) async fn over(&self, wire: Wire) -> Result<(Session, Option<u64>), NotOpened> {
        let mut channel = Channel::plain(wire);
        let transport = channel.transport(); // who is gone already says so at the log-on
        let (payload, number) = channel.packet().await?;
        if let Some(refusal) = Refusal::read(payload) {
            return Err(Trouble::refused(&refusal).into());
        }
        let greeting = Greeting::read(payload).ok_or(Trouble::Garbled)?;
        let version = String::from_utf8_lossy(greeting.version).into_owned();
        let (id, salt) = (greeting.id, greeting.salt());
        // what the server names may be of no use here: it then asks for another
        let method = Method::named(greeting.method).unwrap_or(Method::Native);
        let encrypts = self.encrypts(greeting.can)?;
        let with_database = if self.login.database.is_empty() { 0 } else { can::CONNECT_WITH_DB };
        let with_tls = if encrypts { can::TLS } else { 0 };
        let can = greeting.can & (OURS | with_database | with_tls);
        let proof = method.proof(self.password(), &salt);
        let log_on = LogOn {
            can,
            user: &self.login.user,
            database: &self.login.database,
            proof: &proof,
            method: method.name(),
        };
        let (mut number, mut proven, mut tls_ns) = (number.wrapping_add(1), None, None);
        if encrypts {
            log_on.write_tls_request(&mut channel.outbox, number);
            number = number.wrapping_add(1);
            channel.send().await?;
            let tls = self.tls.for_one();
            let handshake = tls.clone();
            let encrypted = channel.encrypted(|wire| handshake.handshake(wire)).await?;
            encrypted.map_err(NotOpened::Tls)?;
            (proven, tls_ns) = (tls.proof(), tls.taken_ns());
        }
        log_on.write(&mut channel.outbox, number);
        channel.send().await?;
        let mut session = Session {
            channel,
            transport: transport.map(|it| Transport { tls: proven, ..it }),
            encrypted: encrypts,
            version,
            id,
            can,
            reports_read_only: None,
        };
        self.prove(&mut session, method).await?;
        Ok((session, tls_ns))
    }

    /// True when the connection is to be encrypted.
    fn encrypts(&self, theirs: u32) -> Result<bool, NotOpened> {
        let offered = theirs & can::TLS != 0;
        match self.login.ssl {
            SslMode::Disable => Ok(false),
            SslMode::Prefer => Ok(offered),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull if offered => Ok(true),
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Err(NotOpened::NoTls),
        }
    }

    fn password(&self) -> &str {
        self.login.password.as_ref().map_or("", |it| it.reveal())
    }

    /// Answers what the server wants to know until it lets the client in.
    async fn prove(&self, session: &mut Session, mut method: Method) -> Result<(), NotOpened> {
        let is_unseen = session.encrypted || matches!(self.endpoint, Endpoint::Unix(_));
        loop {
            let (payload, number) = session.channel.packet().await?;
            let answer = match Reply::read(payload).ok_or(Trouble::Garbled)? {
                Reply::Welcome(_) => return Ok(()),
                Reply::Refused(refusal) if refusal.code == 1045 && self.password().is_empty() => {
                    return Err(NotOpened::NoPassword);
                }
                Reply::Refused(refusal) => return Err(Trouble::refused(&refusal).into()),
                Reply::Switch { method: name, salt } => {
                    method = Method::named(name).ok_or_else(|| unknown(name))?;
                    method.proof(self.password(), salt)
                }
                Reply::More(said) if method == Method::CachingSha2 && said == WANTS_PASSWORD => {
                    if !is_unseen {
                        return Err(NotOpened::Method(
                            "the server does not have this password at hand and wants it itself, \
                             which goes over an encrypted connection only: write \
                             ssl-mode=REQUIRED"
                                .into(),
                        ));
                    }
                    [self.password().as_bytes(), &[0]].concat()
                }
                Reply::More(_) => continue, // the proof was right
            };
            let number = number.wrapping_add(1);
            wire::packet(&mut session.channel.outbox, number, |out| out.extend(answer));
            session.channel.send().await?;
        }
    }

    /// Tells the server to give up what `session` asked for, and ends the session.
    pub(super) async fn abandon(&self, session: Session) {
        let id = session.id;
        drop(session);
        let quiet = Self { traffic: Arc::default(), ..self.clone() };
        let killing = async {
            let (mut other, _) = quiet.open().await.ok()?;
            other.order(&format!("KILL {id}")).await.ok()
        };
        // best effort: a server that does not hear it is in worse trouble already
        let _ = tokio::time::timeout(Duration::from_nanos(self.patience.ns()), killing).await;
    }

    /// Why there is no session, in words.
    pub(super) fn explain(&self, trouble: &NotOpened) -> DbError {
        let server = self.server.clone();
        let no_tls = |cause: String, remedy| {
            DbError::from(LoginError::Tls { server: self.server.clone(), cause, remedy })
        };
        let refused = |cause: String, remedy: &'static str| DbError::Login {
            server: self.server.clone(),
            cause,
            remedy,
        };
        match trouble {
            NotOpened::Socket(error) => EngineError::connect(server, error).into(),
            NotOpened::TimedOut => {
                EngineError::connect(server, &io::ErrorKind::TimedOut.into()).into()
            }
            NotOpened::Tls(error) => no_tls(
                error.to_string(),
                "check the certificate of the server and ssl-mode, ssl-ca",
            ),
            NotOpened::NoTls => no_tls(
                "the server does not offer TLS".into(),
                "set ssl_cert and ssl_key there, or write ssl-mode=PREFERRED",
            ),
            NotOpened::Method(cause) => refused(cause.clone(), "or measure as another user"),
            NotOpened::NoPassword => DbError::NoPassword {
                server,
                user: self.login.user.clone(),
                remedy: self.login.product.keeps_passwords(),
                ignored: (self.login.ignored.as_ref())
                    .map_or_else(String::new, |reason| format!("; {reason}")),
            },
            NotOpened::LogOn(Trouble::Refused(code, message)) => {
                refused(message.clone(), remedy(*code))
            }
            NotOpened::LogOn(trouble) => {
                refused(trouble.whole(), "is there a server of MariaDB or MySQL behind that port?")
            }
        }
    }
}

/// What to do about a log-on that the server refuses with its error `code`.
fn remedy(code: u16) -> &'static str {
    match code {
        1045 => "check user and password: MYSQL_PWD and ~/.my.cnf are where it is looked for",
        1044 | 1049 => "check the name behind the last / (SHOW DATABASES lists them)",
        1040 => "write a smaller --pool, or raise max_connections",
        1129 => "the server blocks this host: FLUSH HOSTS there",
        1130 => "the server knows no user for this host: see mysql.user there",
        _ => "see the log of the server",
    }
}

fn unknown(name: &[u8]) -> NotOpened {
    let name: String = String::from_utf8_lossy(name).chars().take(40).collect();
    NotOpened::Method(format!(
        "the user logs on by `{name}`, which is not spoken here (mysql_native_password and \
         caching_sha2_password are)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_db_login::Url;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixStream;

    /// A greeting of MySQL 8, which would have a proof by `caching_sha2_password`.
    fn greeting() -> Vec<u8> {
        let can = OURS | can::CONNECT_WITH_DB;
        let [a, b, c, d] = can.to_le_bytes();
        let mut out = Vec::new();
        wire::packet(&mut out, 0, |out| {
            out.extend(b"\x0a8.0.36\0\x07\0\0\0abcdefgh\0");
            out.extend([a, b, 45, 2, 0, c, d, 21]);
            out.extend([0; 10]);
            out.extend(b"ijklmnopqrst\0caching_sha2_password\0");
        });
        out
    }

    /// What comes of a log-on with the password `sesame` at a peer that says `replies`, each to a packet
    /// of the client, and what the client said.
    fn at_peer(replies: &[&[u8]]) -> (Result<Session, NotOpened>, Vec<Vec<u8>>) {
        let replies: Vec<Vec<u8>> = replies.iter().map(|reply| reply.to_vec()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = UnixStream::pair().unwrap();
            let peer = tokio::spawn(async move {
                let mut said = Vec::new();
                far.write_all(&greeting()).await.unwrap();
                for reply in replies {
                    let mut head = [0; wire::HEAD];
                    far.read_exact(&mut head).await.unwrap();
                    let mut payload = vec![0; wire::head(head).0];
                    far.read_exact(&mut payload).await.unwrap();
                    said.push(payload);
                    far.write_all(&reply).await.unwrap();
                }
                said
            });
            let url = Url::parse("mysql://me@db1/erp").unwrap();
            let look = |name: &str| (name == "MYSQL_PWD").then(|| "sesame".to_owned());
            let login = Login::of(&url, &look).unwrap();
            let endpoint = Endpoint::Tcp("127.0.0.1:9".parse().unwrap());
            let door = Door::new(endpoint, &login, Span::from_ms(1_000)).unwrap();
            let opened = door.over(Wire::of_pair(near)).await.map(|(session, _)| session);
            (opened, peer.await.unwrap())
        })
    }

    #[test]
    fn mysql_8_is_given_its_proof_and_then_lets_in() {
        let let_in = b"\x02\0\0\x02\x01\x03\x07\0\0\x03\0\0\0\x02\0\0\0";
        let (session, said) = at_peer(&[let_in]);
        assert_eq!((session.unwrap().id, said.len()), (7, 1));
        let proof = Method::CachingSha2.proof("sesame", b"abcdefghijklmnopqrst");
        assert!(said[0].windows(proof.len()).any(|it| it == proof));
        assert!(said[0].ends_with(b"erp\0caching_sha2_password\0"));
    }

    #[test]
    fn the_password_itself_goes_over_no_connection_that_others_can_read() {
        let (refused, said) = at_peer(&[b"\x02\0\0\x02\x01\x04"]);
        assert!(matches!(&refused, Err(NotOpened::Method(it)) if it.contains("ssl-mode")));
        assert!(!said.concat().windows(6).any(|it| it == b"sesame"));
    }

    #[test]
    fn another_method_is_taken_where_it_is_known() {
        let switch = |name: &str| {
            let mut out = Vec::new();
            wire::packet(&mut out, 2, |out| {
                out.push(0xfe);
                out.extend(name.as_bytes());
                out.extend(b"\0tsrqponmlkjihgfedcba\0");
            });
            out
        };
        let done: &[u8] = b"\x07\0\0\x04\0\0\0\x02\0\0\0";
        let (session, said) = at_peer(&[&switch("mysql_native_password"), done]);
        session.unwrap();
        assert_eq!(said[1], Method::Native.proof("sesame", b"tsrqponmlkjihgfedcba"));
        let (refused, _) = at_peer(&[&switch("client_ed25519")]);
        assert!(matches!(&refused, Err(NotOpened::Method(it)) if it.contains("`client_ed25519`")));
    }

    #[test]
    fn a_refusal_has_the_reason_of_the_server() {
        let (refused, _) = at_peer(&[b"\x1a\0\0\x02\xff\x15\x04#28000Access denied for me"]);
        assert!(
            matches!(&refused, Err(NotOpened::LogOn(Trouble::Refused(1045, _)))),
            "{refused:?}"
        );
    }
}
