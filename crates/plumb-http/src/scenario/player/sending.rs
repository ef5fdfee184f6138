//! What a user sends.

use plumb_engine::{Next, Op};
use plumb_measure::FailureKind;
use plumb_scenario::file::Cookies;
use plumb_scenario::refused::log_on_key;
use plumb_trace::{Traces, insert_parent};

use super::{NOW_NS, Player, User};
use crate::proof::Proof;
use crate::request::insert_line;
use crate::scenario::request_template::Sent;
use crate::scenario::user_script::Script;

impl Player {
    /// Appends the request of step `number`, or of the redirect behind it, as the operation `tag`.
    pub(super) fn write(
        &mut self,
        user: &mut User,
        (number, tag): (u16, u16),
        out: &mut Vec<u8>,
    ) -> Next {
        let begins = out.len();
        let Self { script, spare, .. } = self;
        let step = &script.steps[usize::from(number)];
        let op = Op { label: step.row, tag };
        let jar = &user.jar;
        let cookies = |route: u16, target: &str, line: &mut Vec<u8>| {
            script.cookies != Cookies::Off && jar.write(usize::from(route), target, NOW_NS, line)
        };
        let hop = user.exchange.pending().or(user.exchange.aimed.as_deref());
        let gets = hop.is_some_and(|hop| hop.gets);
        let written = step.request_template.write(
            &script.origins,
            hop,
            &user.variables,
            cookies,
            (out, spare),
        );
        let refused = written.as_ref().is_ok_and(|sent| refused_at(script, sent, out));
        let exchange = &mut user.exchange;
        (exchange.step, exchange.tag) = (number, tag);
        if let Some(chain) = &mut exchange.chain {
            chain.pending = false;
        }
        match written {
            Ok(_) if refused => {
                out.truncate(begins);
                user.refused = true;
                Next::Fail(op, FailureKind::NotSent)
            }
            Ok(sent) => {
                exchange.under_way = true;
                exchange.route = sent.route;
                exchange.target.clear();
                exchange.target.push_str(std::str::from_utf8(&out[sent.target]).unwrap_or("/"));
                exchange.log_on =
                    sent.authorization.and_then(|at| log_on_key((step.row, sent.route), &out[at]));
                exchange.trace = self.traces.as_ref().and_then(Traces::next);
                let proof = script.proof.as_ref().filter(|_| sent.route == 0);
                if let Some(value) = exchange.negotiation.as_mut().and_then(|it| it.take())
                    && proof.is_some()
                {
                    insert_line("Authorization", &value, begins, out);
                }
                exchange.proof = None;
                if let (Some(Proof::Digest(who)), Some(session)) = (proof, &mut user.digest) {
                    let method = step.request_template.method(gets);
                    let value = session.answer(who, method, &exchange.target);
                    exchange.proof = Some(session.last());
                    exchange.log_on = log_on_key((0, 0), who.authorization().as_bytes());
                    insert_line("Authorization", &value, begins, out);
                }
                if let Some(trace) = exchange.trace {
                    insert_parent(trace, begins, out);
                }
                match sent.route {
                    0 => Next::Send(op),
                    route => Next::SendOver { route, op, more: false },
                }
            }
            Err(unsent) => {
                let words = unsent.words(&script.names);
                self.complain(number, || words);
                Next::Fail(op, FailureKind::NotSent)
            }
        }
    }
}

/// Whether the request in `out` that was written for `sent` carries a user and a password that were refused
/// where it goes.
fn refused_at(script: &Script, sent: &Sent, out: &[u8]) -> bool {
    if !script.refused.any() {
        return false;
    }
    let written = || std::str::from_utf8(&out[sent.authorization.clone()?]).ok();
    let authorization = match &script.proof {
        Some(Proof::Digest(who)) if sent.route == 0 => Some(who.authorization()),
        Some(_) | None => written(),
    };
    authorization.is_some_and(|it| script.refused.has(sent.route, it))
}
