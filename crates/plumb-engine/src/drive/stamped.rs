//! Messages that are taken apart: which they are, and what came of them.

use std::num::NonZeroU32;

use plumb_link::Link;
use plumb_measure::{Moments, Recorder, Residence, RoundTripParts, ServerHalf, Unsplit};

use crate::channel::Channel;
use crate::flight::Moment;
use crate::flights::Flights;

/// The stamped messages of one thread.
#[derive(Debug)]
pub(super) struct StampedMessages {
    /// One message in so many of each connection.
    every: NonZeroU32,
    connections: Vec<Stamped>,
}

/// Those of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Stamped {
    /// Messages of this life, modulo 2^32.
    messages: u32,
    /// The one under way is stamped.
    marked: bool,
    /// Answered; the server is to tell its half. What it tells of a message stands behind the reply to
    /// a later one, which may be stamped, too: the later is the second.
    waiting: [Option<Answered>; 2],
}

/// A stamped message that was answered.
#[derive(Clone, Copy, Debug)]
struct Answered {
    number: u32,
    row: u16,
    moments: Moments,
    parts: RoundTripParts,
}

impl StampedMessages {
    /// One message in `every` of each of so many connections; `None` where no message is stamped.
    pub(super) fn of(every: Option<NonZeroU32>, connections: usize) -> Option<Box<Self>> {
        let connections = vec![Stamped::default(); connections];
        every.map(|every| Box::new(Self { every, connections }))
    }

    /// Messages of `flights` are about to be sent on a connection that is in use: marks the one whose
    /// turn it is. The server counts with us, so that nothing in the message has to say it.
    pub(super) fn begin<L: Link>(
        &mut self,
        index: usize,
        flights: &Flights,
        channel: &mut Channel<L>,
    ) {
        let unsent = flights.iter().rev().take_while(|flight| flight.sent == Moment::NONE);
        let stamped = &mut self.connections[index];
        for _ in unsent {
            stamped.messages = stamped.messages.wrapping_add(1);
            stamped.marked = stamped.messages.is_multiple_of(self.every.get());
            if stamped.marked
                && let Some((stamps, _)) = channel.stamps()
            {
                stamps.mark();
            }
        }
    }

    /// The message under way on connection `index`, of this row, was answered: its moments where it
    /// counts, with what its answer says of the server, and whether the server `tells` how long it had it.
    pub(super) fn answered<L: Link>(
        &mut self,
        (index, row): (usize, u16),
        counted: Option<(Moments, ServerHalf)>,
        tells: bool,
        channel: &mut Channel<L>,
        recorder: &mut Recorder,
    ) {
        let stamped = &mut self.connections[index];
        if !std::mem::take(&mut stamped.marked) {
            return;
        }
        let Some((stamps, socket)) = channel.stamps() else { return };
        let stamps = stamps.take(socket);
        let Some((moments, said)) = counted else { return };
        let split = RoundTripParts::of(moments.last.saturating_sub(moments.sent), stamps);
        match split {
            Err(why) => recorder.round_trip(row).leave_out(why),
            Ok(parts) if tells => {
                let number = stamped.messages;
                let answered = Answered { number, row, moments, parts };
                stamped.waiting.rotate_left(1);
                let before = stamped.waiting[1].replace(answered);
                untold(before, recorder);
            }
            Ok(parts) => record(row, moments, parts, said, recorder),
        }
    }

    /// The server of connection `index` has told how long it had the message with this number.
    pub(super) fn told(
        &mut self,
        index: usize,
        number: u32,
        residence: Residence,
        recorder: &mut Recorder,
    ) {
        let waiting = self.connections[index].waiting.iter_mut();
        let known = |it: &mut Option<Answered>| it.take_if(|waiting| waiting.number == number);
        if let Some(Answered { row, moments, parts, .. }) = waiting.filter_map(known).next() {
            record(row, moments, parts, ServerHalf::Told(residence), recorder);
        }
    }

    /// Connection `index` is gone: nobody will tell any more.
    pub(super) fn closed(&mut self, index: usize, recorder: &mut Recorder) {
        let stamped = std::mem::take(&mut self.connections[index]);
        stamped.waiting.into_iter().for_each(|waiting| untold(waiting, recorder));
    }
}

fn untold(waiting: Option<Answered>, recorder: &mut Recorder) {
    if let Some(Answered { row, .. }) = waiting {
        recorder.round_trip(row).leave_out(Unsplit::Untold);
    }
}

fn record(
    row: u16,
    moments: Moments,
    parts: RoundTripParts,
    server: ServerHalf,
    recorder: &mut Recorder,
) {
    let times = recorder.round_trip(row);
    if let Err(why) = times.record(moments, parts, server) {
        times.leave_out(why);
    }
}
