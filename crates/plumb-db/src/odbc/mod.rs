//! Whatever has a driver of ODBC: DB2, MaxDB, Oracle and others.
//!
//! A driver has its socket to itself: it tells neither when bytes came nor what the server was at work for,
//! and nothing can be asked between two readings of the server's clock.

mod exchange;

use std::sync::Arc;
use std::time::Duration;

use plumb_db_login::{Login, Product};
use plumb_engine::{Endpoint, EngineError};
use plumb_measure::{Clock as _, Histogram, Reading, Span};
use plumb_odbc::{NotOpened, Opening, Session, Threads, Trouble};

use crate::DbError;
use crate::client::floor;
use crate::database::{Access, Asked, Database, Form, Methods, Opened, untimed};
use crate::statement::{self, Parameter, Statement, Which};
use crate::stream::Traffic;
use crate::trial::Attempt;

use exchange::{Exchange, NotReady};

/// How the parts are measured.
const METHODS: Methods = Methods {
    server: "from handing the statement to the driver until it had read the whole answer: the driver, the \
        way and the server together, as ODBC tells no more",
    wire: "not told",
    connect: "making the connection of the call, all of it",
};
/// What of the server cannot be read.
const UNTOLD: &str = "not told: ODBC has no call for it; ask the views of the database itself before \
    and after a run";

/// A database.
#[derive(Clone, Debug)]
pub(crate) struct Odbc {
    login: Login,
    /// As the driver names it.
    product: Arc<str>,
    patience: Span,
    threads: Threads,
}

impl Odbc {
    /// What a session is opened for.
    fn opening(&self, asked: Asked<'_>, form: Form) -> Opening {
        let statement = asked.statement;
        let is_prepared = form == Form::Prepared;
        let text = |value: &Parameter| match value {
            Parameter::Text(text) => (*text).clone(),
            Parameter::Int(number) => number.to_string(),
            Parameter::Given(given) => given.0.clone().unwrap_or_default(),
        };
        let password = self.login.password.as_ref().map(|it| it.reveal());
        Opening {
            connection: self.login.attributes.connection_string(password),
            log_on_s: u32::try_from(self.patience.ns().div_ceil(1_000_000_000)).unwrap_or(u32::MAX),
            statement: if is_prepared { &statement.text } else { &statement.inline }.clone(),
            parameters: statement.parameters.iter().map(text).filter(|_| is_prepared).collect(),
            is_prepared,
            is_rolled_back: asked.access == Access::RolledBack,
            rows: asked.limits.rows,
            bytes: asked.limits.bytes,
        }
    }

    async fn session(&self, asked: Asked<'_>, form: Form) -> Result<(Session, String), NotReady> {
        let opening = Session::open(&self.threads, self.opening(asked, form));
        let limit = Duration::from_nanos(self.patience.ns());
        let opened = tokio::time::timeout(limit, opening).await;
        opened.map_err(|_| NotReady::TimedOut)?.map_err(NotReady::Refused)
    }

    /// Why there is no connection, in words.
    fn closed(&self, trouble: &Trouble) -> DbError {
        let server = self.login.server();
        if self.login.password.is_none() && trouble.is_of("28") {
            return DbError::NoPassword {
                server,
                user: self.login.user.clone(),
                remedy: self.login.product.keeps_passwords(),
                ignored: String::new(),
            };
        }
        DbError::Login { server, cause: trouble.to_string(), remedy: remedy(trouble) }
    }
}

/// What to do about a log-on that is refused.
fn remedy(trouble: &Trouble) -> &'static str {
    match trouble {
        it if it.is_of("IM002") || it.is_of("IM003") || it.is_of("01000") => {
            "`odbcinst -q -s` lists the data sources of this machine, `odbcinst -q -d` its drivers"
        }
        it if it.is_of("28") => {
            "check user (UID) and password: ODBC_PASSWORD is handed to the driver"
        }
        it if it.is_of("08") => {
            "is there such a server, and are user (UID) and password (ODBC_PASSWORD) right? `isql -v` \
             tries the same"
        }
        _ => "`isql -v` tries the same",
    }
}

impl Database for Odbc {
    type Connection = Exchange;
    type NotReady = NotReady;
    type Counter = ();

    const DRIVER: &'static str =
        "a driver of ODBC, which blocks: each session has a thread of its own";
    const LOOKS: bool = false;

