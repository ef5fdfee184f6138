//! `plumb db ping`: each statement over each kind of connection, in random order.

mod result;
mod statements;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_db_login::{Login, Product};
use plumb_engine::layer::{
    JobError, Measure, NamedFile, Outline, Spread, SpreadParts, SpreadPoint, Watch,
};
use plumb_engine::options::OutputOptions;
use plumb_engine::{
    Endpoint, Lengths, LoadPlan, LoadResult, Stop, clock, load, reachable, result_record,
};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{Histogram, Reading, RemoteSelector, ResultRecord, Tick};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::DbError;
use crate::answer::Limits;
use crate::attribution::{Known, attribute, take_apart};
use crate::beside::Beside;
use crate::client::floor::{CALLS, floor};
use crate::complaints::complain;
use crate::database::{Access, Asked, Database, Form};
use crate::drive::{Load, block_on, drive, reach, runtime, unless_asked};
use crate::hana::Hana;
use crate::ledger::Observations;
use crate::mssql::Mssql;
use crate::mysql::Mysql;
use crate::options::{FOREIGN, PingOptions};
use crate::postgres::Postgres;
use crate::round_trip::{echoes, handshakes};
use crate::statement::{Over, Statement, Which};

use result::{count_observed, name_driver, response};
use statements::{own_statement, statements};

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    statement: usize, // index
    over: Over,
}

/// Statements against a database, planned.
#[derive(Debug)]
pub struct Ping {
    options: PingOptions,
    login: Login,
    statements: Vec<Statement>,
    points: Vec<Point>,
    seed: u64,
}

/// What stays the same for all points.
struct Setup<D> {
    runtime: Runtime,
    endpoint: Endpoint,
    database: D,
    echo: Option<Histogram>,
    floor_ns: Option<u64>,
    explained: Option<Reading>,
    /// The shortest message to the server so far, nanoseconds.
    shortest_ns: Cell<u64>,
}

impl<D> Setup<D> {
    /// The shortest message to the server and back so far, those that were `found` included, nanoseconds.
    fn shortest_ns(&self, found: &Observations) -> u64 {
        let messages = &found.wire.times;
        let ns = if messages.is_empty() { u64::MAX } else { messages.min() };
        self.shortest_ns.set(self.shortest_ns.get().min(ns));
        self.shortest_ns.get()
    }
}

impl Ping {
    /// Checks the options and finds out where, as whom and what to ask.
    ///
    /// # Errors
    /// [`DbError`] when the target cannot be read or the options ask for the impossible.
    pub fn new(options: PingOptions) -> Result<Self, DbError> {
        options.check()?;
        let login = Login::of_target(&options.url)?;
        let own = own_statement(&options, login.product)?;
        if options.explain {
            let told = login.product.explains();
            told.map_err(|why| {
                DbError::Options(format!(
                    "--explain: {why}; leave it out, and look at the plan with the database's own tools"
                ))
            })?;
        }
        let statements = statements(&options, own, login.product);
        let seed = options.load.seed.unwrap_or_else(clock::seed);
        let mut points = points(&statements, &options.over);
        SplitMix64::new(seed).shuffle(&mut points);
        options.load.check(options.callers)?;
        Ok(Self { options, login, statements, points, seed })
    }

    fn access(&self, statement: &Statement) -> Access {
        if statement.which == Which::Own && self.options.allow_writes {
            Access::RolledBack
        } else {
            Access::ReadOnly
        }
    }

    fn asked<'a>(&'a self, statement: &'a Statement) -> Asked<'a> {
        let access = self.access(statement);
        let limits = Limits { rows: self.options.rows.get(), bytes: self.options.size.bytes() };
        Asked { statement, access, limits }
    }

