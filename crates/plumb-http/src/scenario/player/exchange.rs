//! The request that a user has under way, and the redirects behind it.

use plumb_engine::{OpEnd, OperationGroup};
use plumb_measure::{FailureKind, Outcome, TraceId};
use plumb_negotiate::Initiator;
use plumb_wire::http::{DigestChallenge, RawHead, Url};
use plumb_wire::secret::masked_url;

use super::super::origin::{Origins, Place};
use super::super::program::Step;
use super::super::request_template::Hop;
use super::super::unsent::name_it;
use crate::digest::{DigestProof, DigestSession};
use crate::proof::Negotiation;

/// A request of a step: from the first that it asks for to the last of its redirects.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The number of the step.
    pub(super) step: u16,
    /// Its operation, of those that the user has under way.
    pub(super) tag: u16,
    /// Where it goes in place of what the step says.
    pub(super) aimed: Option<Box<Hop>>,
    /// It was asked for, and has not ended.
    pub(super) under_way: bool,
    /// Where it went last, for the cookies and the redirect that come with the answer.
    pub(super) route: u16,
    pub(super) target: String,
    /// The trace of its last request.
    pub(super) trace: Option<TraceId>,
    /// The key of the user and the password that it carried last.
    pub(super) log_on: Option<u64>,
    /// The proof of who asks that it carried last, by Digest.
    pub(super) proof: Option<DigestProof>,
    /// The proof of who asks that is under way.
    pub(super) negotiation: Option<Negotiation>,
    /// Redirects that it has followed; `None` without any.
    pub(super) chain: Option<Box<Chain>>,
}

/// Redirects behind a request.
#[derive(Debug)]
pub(super) struct Chain {
    /// The last of them.
    pub(super) hop: Hop,
    /// It is not asked for yet.
    pub(super) pending: bool,
    /// How many.
    number: u8,
    /// Challenges to the last of them that were answered.
    challenges: u8,
    /// The last answer was a challenge.
    is_challenge: bool,
    /// What was asked for, first to last, without secrets.
    visited: Vec<String>,
    /// How long the requests took whose answers led here, nanoseconds.
    took_ns: u64,
    /// All of them began within the recorded part of the run.
    counts: bool,
}

/// Challenges that are answered for one request: a nonce may be too old.
const CHALLENGES_MAX: u8 = 2;
/// Addresses of a chain that are told at most, and characters of each.
const TOLD: usize = 6;
const TOLD_CHARS: usize = 200;

/// Why a redirect is not followed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Astray(pub(super) String);

impl Exchange {
    /// True while it is under way, or has a redirect to ask for.
    pub(super) fn is_active(&self) -> bool {
        self.under_way || self.pending().is_some()
    }

    /// The redirect that is to be asked for next.
    pub(super) fn pending(&self) -> Option<&Hop> {
        self.chain.as_deref().filter(|chain| chain.pending).map(|chain| &chain.hop)
    }

    /// The answer with `status` and `head` to this request of `step` is a redirect that is followed:
    /// true when it names where to.
    pub(super) fn lead_on(
        &mut self,
        step: &Step,
        (status, head): (u16, &[u8]),
        origins: &Origins,
    ) -> Result<bool, Astray> {
        let location = RawHead::new(head).locations().next();
        let (Some(location), Some(asked)) = (location, origins.url(self.route, &self.target))
        else {
            return Ok(false);
        };
        let said = masked_url(&location);
        let url = asked.join(&location).map_err(|error| {
            Astray(format!("the redirect {status} leads to {said}, which is no address: {error}"))
        })?;
        let Some(place) = origins.place_of(&url) else {
            let shown = url.masked();
            let remedy = name_it(&shown);
            return Err(Astray(format!(
                "the redirect {status} leads to {shown}, which is another server: {remedy}"
            )));
        };
        self.follow(step, status, (&asked, &url), place)?;
        Ok(true)
    }

    fn follow(
        &mut self,
        step: &Step,
        status: u16,
        (asked, url): (&Url, &Url),
        place: Place,
    ) -> Result<(), Astray> {
        let chain = self.chain();
        chain.visited.push(asked.masked().chars().take(TOLD_CHARS).collect());
        if chain.number == step.redirects {
            return Err(Astray(chain.too_many(url)));
        }
        chain.number += 1;
        chain.challenges = 0; // each request is asked who asks
        chain.hop.gets |= step.request_template.is_turned_by(status);
        chain.hop.place = place;
        (chain.pending, chain.is_challenge) = (true, false);
        Ok(())
    }

    /// What has happened so far, from here on.
    fn chain(&mut self) -> &mut Chain {
        let first = self.first();
        let route = self.route;
        self.chain.get_or_insert_with(|| {
            let nowhere = Place { route, target: String::new() };
            Box::new(Chain {
                hop: Hop { place: nowhere, first, gets: false },
                pending: false,
                number: 0,
                challenges: 0,
                is_challenge: false,
                visited: Vec::new(),
                took_ns: 0,
                counts: true,
            })
        })
    }

