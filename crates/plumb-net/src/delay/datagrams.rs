//! The line for datagrams.

use plumb_engine::layer::{JobError, Output, note};
use plumb_engine::{Address, DatagramSocket, Endpoint, Family, Stop};
use plumb_measure::{Share, counted, grouped};
use plumb_relay::{
    DatagramPathPlan, DatagramPathTotals, DatagramRelayPlan, DatagramRelayTotals, PathPlan,
    relay_datagrams,
};

use super::{Delay, DelayOptions, passed, way};
use crate::NetError;

/// What `address` stands for when it is sent datagrams.
///
/// # Errors
/// [`NetError`] when it cannot be, or is unknown.
pub(super) fn target(address: Address) -> Result<Vec<Endpoint>, NetError> {
    let text = "a line for datagrams leads to HOST:PORT or udp:HOST:PORT";
    let address = address.over_udp().ok_or(NetError::Transport(text))?;
    Ok(Endpoint::resolve_any(&address, Family::Any)?)
}

impl DelayOptions {
    /// The line carries datagrams.
    ///
    /// # Errors
    /// [`NetError::Transport`] names options that do not go together.
    pub(super) fn over_udp(&self) -> Result<bool, NetError> {
        let wrong = |text| Err(NetError::Transport(text));
        let udp = |text: &String| matches!(Address::parse(text, 0), Ok(Address::Udp { .. }));
        let shares = &self.datagrams;
        let shares = shares.lose.or(shares.duplicate).or(shares.reorder);
        if !self.listen.iter().any(udp) {
            return match shares {
                Some(_) => wrong(
                    "--lose, --duplicate and --reorder are of datagrams: listen on udp:ADDRESS, or \
                     leave them out",
                ),
                None => Ok(false),
            };
        }
        if self.listen.len() > 1 {
            return wrong(
                "a line for datagrams listens on one address: start another for the others",
            );
        }
        if self.refuse.is_some() || self.cut_after.is_some() || self.idle_cut.is_some() {
            return wrong(
                "--refuse, --cut-after and --idle-cut are of connections: take --lose, --duplicate or \
                 --reorder",
            );
        }
        Ok(true)
    }

    fn datagram_plan(&self, seed: u64, there: PathPlan, back: PathPlan) -> DatagramRelayPlan {
        let of = |path| DatagramPathPlan {
            path,
            lose: self.datagrams.lose,
            double: self.datagrams.duplicate,
            overtake: self.datagrams.reorder,
        };
        DatagramRelayPlan {
            there: of(there),
            back: of(back),
            allow: self.allow.clone(),
            max_clients: self.max_connections,
            for_time: self.for_time,
            seed,
        }
    }
}

impl Delay {
    /// Carries datagrams until it is told to stop.
    pub(super) fn carry_datagrams(
        &self,
        out: Output<'_>,
        log: Output<'_>,
        stop: &Stop,
    ) -> Result<(), JobError> {
        let (plan, target) = (&self.plan, self.target.first().ok_or("no address to send to")?);
        let plan = self.options.datagram_plan(plan.seed, plan.there, plan.back);
        let sockets = DatagramSocket::bind_all(&self.options.listen, 0)?;
        // a name of several addresses: clients find the first
        let near = sockets.first().ok_or("no address to listen on")?;
        writeln!(out, "listening on {}", near.local())?;
        out.flush()?;
        if !self.options.quiet {
            let (there, back) = (way(plan.there.path), way(plan.back.path));
            let shares = shares(&plan.there);
            note(
                log,
                format!("to {target}: {there} there, {back} back{shares}, seed {}", plan.seed),
            );
        }
        for line in summary(&relay_datagrams(&plan, near, target, stop)?) {
            note(log, line);
        }
        Ok(())
    }
}

fn shares(path: &DatagramPathPlan) -> String {
    let said = [("lost", path.lose), ("twice", path.double), ("reordered", path.overtake)];
    let said = said.into_iter().filter_map(|(what, share): (_, Option<Share>)| {
        share.map(|share| format!(", {share} {what}"))
    });
    said.collect()
}

/// What became of everything, line by line.
fn summary(totals: &DatagramRelayTotals) -> Vec<String> {
    let away = match totals.turned_away {
        0 => String::new(),
        n => format!(", {} turned away", counted(n, "datagram")),
    };
    let mut lines = vec![format!("total: {}{away}", counted(totals.clients, "client"))];
    for (name, path) in [("there", &totals.there), ("back", &totals.back)] {
        let DatagramPathTotals { path, received, lost, doubled, overtaken, overflowed } = path;
        let [lost, doubled, overtaken, overflowed] =
            [lost, doubled, overtaken, overflowed].map(|n| grouped(*n));
        lines.push(format!(
            "{name}: {} received, {lost} lost, {doubled} doubled, {overtaken} reordered, {overflowed} \
             without room; {}",
            counted(*received, "datagram"),
            passed(path)
        ));
    }
    lines
}
