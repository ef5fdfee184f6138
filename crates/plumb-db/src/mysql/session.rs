//! Sessions of MariaDB and MySQL: how they are made, what they promise, and how they are asked.

use std::sync::Arc;
use std::time::Duration;

use plumb_db_login::SslMode;
use plumb_engine::Endpoint;
use plumb_measure::Transport;

use crate::client::{Door, LoggedOn, NotOpened, Reached, Remedies, Trouble};
use crate::database::{TOO_MANY, Way};
use crate::stream::Wire;

use super::PRODUCT;
use super::channel::{Channel, refused};
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

/// A session, ready for statements.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) channel: Channel,
    pub(super) known: LoggedOn,
    /// Number of the connection, as the server named it at the log-on.
    pub(super) id: u32,
    pub(super) can: u32,
    /// Whether its transactions are read-only unless they say otherwise, as the server last reported;
    /// `None` when it reported nothing.
    pub(super) reports_read_only: Option<bool>,
}

impl Session {
    /// True where a statement that opens no table leaves the warnings of the one before it: of MariaDB.
    pub(super) fn keeps_warnings(&self) -> bool {
        self.known.version.contains("MariaDB")
    }
}

impl Reached for Session {
    const REMEDIES: Remedies = Remedies {
        product: PRODUCT,
        tls: "check the certificate of the server and ssl-mode, ssl-ca",
        no_tls: "set ssl_cert and ssl_key there, or write ssl-mode=PREFERRED",
        log_on: remedy,
        another: "is there a server of MariaDB or MySQL behind that port?",
    };

    /// A session that is asked to be read-only.
    async fn over(door: &Door, wire: Wire) -> Result<(Self, Option<u64>), NotOpened> {
        let (mut session, tls_ns) = log_on(door, wire).await?;
        session.promise().await?;
        Ok((session, tls_ns))
    }

    fn way(&self) -> Way<'_> {
        let transport = self.known.transport.as_ref();
        Way { transport, arrivals: Some(&self.channel.arrivals) }
    }
}

/// A session over `wire`, and how long its handshake of TLS took, nanoseconds.
pub(super) async fn log_on(door: &Door, wire: Wire) -> Result<(Session, Option<u64>), NotOpened> {
    let mut channel = Channel::plain(wire);
    let transport = channel.transport(); // who is gone already says so at the log-on
    let (payload, number) = channel.packet().await?;
    if let Some(refusal) = Refusal::read(payload) {
        return Err(refused(&refusal).into());
    }
    let greeting = Greeting::read(payload).ok_or(Trouble::Garbled)?;
    let version = String::from_utf8_lossy(greeting.version).into_owned();
    let (id, salt) = (greeting.id, greeting.salt());
    // what the server names may be of no use here: it then asks for another
    let method = Method::named(greeting.method).unwrap_or(Method::Native);
    let encrypts = encrypts(door.login.ssl, greeting.can)?;
    let with_database = if door.login.database.is_empty() { 0 } else { can::CONNECT_WITH_DB };
    let with_tls = if encrypts { can::TLS } else { 0 };
    let can = greeting.can & (OURS | with_database | with_tls);
    let proof = method.proof(door.password(), &salt);
    let log_on = LogOn {
        can,
        user: &door.login.user,
        database: &door.login.database,
        proof: &proof,
        method: method.name(),
    };
    let (mut number, mut proven, mut tls_ns) = (number.wrapping_add(1), None, None);
    if encrypts {
        log_on.write_tls_request(&mut channel.outbox, number);
        number = number.wrapping_add(1);
        channel.send().await?;
        let tls = door.tls.for_one();
        let handshake = tls.clone();
        let encrypted = channel.encrypted(|wire| handshake.handshake(wire)).await?;
        encrypted.map_err(NotOpened::Tls)?;
        (proven, tls_ns) = (tls.proof(), tls.taken_ns());
    }
    log_on.write(&mut channel.outbox, number);
    channel.send().await?;
    let mut session = Session {
        channel,
        known: LoggedOn {
            transport: transport.map(|it| Transport { tls: proven, ..it }),
            encrypted: encrypts,
            version,
        },
        id,
        can,
        reports_read_only: None,
    };
    prove(door, &mut session, method).await?;
    Ok((session, tls_ns))
}

/// True when the connection is to be encrypted.
fn encrypts(mode: SslMode, theirs: u32) -> Result<bool, NotOpened> {
    let offered = theirs & can::TLS != 0;
    match mode {
        SslMode::Disable => Ok(false),
        SslMode::Prefer => Ok(offered),
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull if offered => Ok(true),
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Err(NotOpened::NoTls),
    }
}

/// Answers what the server wants to know until it lets the client in.
async fn prove(door: &Door, session: &mut Session, mut method: Method) -> Result<(), NotOpened> {
    let is_unseen = session.known.encrypted || matches!(door.endpoint, Endpoint::Unix(_));
    loop {
        let (payload, number) = session.channel.packet().await?;
        let answer = match Reply::read(payload).ok_or(Trouble::Garbled)? {
            Reply::Welcome(_) => return Ok(()),
            Reply::Refused(refusal) if refusal.code == 1045 && door.password().is_empty() => {
                return Err(NotOpened::NoPassword);
            }
            Reply::Refused(refusal) => return Err(refused(&refusal).into()),
            Reply::Switch { method: name, salt } => {
                method = Method::named(name).ok_or_else(|| unknown(name))?;
                method.proof(door.password(), salt)
            }
            Reply::More(said) if method == Method::CachingSha2 && said == WANTS_PASSWORD => {
                if !is_unseen {
                    return Err(NotOpened::Method(
                        "the server does not have this password at hand and wants it itself, which goes over an \
                         encrypted connection only: write ssl-mode=REQUIRED"
                            .into(),
                    ));
                }
                [door.password().as_bytes(), &[0]].concat()
            }
            Reply::More(_) => continue, // the proof was right
        };
        let number = number.wrapping_add(1);
        wire::packet(&mut session.channel.outbox, number, |out| out.extend(answer));
        session.channel.send().await?;
    }
}

/// Tells the server to give up what `session` asked for, and ends the session.
pub(super) async fn abandon(door: &Door, session: Session) {
    let id = session.id;
    drop(session);
    end(door, id).await;
}

/// Has the server end the session of this number.
pub(super) async fn end(door: &Door, id: u32) {
    let quiet = door.counting(&Arc::default());
    let killing = async {
        let (mut other, _) = quiet.open::<Session>().await.ok()?;
        other.order(&format!("KILL {id}")).await.ok()
    };
    // best effort: a server that does not hear it is in worse trouble already
    let _ = tokio::time::timeout(Duration::from_nanos(door.patience.ns()), killing).await;
}

/// What to do about a log-on that the server refuses with its error `code`.
fn remedy(code: i32) -> &'static str {
    match code {
        1045 => "check user and password: MYSQL_PWD and ~/.my.cnf are where it is looked for",
        1044 | 1049 => "check the name behind the last / (SHOW DATABASES lists them)",
        1040 => TOO_MANY,
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
    use plumb_db_login::{Login, Url};
    use plumb_measure::Span;
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
            let opened = log_on(&door, Wire::of_pair(near)).await.map(|(session, _)| session);
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
            matches!(&refused, Err(NotOpened::LogOn(Trouble::Refused(it))) if it.number == 1045),
            "{refused:?}"
        );
    }
}