    /// The answer with `head` asks who asks: the same is asked for again, with an answer to that, in
    /// a session that begins with numbers that were `drawn`.
    pub(super) fn challenged(
        &mut self,
        session: &mut Option<Box<DigestSession>>,
        head: &[u8],
        drawn: [u64; 2],
    ) -> Result<(), Astray> {
        let refused = |why: String| Astray(format!("the status is 401: {why}"));
        if self.route != 0 {
            return Err(refused("credentials go to the base alone".into()));
        }
        let head = RawHead::new(head);
        let challenge = DigestChallenge::find(head.values("www-authenticate"))
            .map_err(|error| refused(error.to_string()))?;
        if self.proof.is_some_and(DigestProof::is_first) && !challenge.stale {
            *session = None;
            let why = "the server does not accept the user and the password (Digest)";
            return Err(refused(why.into()));
        }
        if self.chain().challenges == CHALLENGES_MAX {
            let why = "the server asks again and again (Digest): each nonce is too old for it";
            return Err(refused(why.into()));
        }
        // one that began while this was under way holds: the user asks for several things at a time
        let began_since = |it: &DigestSession| self.proof.is_none_or(|proof| !it.made(proof));
        if !session.as_deref().is_some_and(began_since) {
            *session = Some(Box::new(DigestSession::new(challenge, drawn)));
        }
        self.ask_again();
        Ok(())
    }

    /// The answer with `head` asks who asks: the same is asked for again, with a ticket of `initiator`.
    pub(super) fn negotiate(&mut self, initiator: &Initiator, head: &[u8]) -> Result<(), Astray> {
        let refused = |why: &str| Err(Astray(format!("the status is 401: {why}")));
        if self.route != 0 {
            return refused("credentials go to the base alone");
        }
        if self.chain().challenges == CHALLENGES_MAX {
            return refused("the server asks again and again (Negotiate)");
        }
        match Negotiation::answer(self.negotiation.take(), initiator, head) {
            Ok(negotiation) => self.negotiation = Some(negotiation),
            Err(why) => return refused(&why),
        }
        self.ask_again();
        Ok(())
    }

    /// A challenge was answered: the same is to be asked for once more.
    fn ask_again(&mut self) {
        let place = Place { route: self.route, target: self.target.clone() };
        let chain = self.chain();
        chain.challenges += 1;
        chain.hop.place = place;
        (chain.pending, chain.is_challenge) = (true, true);
    }

    /// An operation of this exchange has ended. `None`: a redirect follows, and the operation is
    /// recorded as one; else how long the exchange took, nanoseconds, and whether all of it counts.
    pub(super) fn ended(&mut self, step: &Step, end: &mut OpEnd) -> Option<(u64, bool)> {
        self.under_way = false;
        let Some(chain) = &mut self.chain else { return Some((end.took_ns, end.counts)) };
        chain.took_ns += end.took_ns;
        chain.counts &= end.counts;
        if chain.pending {
            if let Some(rows) = step.hop_rows {
                let challenge = rows.challenge.filter(|_| chain.is_challenge);
                end.op.label = challenge.unwrap_or_else(|| rows.row(chain.number));
            }
            return None;
        }
        Some((chain.took_ns, chain.counts))
    }

    /// The exchange is over, with `failed`: the row of the step with all its redirects, if it has
    /// followed any.
    pub(super) fn whole(
        &mut self,
        step: &Step,
        failed: Option<FailureKind>,
    ) -> Option<OperationGroup> {
        self.negotiation = None;
        let chain = self.chain.take().filter(|chain| chain.counts && chain.led_on())?;
        let outcome = failed.map_or(Outcome::Ok, Outcome::Failed);
        Some(OperationGroup { row: step.hop_rows?.whole, took_ns: chain.took_ns, outcome })
    }

    /// The server that the step asked first, and of what a page embeds that of the page's step.
    pub(super) fn first(&self) -> u16 {
        let hop = self.chain.as_deref().map(|chain| &chain.hop).or(self.aimed.as_deref());
        hop.map_or(self.route, |hop| hop.first)
    }

    /// How long the requests took whose answers led to the last one, nanoseconds.
    pub(super) fn before_ns(&self) -> u64 {
        self.chain.as_ref().map_or(0, |chain| chain.took_ns)
    }
}

impl Chain {
    fn led_on(&self) -> bool {
        self.number > 0 || self.challenges > 0
    }

    /// That there are too many, and whether they go round in a circle.
    fn too_many(&self, last: &Url) -> String {
        let last: String = last.masked().chars().take(TOLD_CHARS).collect();
        let circle = self.visited.iter().rposition(|visited| *visited == last);
        match circle {
            Some(from) => format!(
                "more than {} redirects, in a circle: {} -> {last}",
                self.number,
                self.visited[from..].iter().take(TOLD).cloned().collect::<Vec<_>>().join(" -> ")
            ),
            None => format!(
                "more than {} redirects, the last to {last}; redirects = N allows for more",
                self.number
            ),
        }
    }
}

/// Where an answer would lead that nobody follows, in words.
pub(super) fn led_to(status: u16, head: &[u8]) -> String {
    let location = RawHead::new(head).locations().next();
    match location.filter(|_| (300..400).contains(&status)) {
        Some(location) => format!(
            ": it leads to {}, which is not followed; write check = {{ status = \"{status}\" }} where \
             that is right, redirects = true to follow it, or extract the header Location and ask for \
             it",
            masked_url(&location),
        ),
        None => String::new(),
    }
}
