use super::*;
use plumb_measure::{CpuUse, Distribution};

#[test]
fn a_record_agrees_with_itself_where_looks_attribute_nothing() {
    let mut times = Histogram::new();
    [1_000, 2_000, 3_000].iter().for_each(|ns| times.record(*ns));
    let mut result = ResultRecord {
        operations: 3,
        duration_ns: 1_000_000,
        response_ns: Distribution::of(&times),
        ..ResultRecord::default()
    };
    count_observed(&mut result, 1, 0);
    name_driver(&mut result, "a driver", Over::Kept);
    assert_eq!(result.operations, 4);
    assert_eq!(result.contradiction(), None);
}

#[test]
fn processor_time_is_divided_by_all_calls_that_took_it() {
    let failures = BTreeMap::from([("timed-out".to_owned(), 2)]);
    let mut result = ResultRecord { operations: 5, failures, ..ResultRecord::default() };
    result.cpu = Some(CpuUse { client_ns_per_op: 1_000, ..CpuUse::default() });
    count_observed(&mut result, 3, 7_000);
    assert_eq!(result.cpu.map(|cpu| cpu.client_ns_per_op), Some(700));
    let mut looks_alone = ResultRecord::default();
    count_observed(&mut looks_alone, 2, 7_000);
    assert_eq!(looks_alone.cpu.map(|cpu| cpu.client_ns_per_op), Some(3_500));
}