    /// Reaches the server, asking for a password where that helps, and finds out what it is.
    fn ground<D: Database>(
        &mut self,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<Setup<D>, DbError> {
        let patience = self.options.load.connect_timeout;
        let found = self.login.endpoints(&self.options.transport)?;
        let endpoint = reachable(&found, patience, stop)?;
        let stamped = self.options.load.stamps.timestamps.is_some();
        if stamped && !(D::LOOKS && matches!(endpoint, Endpoint::Tcp(_))) {
            return Err(DbError::Options(
                "--timestamps: only packets of TCP are stamped, of a socket that is ours, and this server is \
                 reached otherwise: name its host, or leave --timestamps out"
                    .into(),
            ));
        }
        let runtime = runtime(&Arc::default(), Tick::Free)?;
        let database: D = reach(&runtime, &endpoint, &mut self.login, (patience, stop))?;
        watch.server(database.describe());
        for statement in &mut self.statements {
            if let Some(suitable) = database.in_its_language(statement.which) {
                *statement = suitable;
            }
        }
        let floor = match self.options.load.driver.floor.unwrap_or(CALLS) {
            0 => None,
            calls => floor::<D>(calls)?,
        };
        let floor_ns = floor.as_ref().map(|floor| floor.service_ns.p50);
        if let Some(floor) = floor {
            watch.floor(floor);
        }
        let echo = match &self.options.echo {
            Some(address) => Some(echoes(address, patience, stop)?),
            None => None,
        };
        let shortest_ns = Cell::new(u64::MAX);
        Ok(Setup { runtime, endpoint, database, echo, floor_ns, explained: None, shortest_ns })
    }

    /// Tries every statement once, before anything is measured.
    fn try_all<D: Database>(&self, ground: &mut Setup<D>, stop: &Stop) -> Result<(), DbError> {
        let mut reading = None;
        for statement in &self.statements {
            let asked = self.asked(statement);
            let tried = ground.database.try_out(asked, self.options.load.timeout);
            let connection = block_on(&ground.runtime, unless_asked(stop, tried))?;
            if self.options.explain && statement.which == Which::Own {
                let explained = self.beside().explained(&ground.database, connection, asked);
                reading = Some(block_on(&ground.runtime, unless_asked(stop, explained))?);
            }
        }
        ground.explained = reading;
        Ok(())
    }

    /// How what is asked beside the load is waited for.
    fn beside(&self) -> Beside {
        let load = &self.options.load;
        Beside { connect: load.connect_timeout, operation: load.timeout }
    }

    /// The load of a point; each remote that drives a part has its own pool.
    fn plan(&self, point: Point) -> LoadPlan {
        self.options.load.plan(match point.over {
            Over::Pool => self.options.callers,
            Over::Kept | Over::Connect => std::num::NonZeroUsize::MIN,
        })
    }

    fn measure<D: Database>(
        &self,
        point: Point,
        ground: &Setup<D>,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let statement = &self.statements[point.statement];
        let (asked, database) = (self.asked(statement), &ground.database);
        let plan = self.plan(point);
        let form = match point.over {
            Over::Kept | Over::Pool => Form::Prepared,
            Over::Connect => Form::Text,
        };
        let beforehand = async {
            let handshake = handshakes(&ground.endpoint, plan.connect_timeout).await;
            Ok((handshake, self.beside().counter(database, asked, form).await))
        };
        let (handshake, counter) = block_on(&ground.runtime, unless_asked(stop, beforehand))?;
        let (result, found) = self.load(point, &plan, ground, watch, stop)?;
        let mut record = result_record(&plan, point.labels(statement), Lengths::Any, &result);
        let observed = result.recorder.observed();
        count_observed(&mut record, observed, result.cpu_ns);
        name_driver(&mut record, D::DRIVER, point.over);
        take_apart(&mut record, &found, database.methods());
        complain(&mut record, &found.complaints);
        let mut readings = block_on(&ground.runtime, self.beside().readings(database, counter));
        // the statement first, then the whole server
        let of_plan = ground.explained.clone().filter(|_| statement.which == Which::Own);
        readings.splice(1..1, of_plan);
        record.attribution = attribute(Known {
            statement,
            over: point.over,
            methods: database.methods(),
            log_on_trips: database.log_on_trips(),
            peculiar: database.finding(),
            intermediary: database.intermediary(),
            pool: self.options.pool.get(),
            callers: plan.connections.get(),
            response: response(&result),
            batches: record.batches.clone(),
            found: &found,
            observed,
            looks: D::LOOKS,
            handshake: handshake.as_ref(),
            shortest_ns: ground.shortest_ns(&found),
            echo: ground.echo.as_ref(),
            tls: Some(&result.recorder.handshake),
            floor_ns: ground.floor_ns,
            readings,
            open: plan.open(),
        });
        watch.result(record, result.began_ns)?;
        match found.complaints.stays {
            Some(statement) => Err(DbError::Stays { statement }.into()),
            None => Ok(()),
        }
    }

    /// Drives the load of `point`: what came of it, and what was found out meanwhile.
    fn load<D: Database>(
        &self,
        point: Point,
        plan: &LoadPlan,
        ground: &Setup<D>,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(LoadResult<()>, Observations), JobError> {
        let statement = &self.statements[point.statement];
        let gate = watch.gate();
        let load = Load {
            plan,
            database: &ground.database,
            asked: self.asked(statement),
            over: point.over,
            pool: self.options.pool.get(),
            callers: plan.connections.get(),
            stop,
            gate: gate.as_deref(),
        };
        let mut found = Observations::default();
        let sampler = watch.point(&point.labels(statement));
        let result = load::run_with::<DbError>(plan, &mut [sampler], 1, |outlet| {
            let driven;
            (driven, found) = drive(&load, outlet)?;
            Ok(driven)
        })?;
        if gate.is_some() {
            watch.loaded(&result);
        }
        if let Some(transport) = result.transports.first() {
            watch.reached(transport.clone());
        }
        Ok((result, found))
    }

    fn driver(&self) -> &'static str {
        match self.login.product {
            Product::Postgres => Postgres::DRIVER,
            Product::Mysql => Mysql::DRIVER,
            Product::Mssql => Mssql::DRIVER,
            Product::Hana => Hana::DRIVER,
            #[cfg(feature = "odbc")]
            Product::Odbc => crate::odbc::Odbc::DRIVER,
        }
    }

    fn run_against<D: Database>(
        &mut self,
        watch: &mut dyn Watch,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let mut ground = self.ground::<D>(watch, stop)?;
        self.try_all(&mut ground, stop)?;
        for point in &self.points {
            if stop.asked() {
                break;
            }
            self.measure(*point, &ground, watch, stop)?;
        }
        Ok(())
    }
}

impl Measure for Ping {
    fn outline(&self) -> Outline {
        let options = &self.options;
        let mut in_force: BTreeMap<_, _> = options.load.in_force(self.seed).into_iter().collect();
        for foreign in FOREIGN {
            in_force.remove(foreign);
        }
        let names = |of: Vec<&str>| json!(of);
        in_force.insert(
            "ask".into(),
            names(self.statements.iter().map(|statement| statement.which.name()).collect()),
        );
        in_force.insert("over".into(), names(options.over.iter().map(|it| it.name()).collect()));
        if let Some(own) = self.statements.iter().find(|it| it.which == Which::Own) {
            in_force.insert("statement".into(), json!(own.text));
        }
        in_force.insert("pool".into(), json!(options.pool));
        in_force.insert("callers".into(), json!(options.callers));
        in_force.insert("rows".into(), json!(options.rows));
        in_force.insert("size".into(), json!(options.size));
        in_force.insert("allow-writes".into(), json!(options.allow_writes));
        in_force.insert("explain".into(), json!(options.explain));
        if let Some(echo) = &options.echo {
            in_force.insert("echo".into(), json!(echo));
        }
        let plans = self.points.iter().map(|_| options.load.plan(options.callers));
        Outline {
            layer: "db",
            verb: "ping",
            options: in_force,
            open: options.load.rate.is_some(),
            seed: self.seed,
            target: format!("{}/{}", self.login.server(), self.login.database),
            pin: options.load.driver.pin.clone(),
            points: self.points.len(),
            takes: LoadPlan::takes_all(plans),
        }
    }

