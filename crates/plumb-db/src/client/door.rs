//! How sessions with a server are opened.

use std::sync::Arc;
use std::time::Duration;

use plumb_db_login::{Login, Tls};
use plumb_engine::Endpoint;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span, Transport};

use crate::DbError;
use crate::database::{Opened, Way, encryption};
use crate::stream::{Traffic, Wire};

use super::{NotOpened, Remedies};

/// Everything it takes to open a session.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) endpoint: Endpoint,
    /// The server as messages name it.
    pub(crate) server: String,
    pub(crate) login: Login,
    pub(crate) tls: Tls,
    traffic: Arc<Traffic>,
    /// A session must be open within this.
    pub(crate) patience: Span,
}

/// What is known of a session from its log-on.
#[derive(Debug)]
pub(crate) struct LoggedOn {
    pub(crate) transport: Option<Transport>,
    pub(crate) encrypted: bool,
    /// The version of the server, or the server and its version, as it says.
    pub(crate) version: String,
}

impl LoggedOn {
    /// The version, and whether the connection is encrypted.
    pub(crate) fn describe(&self) -> String {
        format!("{}, {}", self.version, encryption(self.encrypted))
    }
}

/// A session with a server.
pub(crate) trait Reached: Sized {
    /// What to do where there is none.
    const REMEDIES: Remedies;

    /// Opens it over `wire`; it tells as well how long its handshake of TLS took, nanoseconds.
    ///
    /// # Errors
    /// [`NotOpened`].
    async fn over(door: &Door, wire: Wire) -> Result<(Self, Option<u64>), NotOpened>;

    /// The way that its connection goes.
    fn way(&self) -> Way<'_>;
}

impl Door {
    /// The door to `endpoint` for `login`; a session must be open within `patience`.
    ///
    /// # Errors
    /// [`DbError`] when certificates cannot be used.
    pub(crate) fn new(endpoint: Endpoint, login: &Login, patience: Span) -> Result<Self, DbError> {
        let (server, tls) = (login.server(), Tls::of(login)?);
        let (login, traffic) = (login.clone(), Arc::default());
        Ok(Self { endpoint, server, login, tls, traffic, patience })
    }

    /// The same with a count of its own of what is carried.
    pub(crate) fn counting(&self, traffic: &Arc<Traffic>) -> Self {
        Self { traffic: Arc::clone(traffic), ..self.clone() }
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub(crate) async fn open<S: Reached>(&self) -> Result<(S, Opened), NotOpened> {
        let (limit, mut stood) = (self.patience, false);
        let opening = async {
            let began_ns = MonotonicClock.now_ns();
            let wire = Wire::connect(&self.endpoint, Arc::clone(&self.traffic))
                .await
                .map_err(NotOpened::Socket)?;
            stood = true;
            let transport_ns = Some(MonotonicClock.now_ns().saturating_sub(began_ns));
            let (session, tls_ns) = S::over(self, wire).await?;
            session.way().transport.iter().for_each(|it| self.traffic.stands(it));
            let total_ns = MonotonicClock.now_ns().saturating_sub(began_ns);
            Ok((session, Opened { transport_ns, tls_ns, total_ns }))
        };
        let opened = tokio::time::timeout(Duration::from_nanos(limit.ns()), opening).await;
        opened.map_err(|_| NotOpened::TimedOut { stood, limit })?
    }

    /// The door to `endpoint` for `login`, and a first session.
    ///
    /// # Errors
    /// [`DbError`] says why there is none.
    pub(crate) async fn reach<S: Reached>(
        endpoint: &Endpoint,
        login: &Login,
        patience: Span,
    ) -> Result<(Self, S), DbError> {
        let door = Self::new(endpoint.clone(), login, patience)?;
        match door.open().await {
            Ok((session, _)) => Ok((door, session)),
            Err(trouble) => Err(door.explain::<S>(&trouble)),
        }
    }

    /// Why there is no session, in words.
    pub(crate) fn explain<S: Reached>(&self, trouble: &NotOpened) -> DbError {
        S::REMEDIES.explain(trouble, &self.server, &self.login)
    }

    /// The password; nothing where there is none.
    pub(crate) fn password(&self) -> &str {
        self.login.password.as_ref().map_or("", |it| it.reveal())
    }
}
