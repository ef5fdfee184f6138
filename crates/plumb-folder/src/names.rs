//! How the files of a folder are called.

/// The record of a run.
pub const RECORD: &str = "run.json";
/// What was recorded when, of a run.
pub(crate) const INTERVALS: &str = "intervals.hlog";
/// The record of a comparison.
pub(crate) const COMPARISON: &str = "comparison.json";
/// The check of a network path: what is asked for and what came of it.
pub const CHECK: &str = "check.json";
/// The checkup of a landscape: the same.
pub const CHECKUP: &str = "checkup.json";
/// What an experiment was asked for.
pub const EXPERIMENT: &str = "experiment.toml";
/// In which order its blocks are taken.
pub(crate) const ORDER: &str = "order.json";
/// What a load ladder came to.
pub(crate) const LADDER: &str = "ladder.json";
/// The figures of the paths between machines.
pub(crate) const PATHS: &str = "paths.json";
/// The baselines of a folder of runs.
pub(crate) const BASELINES: &str = "baselines.json";
/// Who works in the folder of an experiment, a check or a watch, as long as somebody does.
pub(crate) const IN_USE: &str = ".in-use";
/// The report for people, of either.
pub(crate) const REPORT: &str = "report.html";

/// Folders of one name, with their numbers, that a place holds at most.
pub(crate) const NUMBERED_MAX: u32 = 1_000;
