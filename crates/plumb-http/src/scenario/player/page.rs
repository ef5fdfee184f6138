//! Requests of a user that are made at the same time, as a browser asks for what a page embeds.

use std::collections::VecDeque;
use std::sync::Arc;

use plumb_engine::{Next, Op, OperationGroup};
use plumb_measure::{FailureKind, Outcome};
use plumb_scenario::answer::Answer;

use super::exchange::Exchange;
use super::{Player, User};
use crate::scenario::origin::Place;
use crate::scenario::program::Parallel;
use crate::scenario::request_template::Hop;
use crate::scenario::resources::add_left_out;

/// The operations of what pages embed, from this one on: no step has such a number.
const RESOURCE_TAGS: u16 = 1 << 15;

/// Where a user is in them. The request that was looked at last is [`User::exchange`]; the others
/// that are under way stand here.
#[derive(Debug)]
pub(super) struct Page {
    row: Option<u16>,
    /// Requests under way to one host at the same time.
    at_once: usize,
    /// When the first was sent, on the clock of the run.
    began_ns: Option<u64>,
    /// All of them began within the recorded part of the run.
    counts: bool,
    /// How the first failed that did.
    failed: Option<FailureKind>,
    waiting: VecDeque<Part>,
    exchanges: Vec<Exchange>,
}

/// What a page embeds that is asked for behind it.
#[derive(Debug, Default)]
pub(super) struct Embeds {
    /// The server that its step asked first.
    first: u16,
    places: Vec<Place>,
}

/// A request that is not made yet.
#[derive(Clone, Debug)]
struct Part {
    step: u16,
    /// Of what a page embeds: where it goes, and its operation.
    embedded: Option<(Hop, u16)>,
    /// Nobody knows whether it is to be made.
    undecided: bool,
}

impl Part {
    /// What `step` asks for.
    fn of(step: u16) -> Self {
        Self { step, embedded: None, undecided: false }
    }
}

impl Player {
    /// Looks what the page embeds that is the right `answer` to step `number`, if that is asked for.
    pub(super) fn look_for_resources(&mut self, user: &mut User, number: u16, answer: &Answer<'_>) {
        let step = &self.script.steps[usize::from(number)];
        let origins = &self.script.origins;
        let exchange = &user.exchange;
        let (Some(resources), Some(asked)) =
            (&step.resources, origins.url(exchange.route, &exchange.target))
        else {
            return;
        };
        let found = resources.of_page(answer, &asked, origins);
        for (why, links) in &found.left_out {
            add_left_out(&mut self.counts.left_out, why, *links);
        }
        user.embeds = Embeds { first: exchange.first(), places: found.places };
    }

    /// Begins with `parallel`; false when all of it is left out in this turn.
    pub(super) fn begin_page(&mut self, user: &mut User, parallel: &Parallel) -> bool {
        let mut waiting = VecDeque::new();
        for part in &parallel.parts {
            if part.share.is_some_and(|share| !user.draw.happens(share)) {
                continue;
            }
            let holds = part.condition.as_ref().map_or(Ok(true), |it| it.holds(&user.variables));
            match holds {
                Ok(false) => {}
                Ok(true) => waiting.push_back(Part::of(part.step)),
                Err(undecided) => {
                    let script = Arc::clone(&self.script);
                    self.complain(part.step, || undecided.words(&script.names));
                    waiting.push_back(Part { undecided: true, ..Part::of(part.step) });
                }
            }
        }
        let mut at_once = self.at_once;
        if let Some(resources) = &parallel.resources {
            let Embeds { first, places } = std::mem::take(&mut user.embeds);
            waiting.extend((RESOURCE_TAGS..).zip(places).map(|(tag, place)| Part {
                embedded: Some((Hop { place, first, gets: true }, tag)),
                ..Part::of(resources.step)
            }));
            at_once = resources.at_once.map_or(at_once, |most| most.min(at_once));
        }
        if waiting.is_empty() {
            return false;
        }
        user.page = Some(Box::new(Page {
            row: parallel.row,
            at_once,
            began_ns: None,
            counts: true,
            failed: None,
            waiting,
            exchanges: Vec::new(),
        }));
        true
    }

