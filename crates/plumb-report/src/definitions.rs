//! What every figure means, for readers who have only the report.

use plumb_measure::RunRecord;
pub(crate) use plumb_page::Definition;

use crate::notes::{in_pieces, waited};
use crate::streams;

const ALWAYS: [Definition; 6] = [
    Definition {
        term: "Response time, service time",
        meaning: "Response time runs from the moment an operation was due to the last byte of its \
                  answer, service time from the moment it was sent. Without a rate and without \
                  think time an operation is due when it is sent, and the two are the same.",
    },
    Definition {
        term: "p50, p90, p99, p99.9",
        meaning: "The smallest value that at least this share of the samples does not exceed; no \
                  interpolation, to 1/1,024. p50 is the median. Minimum, maximum and mean are \
                  exact. Only correct answers are samples.",
    },
    Definition {
        term: "Throughput",
        meaning: "Correct answers divided by the time from the first due moment to the last \
                  answer.",
    },
    Definition {
        term: "The tool's floor",
        meaning: "The same loop and the same recording on a socket that answers to itself: what \
                  the tool and the kernel cost with no target and no network. No figure below it \
                  can be measured from here.",
    },
    Definition {
        term: "Driver, idle passes, lag",
        meaning: "A load generator that is always busy measures itself. Below 10 % idle \
                  passes a run is driver-limited: its throughput is a lower bound, its \
                  latency is not valid. Lag is how late due work began although a connection was \
                  free.",
    },
    Definition {
        term: "Valid, no latency, invalid",
        meaning: "Judged before any figure: failures, dropped work, a driver at its limit and a \
                  length that varies each take figures away, and the reason is named. Nothing is \
                  deleted from the samples.",
    },
];

const NIPING: Definition = Definition {
    term: "avg, av2, tr, tr2",
    meaning: "niping's figures over n round trips of t seconds with len bytes: avg = sum(t) / n; \
              av2 = (sum(t) - max - min) / (n - 2); tr = 2 * len / avg / 1024 and tr2 = 2 * len / \
              av2 / 1024 in kB/s. A rate so counts both directions and kB of 1,024 bytes.",
};

const FIRST_BYTE: Definition = Definition {
    term: "First byte",
    meaning: "From the send to the first bytes of the answer (TTFB). The rest of the service time \
              is the transfer of the answer.",
};

const DROPPED: Definition = Definition {
    term: "Dropped",
    meaning: "Operations that were due but could not begin in time. They have no latency, so a run \
              that drops work would look faster than it was: it is invalid.",
};

const PROCESSOR: Definition = Definition {
    term: "Client CPU/op, server CPU/op",
    meaning: "Processor time an operation, failed ones included: of the threads that drove the \
              load, and of the server where it could be read.",
};

const RECEIVING: Definition = Definition {
    term: "Receiving CPUs",
    meaning: "As many processors of equal share would receive in the same way: (sum x)^2 / sum \
              x^2, where x is the number of soft interrupts of receiving (NET_RX) that one \
              processor handled. 1.0 when one of them does it all.",
};

const STREAM: Definition = Definition {
    term: "To server, from server",
    meaning: "Bits of payload a second one way: bytes that the receiver read, divided by the time \
              from its first byte to the end of the last stream, by its own clock. Sent again are \
              TCP segments of the sender. CPU/GB is processor time of the threads that carried the \
              streams, seconds for each 1e9 bytes received.",
};

const ATTRIBUTION: Definition = Definition {
    term: "Server, wire, queue, connecting, rest",
    meaning: "Parts of the mean response time, which add up to it; medians do not. Wire is a \
              message there and back that asks for no work, server what the statement takes longer \
              by the server's own clock, rest what was not measured. They are measured by looks in \
              the place of calls, which are in no distribution. A rest whose interval contains \
              zero is not told apart from it. Parts that exceed the whole by more than their \
              intervals are no parts of it: the time cannot be split.",
};

const FASTER: Definition = Definition {
    term: "Faster nine tenths",
    meaning: "Means without the slowest tenth, told where the parts of all calls are not known well enough. The slowest tenth is left \
              out of the calls and of every kind of look, each where it was slow: what they tell is of \
              the other nine tenths. The interval of the whole holds what this may make of the sum.",
};

/// The definitions that the figures of this record need.
pub(crate) fn of(record: &RunRecord) -> Vec<Definition> {
    let results = &record.results;
    let [times @ .., validity] = ALWAYS;
    let mut list: Vec<Definition> = if streams::are_in(record) {
        vec![STREAM, validity]
    } else {
        times.into_iter().chain([validity]).collect()
    };
    if results.iter().any(|result| result.niping.is_some()) {
        list.push(NIPING);
    }
    if results.iter().any(in_pieces) {
        list.push(FIRST_BYTE);
    }
    if results.iter().any(|result| result.dropped > 0 || waited(result)) {
        list.push(DROPPED);
    }
    if results.iter().any(|result| result.cpu.is_some()) {
        list.push(PROCESSOR);
    }
    if results.iter().any(|result| result.attribution.is_some()) {
        list.push(ATTRIBUTION);
    }
    let mut attributed = results.iter().filter_map(|result| result.attribution.as_ref());
    if attributed.any(|attribution| attribution.faster.is_some()) {
        list.push(FASTER);
    }
    let machines = results.iter().flat_map(|result| [&result.host, &result.far]);
    if machines.flatten().any(|machine| machine.receive.is_some()) {
        list.push(RECEIVING);
    }
    list
}