    async fn reach(_: &Endpoint, login: &Login, patience: Span) -> Result<Self, DbError> {
        let unknown = Self {
            login: login.clone(),
            product: Arc::from(""),
            patience,
            threads: Threads::default(),
        };
        let statement = Statement::trivial(Product::Odbc);
        let asked =
            Asked { statement: &statement, access: Access::ReadOnly, limits: floor::LIMITS };
        // as text: it is not known yet how this database says it
        let opened = unknown.session(asked, Form::Text).await;
        let (_, product) = opened.map_err(|trouble| unknown.explain(asked, &trouble))?;
        Ok(Self { product: product.into(), ..unknown })
    }

    fn null_method() -> String {
        format!(
            "{}: a call that is handed to the thread of its session, with no driver behind it",
            Self::DRIVER
        )
    }

    async fn null_times(calls: u64) -> Result<Option<Histogram>, DbError> {
        let Ok(session) = Session::without_driver() else { return Ok(None) };
        let statement = Statement::trivial(Product::Odbc);
        Ok(floor::times(&mut Exchange::new(session), &statement, calls).await)
    }

    fn describe(&self) -> String {
        let product = if self.product.is_empty() { "a database" } else { &*self.product };
        format!(
            "{product} over ODBC; version and encryption are not told; nothing keeps statements from \
             writing: a driver need not heed that a session only reads"
        )
    }

    fn methods(&self) -> Methods {
        METHODS
    }

    fn in_its_language(&self, which: Which) -> Option<Statement> {
        statement::odbc::of(which, &self.product)
    }

    fn counting(&self, _: &Arc<Traffic>) -> Self {
        self.clone()
    }

    async fn open(&self, asked: Asked<'_>, form: Form) -> Result<(Exchange, Opened), NotReady> {
        let began_ns = plumb_engine::clock::MonotonicClock.now_ns();
        let (session, _) = self.session(asked, form).await?;
        let total_ns = plumb_engine::clock::MonotonicClock.now_ns().saturating_sub(began_ns);
        Ok((Exchange::new(session), Opened { transport_ns: None, tls_ns: None, total_ns }))
    }

    async fn abandon(&self, connection: Exchange) {
        // its thread ends it, once its driver answers
        drop(connection);
    }

    fn explain(&self, asked: Asked<'_>, trouble: &NotReady) -> DbError {
        let of_statement = |complaint: String| DbError::Statement {
            statement: asked.statement.which.name(),
            complaint,
        };
        match trouble {
            NotReady::TimedOut => {
                let late = std::io::ErrorKind::TimedOut.into();
                EngineError::connect(self.login.server(), &late).into()
            }
            NotReady::Refused(NotOpened::Closed(trouble)) => self.closed(trouble),
            NotReady::Refused(NotOpened::NoTransactions(trouble)) => {
                of_statement(format!("cannot be rolled back, so it is not asked: {trouble}"))
            }
            NotReady::Refused(NotOpened::Statement(trouble)) => {
                of_statement(format!("cannot be prepared: {trouble}"))
            }
        }
    }

    async fn try_out(&self, asked: Asked<'_>, patience: Span) -> Result<Exchange, DbError> {
        let product = "a driver of ODBC";
        let attempt = Attempt { asked, patience, product };
        let may_write = asked.access == Access::RolledBack;
        if asked.statement.which == Which::Own && !may_write {
            return Err(attempt.unkept("no driver of ODBC has to heed that a session only reads"));
        }
        let opened = self.open(asked, Form::Prepared).await;
        let (mut exchange, _) = opened.map_err(|trouble| self.explain(asked, &trouble))?;
        let refused = |trouble: Trouble| match trouble {
            Trouble::Refused { is_over: false, .. } => attempt.wrong(format!("fails: {trouble}")),
            _ => DbError::Gone { server: self.login.server(), cause: trouble.to_string() },
        };
        let brought = attempt.patiently(exchange.tried(), refused).await?;
        if brought.tables == 0 && !may_write {
            return Err(attempt.wrong("returns no rows".into()));
        }
        Ok(exchange)
    }

    async fn counter(&self, _: Asked<'_>, _: Form, _: Span) {}

    async fn readings(&self, (): ()) -> Vec<Reading> {
        vec![untimed("the server's own account", UNTOLD.into())]
    }
}
