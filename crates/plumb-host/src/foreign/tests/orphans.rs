//! Processes that end together with their parents: somebody else is given what they ran in all their life.

use super::*;

type Process = (u32, u32, &'static str, [u64; 4]);

const SHELL: Process = (40, 1, "shell", [0; 4]);
/// A worker with a past of 400 ticks, and who began it.
const WRAPPER: Process = (50, 40, "wrapper", [1, 0, 0, 0]);
const WORKER: Process = (51, 50, "worker", [400, 0, 0, 0]);

/// What is foreign and who it is, in ticks, of a second that begins with `before` and ends with `now`;
/// the processes `known` are not foreign.
fn foreign(before: &[Process], now: &Machine, known: &[u32]) -> (u64, Vec<(u32, u64)>) {
    let load = load(before, now, known);
    let tick = ticks_ns(1);
    let each = load.processes.iter().map(|work| (work.pid, work.ns / tick)).collect();
    (load.foreign_ns.unwrap() / tick, each)
}

fn load(before: &[Process], now: &Machine, known: &[u32]) -> ForeignLoad {
    let before = Machine {
        ticks: "0 0 0 0",
        processes: [&[KTHREADD], before].concat(),
        ..Machine::default()
    };
    let now = Machine {
        ticks: "0 0 0 0",
        processes: [&[KTHREADD][..], &now.processes].concat(),
        ..now.clone()
    };
    let folder = tempfile::tempdir().unwrap();
    let load = before.at_ms(0).foreign_until(&now.below(folder.path(), 1_000), known);
    assert_eq!(load.source, Some(ForeignSource::Processes));
    load
}

/// What the children that ended of `process` ran, in ticks.
fn with_children(process: Process, ticks: u64) -> Process {
    let [user, system, ..] = process.3;
    (process.0, process.1, process.2, [user, system, ticks, 0])
}

fn there(processes: &[Process]) -> Machine {
    Machine { processes: processes.to_vec(), ..Machine::default() }
}

#[test]
fn an_orphan_has_its_past_among_the_children_of_whoever_could_wait_for_it() {
    let before = [INIT, SHELL, WRAPPER, WORKER];
    // its wrapper ended first; the worker ran 2 ticks more
    let now = there(&[with_children(INIT, 402), with_children(SHELL, 1)]);
    assert_eq!(foreign(&before, &now, &[]), (2, vec![(1, 2)]));
    // it ended first, its wrapper waited, and the shell for that
    let now = there(&[INIT, with_children(SHELL, 403)]);
    assert_eq!(foreign(&before, &now, &[]), (2, vec![(40, 2)]));
    // the shell asked for whoever loses its parent below it
    let below = (50, 45, "wrapper", [1, 0, 0, 0]);
    let between = (45, 40, "between", [0; 4]);
    let now = there(&[INIT, with_children(SHELL, 402), between]);
    assert_eq!(foreign(&[INIT, SHELL, between, below, WORKER], &now, &[]), (2, vec![(40, 2)]));
    // nobody was told
    assert_eq!(foreign(&before, &there(&[INIT, SHELL]), &[]), (0, vec![]));
}

#[test]
fn a_daemon_that_forks_twice_takes_nothing_to_whoever_takes_it_over() {
    // the child in between is gone before the first look
    let daemon = (60, 1, "daemon", [400, 0, 0, 0]);
    let now = there(&[with_children(INIT, 403), SHELL]);
    assert_eq!(foreign(&[INIT, SHELL, daemon], &now, &[]), (3, vec![(1, 3)]));
    // and goes meanwhile
    let between = (61, 40, "between", [3, 0, 0, 0]);
    let daemon = (60, 61, "daemon", [400, 0, 0, 0]);
    let now = there(&[INIT, with_children(SHELL, 3), (60, 1, "daemon", [405, 0, 0, 0])]);
    assert_eq!(foreign(&[INIT, SHELL, between, daemon], &now, &[]), (5, vec![(60, 5)]));
}

#[test]
fn a_parent_that_ended_and_is_waited_for_itself_inherits_nothing_more() {
    let before = [INIT, SHELL, WRAPPER, WORKER];
    let machine = |first: u64, wrapper: u64| Machine {
        processes: vec![with_children(INIT, first), SHELL, with_children(WRAPPER, wrapper)],
        zombies: &[50],
        ..Machine::default()
    };
    assert_eq!(foreign(&before, &machine(402, 0), &[]), (2, vec![(1, 2)]));
    assert_eq!(foreign(&before, &machine(0, 402), &[]), (2, vec![(50, 2)]), "it had waited before");
}

#[test]
fn the_first_process_of_a_namespace_need_be_no_ancestor() {
    // what was begun within a container from outside, as by its runtime
    let inner = (30, 20, "container's init", [0; 4]);
    let before = [INIT, (20, 1, "runtime", [0; 4]), inner, SHELL, WRAPPER, WORKER];
    let (runtime, shell) = ((20, 1, "runtime", [0; 4]), with_children(SHELL, 1));
    let now = there(&[INIT, runtime, with_children(inner, 402), shell]);
    let now = Machine { firsts: &[30], ..now };
    assert_eq!(foreign(&before, &now, &[]), (2, vec![(30, 2)]));
}

#[test]
fn an_orphan_that_nobody_waited_for_hides_no_work_of_others() {
    // a container is stopped while a build runs
    let (runtime, inner) = ((20, 1, "runtime", [0; 4]), (30, 20, "container's init", [0; 4]));
    let (worker, runner) = ((51, 30, "worker", [400, 0, 0, 0]), (60, 1, "runner", [0; 4]));
    let before = [INIT, runtime, inner, worker, runner];
    let now = there(&[INIT, with_children(runtime, 1), with_children(runner, 450)]);
    assert_eq!(foreign(&before, &now, &[]), (450, vec![(60, 450)]));
    // what is known has done all that it did, also where it is the first process of its container
    let now = Machine { firsts: &[60], ..now };
    assert_eq!(load(&before, &now, &[60]).known_ns, ticks_ns(450));
}

#[test]
fn nobody_is_named_for_what_another_one_may_have_been_given() {
    // both have room for the worker: 400 of these 900 ticks were run before
    let before = [INIT, SHELL, WRAPPER, WORKER];
    let now = there(&[with_children(INIT, 450), with_children(SHELL, 450)]);
    let (ticks, named) = foreign(&before, &now, &[]);
    assert_eq!((ticks, named), (499, vec![(1, 50), (40, 49)]));
}

#[test]
fn two_orphans_of_which_one_found_its_parent_alive_are_told_apart_by_their_room() {
    let other = [(55, 40, "wrapper", [1, 0, 0, 0]), (56, 55, "worker", [300, 0, 0, 0])];
    let before = [&[INIT, SHELL, WRAPPER, WORKER], &other[..]].concat();
    let now = there(&[with_children(INIT, 301), with_children(SHELL, 404)]);
    assert_eq!(foreign(&before, &now, &[]).0, 3);
    let now = there(&[with_children(INIT, 403), with_children(SHELL, 303)]);
    assert_eq!(foreign(&before, &now, &[]).0, 4);
    let now = there(&[with_children(INIT, 703), with_children(SHELL, 2)]);
    assert_eq!(foreign(&before, &now, &[]).0, 3);
}

#[test]
fn what_is_known_keeps_what_it_did_when_a_part_of_it_goes_elsewhere() {
    // a server that works 80 ticks while one of its own and the wrapper of that end
    let server = |used| (40, 1, "server", [used, 0, 0, 0]);
    let machine = |first: u64, used: u64, ended: &[Process]| Machine {
        ticks: "0 0 0 0",
        processes: [&[with_children(INIT, first), KTHREADD, server(used)], ended].concat(),
        control_groups_ns: Some(ticks_ns(used + first)),
        ..Machine::default()
    };
    let before = machine(0, 7, &[WRAPPER, WORKER]).at_ms(0);
    let now = machine(402, 87, &[]);
    let now = Machine { control_groups_ns: Some(ticks_ns(7 + 80 + 2)), ..now }.at_ms(1_000);
    let load = before.foreign_until(&now, &[40]);
    assert_eq!(load.source, Some(ForeignSource::ControlGroups));
    assert_eq!((load.known_ns, load.foreign_ns), (ticks_ns(80), Some(ticks_ns(2))));
}
