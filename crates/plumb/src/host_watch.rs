//! What this machine did while it was measured: watched beside every run, from its own thread.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plumb_command::exit;
use plumb_engine::options::HostOptions;
use plumb_host::{
    ForeignLoad, ForeignWork, HostError, Ledger, MonitorPlan, QuotaWatch, Recorder, RecorderPlan,
    Side, Usage, not_watched,
};
use plumb_measure::{
    CpuQuota, CpuSplit, ForeignLimit, ForeignProcess, HostUse, ProcessorShare, ResultRecord,
    Transport,
};
use plumb_procfs::Root;
use plumb_procfs::process::{
    Owners, ThreadPlacement, memory_limit_of, memory_of, owners_of_tcp, owners_of_udp,
    owners_of_unix, processors_of, share_a_core, shares, that_ran, workers,
};

use crate::far::{FarHostWatch, FarRecording};
use crate::host_record;

/// A process that took less of all processors is named nowhere, percent.
const NAMED_MIN_PCT: f64 = 0.05;

/// Watches this machine, and a far one that is wanted, and says of each result what it saw.
pub(crate) struct HostWatch {
    recorder: Recorder,
    far: Option<FarRecording>,
    root: Root,
    /// How much others may take.
    limit: ForeignLimit,
    /// A controller on this machine: it and its other remotes are not foreign.
    leader: Option<u32>,
    began: Option<Began>,
}

/// What was known when a load began.
struct Began {
    ledger: Ledger,
    tested: Vec<u32>,
    /// We, those under test, and whoever descends from us: none of them is foreign.
    known: Vec<u32>,
    /// Processor time of our driving threads by processor, nanoseconds.
    client: BTreeMap<u32, u64>,
    server: ThreadPlacement,
    /// What control groups hold us, those under test and their descendants back.
    quotas: QuotaWatch,
}

impl Began {
    fn take(root: &Root, tested: Vec<u32>, leader: Option<u32>) -> Option<Self> {
        // first: the load has begun already
        let ledger = Ledger::take(root)?;
        let ours = std::process::id();
        let mut server = ledger.processes().tree(&tested);
        server.retain(|pid| *pid != ours);
        let quotas = QuotaWatch::begin(root, [&[ours], &server[..]].concat());
        let server = ThreadPlacement::of(root, server);
        let known = [&[ours], leader.as_slice(), &tested[..]].concat();
        Some(Self { ledger, tested, known, client: BTreeMap::new(), server, quotas })
    }
}

/// This machine is not watched, and why.
pub(crate) struct Unwatched {
    cause: String,
    limit: ForeignLimit,
}

impl Unwatched {
    /// Adds that nobody knows what happened while `result` was measured.
    pub(crate) fn testify(&self, result: &mut ResultRecord) {
        let validity = std::mem::take(&mut result.validity);
        result.validity = validity.unwatched(&self.cause, self.limit);
    }
}

impl HostWatch {
    /// Begins to watch, and to write down what it sees into `folder`, unless that is not wanted or
    /// nothing can be seen. `leader` is a controller on this machine, whose other remotes are not
    /// foreign.
    ///
    /// # Errors
    /// When a file cannot be made, or a far machine is wanted and this one cannot be watched.
    pub(crate) fn start(
        options: &HostOptions,
        far: Option<FarHostWatch>,
        folder: &Path,
        leader: Option<u32>,
    ) -> anyhow::Result<Result<Self, Unwatched>> {
        let limit = options.foreign_limit;
        if options.host_interval.ns() == 0 {
            return Ok(Err(Unwatched { cause: "--host-interval 0s".into(), limit }));
        }
        let root = Root::of_this_machine();
        let is_near = far.is_none();
        let far = far.map(|far| far.record(options.host_interval, folder)).transpose()?;
        let started = Recorder::start(&RecorderPlan {
            monitor: MonitorPlan { links: options.link.clone(), ..MonitorPlan::default() },
            every: options.host_interval,
            folder: Some(folder.to_path_buf()),
            command: "plumb".into(),
        });
        let recorder = match started {
            Ok(recorder) => recorder,
            // a machine that shows nothing can still measure; its records then say nothing of it
            Err(error @ HostError::Blind(_)) if is_near => {
                exit::note(&format!("{error}; the run goes on without"));
                return Ok(Err(Unwatched { cause: error.to_string(), limit }));
            }
            Err(error) => {
                for file in far.map_or_else(Vec::new, FarRecording::stop) {
                    let _ = fs::remove_file(file); // what is left stays for whoever looks
                }
                return Err(error.into());
            }
        };
        Ok(Ok(Self { recorder, far, root, limit, leader, began: None }))
    }

