//! What the figures over several runs mean, for readers who have only the report.

use super::Collection;
use crate::definitions::Definition;

const PLAN: Definition = Definition {
    term: "Plan, point, repetition",
    meaning: "A plan is what was asked for with every option, of whom, and under which \
              circumstances: host, kernel, processors, placement, transport, version. A point is \
              one of its results, told apart by labels. Runs of one plan are repetitions of each \
              other, whatever their seed. Nothing else is averaged or merged.",
};

const REPEATED: Definition = Definition {
    term: "Figures over several runs",
    meaning: "Each quantile is the median of those of the runs, the maximum the longest of all. \
              p50 of the runs is the lowest and the highest median of a run. Only runs whose \
              figures may be used have a part in them: 9 of 10 means that one has none. \
              Operations, failures and dropped work are counted over all runs.",
};

const RANGE: Definition = Definition {
    term: "Whiskers of the charts",
    meaning: "Around a median they reach from the 25th to the 75th percentile of the samples, so \
              they show how much operations differ from each other. Around a throughput they reach \
              from the lowest to the highest run. Neither is a confidence interval; those of an \
              experiment are, and have their level beside them.",
};

const MERGED: Definition = Definition {
    term: "Runs merged",
    meaning: "The curve of a point that was repeated is that of the samples of all its valid runs \
              together, from their histograms.",
};

const SEPARATE: Definition = Definition {
    term: "Differences between plans",
    meaning: "Runs that were taken one after another differ by whatever changed between them, too. \
              Only an experiment that takes its variants in turns can tell the change from that: \
              plumb ab.",
};

const MACHINE: Definition = Definition {
    term: "Machines under the load",
    meaning: "Samples of the machines, from the CSV files of the run folder, on the axis of time of \
              the load. Busy, soft interrupts, disk wait and steal are percent of all processors. \
              Network is the sum over all interfaces, loopback included. The start of the run is \
              known to some milliseconds.",
};

const VALID: Definition = Definition {
    term: "Valid, no latency, not checked, invalid",
    meaning: "Judged before any figure: failures, dropped work, a driver at its limit, foreign \
              load, steal and paging each take figures away, and the reason is named. Not checked is a \
              run of which that is not known. Nothing is deleted from the samples.",
};

/// The definitions that this report needs.
pub(super) fn of(collection: &Collection) -> Vec<Definition> {
    let mut list = vec![VALID, PLAN, RANGE];
    if collection.kinds.iter().any(super::kind::RunGroup::repeats) {
        list.extend([REPEATED, MERGED]);
    }
    if collection.plans.len() > 1 {
        list.push(SEPARATE);
    }
    list.push(MACHINE);
    list
}
