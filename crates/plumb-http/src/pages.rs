//! Pages asked for in turn, over either version of HTTP: what drives them, and what is known after.

use plumb_engine::{Crew, EngineError, LoadPlan, LoadResult, Protocol};
use plumb_measure::Http2Figures;
use plumb_trace::Traces;
use plumb_wire::http::{Ask, Scheme};

use crate::probe::{Judge, Limits, MultiplexedProbe, Probe};
use crate::proof::Negotiating;
use crate::route::{Route, Supervision};
use crate::{HttpError, HttpVersion};

/// Which pages, and what is demanded of their answers.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub(crate) version: HttpVersion,
    /// Complete bytes of HTTP/1.1, one request a page.
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) scheme: Scheme,
    pub(crate) ask: Ask,
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
    /// Each is asked for on a connection of its own.
    pub(crate) closing: bool,
    pub(crate) traces: Option<Traces>,
    /// Who asks is proved; over HTTP/1.1 alone.
    pub(crate) negotiating: Option<Negotiating>,
}

/// What is known of the pages that one thread asked for, beside the records.
#[derive(Clone, Debug)]
pub(crate) struct PageReport {
    /// The first thing that was not as demanded.
    pub(crate) complaint: Option<String>,
    /// The names of the times that the server told, by their numbers.
    pub(crate) told_names: Vec<String>,
    /// Times that were told but not kept, because there were too many.
    pub(crate) untold: u64,
    /// The last head that came for the first page.
    pub(crate) last_head: Vec<u8>,
    /// What connections of HTTP/2 did.
    pub(crate) http2: Option<Http2Figures>,
}

impl PageReport {
    fn new(judge: &Judge, last_head: &[u8], http2: Option<&Http2Figures>) -> Self {
        Self {
            complaint: judge.complaint(),
            told_names: judge.told_names(),
            untold: judge.untold(),
            last_head: last_head.to_vec(),
            http2: http2.cloned(),
        }
    }

    /// What the connections of all threads did over HTTP/2.
    pub(crate) fn http2_of(reports: &[Self]) -> Option<Http2Figures> {
        Http2Figures::of_all(reports.iter().filter_map(|report| report.http2.as_ref()))
    }
}

impl Pages {
    /// Drives `plan` over `route`.
    ///
    /// # Errors
    /// What the engine says when the load cannot begin; [`HttpError::Http2Request`].
    pub(crate) fn drive<'a>(
        self,
        route: &'a Route,
        plan: &LoadPlan,
        by: Supervision<'a>,
    ) -> Result<LoadResult<PageReport>, HttpError> {
        match self.version {
            HttpVersion::One => {
                let mut probe = Probe::new(self.requests, self.ask, self.limits, self.seed);
                if self.closing {
                    probe = probe.closing();
                }
                let probe =
                    probe.traced(self.traces).stamped(plan.stamps).negotiating(self.negotiating);
                let load = driven(route, plan, &probe, Probe::pages, by)?;
                Ok(load.map(|it| PageReport::new(it.judge(), it.last_head(0), None)))
            }
            HttpVersion::Two => {
                let Self { requests, scheme, limits, seed, .. } = self;
                let mut probe = MultiplexedProbe::new(&requests, scheme, limits, seed)?;
                if self.closing {
                    probe = probe.closing();
                }
                let pages = MultiplexedProbe::pages;
                let load = driven(route, plan, &probe.traced(self.traces), pages, by)?;
                Ok(load.map(|it| PageReport::new(it.judge(), it.last_head(), Some(it.figures()))))
            }
        }
    }
}

/// Drives `plan` with copies of `probe`, one a thread.
fn driven<'a, P: Protocol + Clone + Send>(
    route: &'a Route,
    plan: &LoadPlan,
    probe: &P,
    pages: impl Fn(&P) -> usize,
    by: Supervision<'a>,
) -> Result<LoadResult<P>, EngineError> {
    let crew = [Crew { plan, user_schedule: None }];
    let rows = pages(probe).into();
    route.drive_crews(&crew, rows, |_| probe.clone(), by)
}
