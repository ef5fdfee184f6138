//! Several clients at one server at the same time: each a load of its own, with threads,
//! connections and records of its own, as so many processes of niping would be.

use std::sync::Barrier;
use std::thread;

use plumb_engine::layer::{JobError, RemoteLoad};
use plumb_engine::{
    EngineError, IntervalRecords, Link, LoadPlan, LoadResult, NotAlike, Protocol, Sampler, Stage,
    load,
};
use plumb_measure::{
    ByteSize, ClientFigures, NipingFigures, Overlap, Recorded, ResultRecord, Row, Transport,
    Validity, carried_kb_s,
};
use plumb_wire::extension::Totals;

/// What came of each of several clients, never of none.
pub(crate) type Loads = Vec<LoadResult<()>>;

/// Drives `clients` loads of the same plan that begin together, the first of them watched by
/// `sampler`.
///
/// # Errors
/// When one of them could not begin.
pub(crate) fn run<P: Protocol + Send, L: Link>(
    plan: &LoadPlan,
    clients: usize,
    stage: &mut Stage<'_>,
    protocol: impl Fn() -> P + Sync,
    link: impl Fn() -> L + Sync,
) -> Result<Loads, EngineError> {
    if clients == 1 {
        return Ok(vec![load::run(plan, stage, 1, protocol, link)?.map(drop)]);
    }
    let start = Barrier::new(clients);
    let (endpoint, stop, start) = (stage.endpoint, stage.stop, &start);
    let (protocol, link) = (&protocol, &link);
    let plan_of = |client: usize| {
        let mut plan = plan.clone();
        let turns = client % plan.pin.len().max(1);
        plan.pin.rotate_left(turns);
        let turns = client % plan.netns.len().max(1);
        plan.netns.rotate_left(turns);
        plan
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..clients)
            .map(|client| {
                let plan = plan_of(client);
                scope.spawn(move || {
                    start.wait();
                    let mut stage = Stage { endpoint, stop, samplers: &mut [], gate: None };
                    load::run(&plan, &mut stage, 1, protocol, link)
                })
            })
            .collect();
        let mut quiet: Vec<WithoutIntervals<'_, '_>> =
            stage.samplers.iter_mut().map(|sampler| WithoutIntervals(*sampler)).collect();
        let mut samplers: Vec<&mut dyn Sampler> =
            quiet.iter_mut().map(|sampler| -> &mut dyn Sampler { sampler }).collect();
        start.wait();
        let mut ours = Stage { endpoint, stop, samplers: &mut samplers, gate: None };
        let first = load::run(&plan_of(0), &mut ours, 1, protocol, link);
        let rest = others.into_iter().map(|other| {
            other.join().unwrap_or_else(|_| Err(EngineError::Plan("a client panicked".into())))
        });
        std::iter::once(first).chain(rest).map(|load| Ok(load?.map(drop))).collect()
    })
}

/// What remotes have driven, each a client, and what each of them makes of it.
///
/// # Errors
/// When all of them were lost before anything was recorded.
pub(crate) fn of_remotes(remotes: Vec<RemoteLoad>) -> Result<(Loads, Vec<RemoteLoad>), JobError> {
    let mut loads = Loads::new();
    let mut parts = Vec::new();
    for mut remote in remotes {
        loads.extend(remote.load.take());
        parts.push(remote);
    }
    if loads.is_empty() {
        let lost: Vec<String> = parts.iter().map(words_of_loss).collect();
        return Err(format!("all remotes were lost: {}", lost.join("; ")).into());
    }
    Ok((loads, parts))
}

fn words_of_loss(remote: &RemoteLoad) -> String {
    format!("{}: {}", remote.name, remote.lost.as_deref().unwrap_or("nothing is known of it"))
}

/// Adds to `result` what each remote says of its own part, and which of them were lost.
pub(crate) fn judged_by(result: &mut ResultRecord, remotes: &[RemoteLoad]) {
    if remotes.is_empty() {
        return;
    }
    let own = std::mem::take(&mut result.validity);
    let named = remotes
        .iter()
        .filter_map(|remote| Some((remote.name.as_str(), &remote.result.as_ref()?.validity)));
    let mut validity = Validity::of_all(std::iter::once(("", &own)).chain(named));
    for remote in remotes.iter().filter(|remote| remote.lost.is_some()) {
        validity = validity.cut_short_by(&words_of_loss(remote));
    }
    result.validity = validity;
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
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub(crate) fn figures(loads: &[LoadResult<()>], echo: Option<ByteSize>) -> Vec<ClientFigures> {
    let of = |(client, load): (u64, &LoadResult<()>)| {
        let row: Option<&Row> = load.recorder.rows().first();
        let times = row.map(|row| &row.response).filter(|times| !times.is_empty());
        let operations = load.recorder.operations();
        let throughput_per_s = operations as f64 * 1e9 / load.duration_ns.max(1) as f64;
        ClientFigures {
            client,
            address: load.transports.first().map(|transport| transport.local.clone()),
            operations,
            failures: load.recorder.failures().total(),
            throughput_per_s,
            carried_kb_s: echo.map(|size| carried_kb_s(size.bytes(), throughput_per_s)),
            p50: times.map(|times| times.quantile(0.5)),
            p99: times.map(|times| times.quantile(0.99)),
            niping: echo
                .zip(row)
                .and_then(|(size, row)| NipingFigures::of(&row.service, size.bytes())),
            // each connection begins with one message that is not recorded
            messages_sent: operations + load.warm_up_operations + load.connections,
            messages_at_server: None,
        }
    };
    (1..).zip(loads).map(of).collect()
}

/// What all clients did while all of them ran.
pub(crate) fn overlap(loads: &[LoadResult<()>], echo: Option<ByteSize>) -> Option<Overlap> {
    let recorded =
        loads.iter().map(|load| Recorded { began_ns: load.began_ns, intervals: &load.intervals });
    let clients: Vec<Recorded<'_>> = recorded.collect();
    Overlap::of(&clients, echo.map(ByteSize::bytes))
}

/// Adds what the server counted of each client that it can be told by: by the address of its only
/// connection.
pub(crate) fn add_counts(clients: &mut [ClientFigures], totals: &Totals) {
    for client in clients {
        let row = totals.rows.iter().rev().find(|row| Some(&row.peer) == client.address.as_ref());
        client.messages_at_server = row.map(|row| row.served.messages_in);
    }
}
