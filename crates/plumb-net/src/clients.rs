//! Several clients at one server at the same time: each a load of its own, with threads,
//! connections and records of its own, as so many processes of niping would be.

use std::sync::{Mutex, PoisonError};

use plumb_engine::{
    EngineError, IntervalRecords, Link, LoadPlan, LoadResult, NotAlike, Protocol, Sampler, Stage,
    client_figures, load,
};
use plumb_measure::{ByteSize, ClientFigures, NipingFigures, Row, Transport, carried_kb_s};
use plumb_wire::extension::Totals;

/// What came of each of several clients, never of none.
pub(crate) type Loads = Vec<LoadResult<()>>;

/// Drives `clients` loads of the same plan that begin together, the first of them watched by
/// `sampler`. Each protocol is given to `done` at its end.
///
/// # Errors
/// When one of them could not begin: then none of them does.
pub(crate) fn run<P: Protocol + Send, L: Link>(
    plan: &LoadPlan,
    clients: usize,
    stage: &mut Stage<'_>,
    protocol: impl Fn() -> P + Sync,
    link: impl Fn() -> L + Sync,
    done: impl Fn(P),
) -> Result<Loads, EngineError> {
    if clients == 1 {
        return Ok(vec![load::run(plan, stage, 1, protocol, link)?.map(done)]);
    }
    let plan_of = |client: usize| {
        let mut plan = plan.clone();
        let turns = client % plan.pin.len().max(1);
        plan.pin.rotate_left(turns);
        let turns = client % plan.netns.len().max(1);
        plan.netns.rotate_left(turns);
        plan
    };
    let plans: Vec<LoadPlan> = (0..clients).map(plan_of).collect();
    let mut quiet: Vec<WithoutIntervals<'_, '_>> =
        stage.samplers.iter_mut().map(|sampler| WithoutIntervals(*sampler)).collect();
    let mut samplers: Vec<&mut dyn Sampler> =
        quiet.iter_mut().map(|sampler| -> &mut dyn Sampler { sampler }).collect();
    let (endpoint, stop) = (stage.endpoint, stage.stop);
    let mut ours = Stage { endpoint, stop, samplers: &mut samplers, gate: None };
    let loads = load::run_side_by_side(&plans, &mut ours, 1, protocol, link)?;
    Ok(loads.into_iter().map(|load| load.map(&done)).collect())
}

/// Keeps what was wrong with an answer, where nothing is kept yet.
pub(crate) fn keep_first(first: &Mutex<Option<String>>, complaint: Option<String>) {
    let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
    *first = first.take().or(complaint);
}

/// The intervals of one client are not those of all.
struct WithoutIntervals<'a, 'b>(&'a mut (dyn Sampler + 'b));

impl Sampler for WithoutIntervals<'_, '_> {
    fn begin(&mut self, transport: Option<&Transport>) {
        self.0.begin(transport);
    }

    fn tick(&mut self) {
        self.0.tick();
    }

    fn interval(&mut self, _: &IntervalRecords) {}
}

/// All clients as one load.
///
/// # Errors
/// When they did not do the same.
pub(crate) fn together(mut loads: Loads) -> Result<LoadResult<()>, NotAlike> {
    let mut all = loads.remove(0);
    loads.into_iter().try_for_each(|one| all.merge(one))?;
    Ok(all)
}

/// The figures of each client; `echo` is the payload of a message that comes back as it went.
pub(crate) fn figures(loads: &[LoadResult<()>], echo: Option<ByteSize>) -> Vec<ClientFigures> {
    let of = |(figures, load): (ClientFigures, &LoadResult<()>)| {
        let row: Option<&Row> = load.recorder.rows().first();
        ClientFigures {
            carried_kb_s: echo.map(|size| carried_kb_s(size.bytes(), figures.throughput_per_s)),
            niping: echo
                .zip(row)
                .and_then(|(size, row)| NipingFigures::of(&row.service, size.bytes())),
            // each connection begins with one message that is not recorded
            messages_sent: figures.messages_sent + load.connections,
            ..figures
        }
    };
    client_figures(loads).into_iter().zip(loads).map(of).collect()
}

/// Adds what the server counted of each client that it can be told by: by the address of its only
/// connection.
pub(crate) fn add_counts(clients: &mut [ClientFigures], totals: &Totals) {
    for client in clients {
        let row = totals.rows.iter().rev().find(|row| Some(&row.peer) == client.address.as_ref());
        client.messages_at_server = row.map(|row| row.served.messages_in);
    }
}