    fn output(&self) -> &OutputOptions {
        &self.options.output
    }

    fn spread(&mut self) -> Result<&mut dyn Spread, JobError> {
        Ok(self)
    }

    fn files(&self) -> Vec<NamedFile> {
        self.options.file.iter().map(|path| NamedFile::lone(path)).collect()
    }

    fn remotes(&self) -> Option<&RemoteSelector> {
        self.options.load.spread.remotes.as_ref()
    }

    fn run(&mut self, watch: &mut dyn Watch, stop: &Stop) -> Result<(), JobError> {
        match self.login.product {
            Product::Postgres => self.run_against::<Postgres>(watch, stop),
            Product::Mysql => self.run_against::<Mysql>(watch, stop),
            Product::Mssql => self.run_against::<Mssql>(watch, stop),
            Product::Hana => self.run_against::<Hana>(watch, stop),
            #[cfg(feature = "odbc")]
            Product::Odbc => self.run_against::<crate::odbc::Odbc>(watch, stop),
        }
    }
}

impl Spread for Ping {
    fn points(&self) -> Vec<SpreadPoint> {
        let point = |point: &Point| SpreadPoint {
            labels: point.labels(&self.statements[point.statement]),
            plan: self.plan(*point),
            lengths: Lengths::Any,
        };
        self.points.iter().map(point).collect()
    }

    fn conclude(&mut self, number: usize, result: &mut ResultRecord, parts: &SpreadParts<'_>) {
        count_observed(result, parts.whole.recorder.observed(), parts.whole.cpu_ns);
        name_driver(result, self.driver(), self.points[number].over);
    }
}

impl Point {
    fn labels(self, statement: &Statement) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("statement".into(), statement.which.name().into()),
            ("over".into(), self.over.name().into()),
        ])
    }
}

/// Every statement over every kind of connection, each pair once.
fn points(statements: &[Statement], over: &[Over]) -> Vec<Point> {
    let mut points = Vec::new();
    for statement in 0..statements.len() {
        for over in over {
            let point = Point { statement, over: *over };
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    points
}