    /// A load begins over `transport`.
    pub(crate) fn begin(&mut self, transport: Option<&Transport>) {
        let tested = transport.map_or_else(Vec::new, |it| under_test(&self.root, it));
        self.began = Began::take(&self.root, tested, self.leader);
    }

    /// A moment of the load has passed, of its warm-up, too.
    pub(crate) fn tick(&mut self) {
        if let Some(began) = &mut self.began {
            began.quotas.look();
        }
    }

    /// An interval of the load is over, in which driving threads used so many nanoseconds and were
    /// on these processors.
    pub(crate) fn look(&mut self, drivers: &[(u32, u64)]) {
        let Some(began) = &mut self.began else { return };
        for (cpu, ns) in drivers {
            *began.client.entry(*cpu).or_default() += ns;
        }
        began.server.look();
        began.quotas.recorded();
    }

    /// Adds what happened while `result`, whose recorded part began at `began_ns`, was measured.
    pub(crate) fn testify(&mut self, result: &mut ResultRecord, began_ns: u64) {
        let usage = self.recorder.window(began_ns, began_ns + result.duration_ns);
        let mut host = host_record::of_usage(&usage, self.recorder.facts());
        if let Some(mut began) = self.began.take()
            && let Some(after) = Ledger::take(&self.root)
        {
            began.server.look();
            host.placement = Some(self.placement(&began, &usage));
            let load = began.ledger.foreign_until(&after, &began.known);
            host.foreign_pct = load.share_pct();
            host.foreign_source = load.source;
            host.foreign = busiest(&load);
            add_cpu(result, &began, &after, &load);
            let tested = after.processes().tree(&began.tested);
            host.tested_memory_bytes = memory_of(&self.root, &tested);
            let limits = began.tested.iter().filter_map(|pid| memory_limit_of(&self.root, *pid));
            host.tested_memory_limit_bytes = limits.min();
            let processors = processors_of(&self.root, &began.tested);
            let all = self.recorder.facts().cpus_online;
            host.tested_cpus = processors.filter(|it| *it < all);
            (host.client_quota, host.tested_quota) = self.quotas_of(&began, &after, began_ns);
            host.tested = began.tested;
        }
        result.validity = std::mem::take(&mut result.validity).with_host(&host, self.limit);
        result.host = Some(host);
        if let Some(far) = &self.far {
            far.testify(result, began_ns, self.limit);
        }
    }

    /// What control groups leave to us, and to the processes under test that did the work, from
    /// `began_ns` until `after`; and how often they held back us, and whoever ran of those under test.
    fn quotas_of(
        &self,
        began: &Began,
        after: &Ledger,
        began_ns: u64,
    ) -> (Option<CpuQuota>, Option<CpuQuota>) {
        let ours = std::process::id();
        let all = self.recorder.facts().cpus_online;
        let of = |pids: &[u32], ran: &[u32]| began.quotas.of(pids, ran, began_ns, all);
        let used = began.ledger.used_until(after, &began.tested, ours);
        let tested = match workers(&self.root, &used) {
            // who is held back all the time uses too little to be one of those that did the work
            Some(pids) => of(&pids, &that_ran(&used)),
            // in which of their groups they would have been held back cannot be told
            None => of(&began.tested, &[]),
        };
        (of(&[ours], &[ours]), tested)
    }