    /// Appends the next request of the page that `user` is at.
    pub(super) fn encode_part(&mut self, user: &mut User, out: &mut Vec<u8>) -> Next {
        user.asked = true;
        let now_ns = self.now_ns;
        let Some(page) = user.page.as_deref_mut() else { return Next::Wait };
        page.began_ns.get_or_insert(now_ns);
        let next = if let Some(tag) = pending(&user.exchange, page) {
            page.look_at(&mut user.exchange, tag);
            self.write(user, (user.exchange.step, tag), out)
        } else if let Some(at) = self.eligible(user) {
            let Some(part) = user.page.as_deref_mut().and_then(|page| page.waiting.remove(at))
            else {
                return Next::Wait;
            };
            if let Some(page) = user.page.as_deref_mut() {
                page.put_by(&mut user.exchange);
            }
            if part.undecided {
                (user.exchange.step, user.exchange.tag) = (part.step, part.step);
                let label = self.script.steps[usize::from(part.step)].row;
                return Next::Fail(Op { label, tag: part.step }, FailureKind::NotSent);
            }
            let (aimed, tag) = part.embedded.unzip();
            user.exchange.aimed = aimed.map(Box::new);
            self.write(user, (part.step, tag.unwrap_or(part.step)), out)
        } else {
            return Next::Wait;
        };
        let more = user.page.as_deref().is_some_and(|it| pending(&user.exchange, it).is_some())
            || self.eligible(user).is_some();
        match next {
            Next::Send(op) => Next::SendOver { route: 0, op, more },
            Next::SendOver { route, op, .. } => Next::SendOver { route, op, more },
            other => other,
        }
    }

    /// True when the page that `user` is at has something to ask for now.
    pub(super) fn has_part(&self, user: &User) -> bool {
        let page = user.page.as_deref();
        page.is_some_and(|page| pending(&user.exchange, page).is_some())
            || self.eligible(user).is_some()
    }

    /// The first that waits and whose host takes another request. Where a template leads is known only
    /// when it is made: until then it counts as the base.
    fn eligible(&self, user: &User) -> Option<usize> {
        let page = user.page.as_deref()?;
        let all = || page.exchanges.iter().chain([&user.exchange]);
        page.waiting.iter().position(|part| {
            let step = &self.script.steps[usize::from(part.step)];
            let route = match &part.embedded {
                Some((hop, _)) => hop.place.route,
                None => step.request_template.route().unwrap_or(0),
            };
            let busy = all().filter(|it| it.is_active() && it.route == route);
            busy.count() < page.at_once
        })
    }

    /// One request of the page that `user` is at has ended: how long all of them took, nanoseconds,
    /// whether that counts, and how the first of them failed. `None`: there are others.
    pub(super) fn part_ended(
        &mut self,
        user: &mut User,
        counts: bool,
        failed: Option<FailureKind>,
    ) -> Option<(u64, bool, Option<FailureKind>)> {
        let page = user.page.as_deref_mut()?;
        page.counts &= counts;
        page.failed = page.failed.or(failed);
        if !page.waiting.is_empty() || page.exchanges.iter().any(Exchange::is_active) {
            return None;
        }
        let page = user.page.take()?;
        let took_ns = self.now_ns.saturating_sub(page.began_ns.unwrap_or(self.now_ns));
        let outcome = page.failed.map_or(Outcome::Ok, Outcome::Failed);
        let group = page.row.filter(|_| page.counts);
        self.complete.extend(group.map(|row| OperationGroup { row, took_ns, outcome }));
        Some((took_ns, page.counts, page.failed))
    }
}

/// The request whose redirect is to be asked for.
fn pending(looked_at: &Exchange, page: &Page) -> Option<u16> {
    let mut all = page.exchanges.iter().chain([looked_at]);
    all.find(|it| !it.under_way && it.pending().is_some()).map(|it| it.tag)
}

impl Page {
    /// Makes the request of step `tag` the one that is looked at.
    pub(super) fn look_at(&mut self, looked_at: &mut Exchange, tag: u16) {
        if looked_at.tag != tag
            && let Some(other) = self.exchanges.iter_mut().find(|other| other.tag == tag)
        {
            std::mem::swap(looked_at, other);
        }
    }

    /// Makes room for a new request to look at.
    fn put_by(&mut self, looked_at: &mut Exchange) {
        self.exchanges.retain(Exchange::is_active);
        let before = std::mem::take(looked_at);
        if before.is_active() {
            self.exchanges.push(before);
        }
    }
}
