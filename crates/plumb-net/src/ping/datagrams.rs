//! Round trips of single datagrams over UDP.

use std::sync::{Mutex, PoisonError};

use plumb_engine::layer::JobError;
use plumb_engine::{Datagrams, Endpoint, Protocol as _, Stage, clock};
use plumb_measure::{Figure, ResultRecord};

use super::options::PingOptions;
use super::point::Point;
use super::{LoadContext, Ping, figure};
use crate::datagram::{length_of, path_of};
use crate::{DatagramProbe, DatagramTally, NetError, clients};

/// Checks what options can be together.
///
/// # Errors
/// [`NetError`] names those that cannot, and what to do instead.
pub(super) fn check(options: &PingOptions, over_udp: bool) -> Result<(), NetError> {
    let wrong = |text| Err(NetError::Transport(text));
    if !over_udp {
        return match options.do_not_fragment {
            true => {
                wrong("--do-not-fragment is of datagrams: add --transport udp, or leave it out")
            }
            false => Ok(()),
        };
    }
    if options.tls.tls {
        return wrong("--tls encrypts connections, and UDP has none: leave --tls or UDP out");
    }
    if options.load.depth.get() > 1 {
        return wrong(
            "--depth: over UDP a socket has one message under way, because answers may come in any \
             order; take more --connections, which are sockets then",
        );
    }
    if options.asymmetry.is_asked_for() {
        return wrong(
            "--request, --response, --replies and --preset need a connection: over UDP a message \
             comes back as it went; take --size",
        );
    }
    options.size.iter().try_for_each(|size| length_of(*size).map(drop))
}

impl Ping {
    /// Looks at the path before anything is sent over it.
    ///
    /// # Errors
    /// When a datagram that may not be cut into fragments does not fit.
    pub(super) fn check_path(&self, endpoint: &Endpoint) -> Result<(), JobError> {
        path_of(endpoint, &self.options.size, self.options.do_not_fragment)?;
        Ok(())
    }

    /// Drives one point over UDP; its result and when its recorded part began.
    pub(super) fn load_datagrams(
        &self,
        point: Point,
        bytes: usize,
        at: &mut LoadContext<'_>,
    ) -> Result<(ResultRecord, u64), JobError> {
        let plan = self.options.load.plan(point.connections);
        let labels = self.labels(point);
        let gate = at.watch.gate();
        let sampler = at.watch.point(&labels);
        let mut stage = Stage {
            endpoint: at.endpoint,
            stop: at.stop,
            samplers: &mut [sampler],
            gate: gate.as_deref(),
        };
        let all = Mutex::new(DatagramTally::default());
        let link = || Datagrams { never_fragment: self.options.do_not_fragment };
        let first = Mutex::new(None);
        let loads = clients::run(
            &plan,
            self.options.clients.get(),
            &mut stage,
            || DatagramProbe::new(bytes, clock::wall_ns()),
            link,
            |probe| {
                clients::keep_first(&first, probe.complaint());
                all.lock().unwrap_or_else(PoisonError::into_inner).merge(&probe.tally());
            },
        )?;
        let loads = (loads, first.into_inner().unwrap_or_else(PoisonError::into_inner));
        let (mut result, began_ns) = self.conclude_loads(point, (&plan, labels), loads, at)?;
        let tally = all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mtu = path_of(at.endpoint, &[], false).unwrap_or_default();
        result.niping = None; // niping knows no datagrams
        result.clients.iter_mut().for_each(|client| client.niping = None);
        result.figures.extend(figures(&tally));
        if let Some(mtu) = mtu {
            let formula = "longest IP packet that goes there in one piece, as this machine knows";
            result.figures.push(figure("path MTU", f64::from(mtu.bytes), "B", formula));
        }
        Ok((result, began_ns))
    }
}

/// What became of the datagrams, as far as it is known.
#[expect(clippy::cast_precision_loss, reason = "a figure is a float")]
fn figures(tally: &DatagramTally) -> Vec<Figure> {
    let count =
        |name: &str, value: u64, formula: &str| figure(name, value as f64, "datagrams", formula);
    let mut figures = vec![
        count("sent", tally.sent, "messages, the warm-up included"),
        count("answered in time", tally.answered, "of those sent"),
        count(
            "answered late",
            tally.late,
            "of those sent: after the time-out, and counted as lost",
        ),
        count("answered twice", tally.again, "answers that had come before"),
    ];
    if tally.counted {
        let formula = "of those sent: not seen by the server when it answered a later one";
        figures.push(count("lost on the way there", tally.lost_there, formula));
    }
    figures
}