    /// On which processors the work was done.
    fn placement(&self, began: &Began, usage: &Usage) -> plumb_measure::Placement {
        let share = |(cpu, share_pct): (u32, f64)| ProcessorShare { cpu, share_pct };
        let all = |shares: Vec<(u32, f64)>| shares.into_iter().map(share).collect();
        let placement = plumb_measure::Placement {
            client: all(shares(&began.client.clone().into_iter().collect::<Vec<_>>())),
            server: all(began.server.shares()),
            receive: all(shares(&usage.receive_work())),
            same_core: None,
        };
        placement.judged(|one, other| share_a_core(&self.root, one, other))
    }

    /// What is not watched of this machine, each with the reason.
    pub(crate) fn not_watched(&self) -> Vec<String> {
        not_watched(&self.recorder.so_far().states)
    }

    /// Ends the watching; the files that were written.
    pub(crate) fn stop(self) -> Vec<PathBuf> {
        let far = self.far.map_or_else(Vec::new, FarRecording::stop);
        // a file that could not be written is missing, and the run stands without it
        let ours = self.recorder.stop().map_or_else(|_| Vec::new(), |recorded| recorded.files);
        ours.into_iter().chain(far).collect()
    }
}

/// The processes at the other end of `transport`, when they run on this machine.
fn under_test(root: &Root, transport: &Transport) -> Vec<u32> {
    let owners = if let Some(path) = transport.peer.strip_prefix("unix:") {
        owners_of_unix(root, Path::new(path))
    } else {
        match (transport.local.parse(), transport.peer.parse()) {
            (Ok(local), Ok(peer)) if transport.kind == "udp" => owners_of_udp(root, local, peer),
            (Ok(local), Ok(peer)) => owners_of_tcp(root, local, peer),
            _ => Owners::NotHere,
        }
    };
    match owners {
        Owners::Found(processes) => processes,
        Owners::NotHere | Owners::Hidden => Vec::new(),
    }
}

/// The processes that took most of a foreign load.
fn busiest(load: &ForeignLoad) -> Vec<ForeignProcess> {
    let named = |(work, share_pct): (&ForeignWork, f64)| ForeignProcess {
        pid: work.pid,
        name: work.name.to_string(),
        share_pct,
    };
    let busiest = load.busiest(HostUse::FOREIGN_MAX).map(named);
    busiest.filter(|it| it.share_pct >= NAMED_MIN_PCT).collect()
}

/// Adds the processor time of both sides, as far as their clocks tell: the client's is that of this
/// process alone, the server's that of everybody under test but us.
fn add_cpu(result: &mut ResultRecord, began: &Began, after: &Ledger, load: &ForeignLoad) {
    let failures: u64 = result.failures.values().sum();
    // the clocks are of the warm-up too
    let operations = result.operations + failures + result.driver.warm_up_operations;
    let Some(cpu) = &mut result.cpu else {
        return;
    };
    let ours = std::process::id();
    let split = |side| {
        let used = began.ledger.cpu_per_operation(after, side, operations).ok()?;
        Some(CpuSplit {
            user_ns_per_op: used.user_ns,
            system_ns_per_op: used.system_ns,
            ticks: used.ticks,
        })
    };
    // with a server among our threads nobody can tell the two apart
    cpu.client = split(Side::Process(ours)).filter(|_| !began.tested.contains(&ours));
    if cpu.server_ns_per_op.is_none() {
        // a server that told its own clock is not judged by ours
        let server = Side::Trees { heads: &began.tested, but: ours };
        cpu.server = split(server);
        cpu.server_ns_per_op = began.ledger.cpu_ns_per_operation(after, server, operations);
    }
    cpu.interrupt_ns_per_op = after.interrupt_ns_per_operation(load, operations);
}
