//! Servers that a control group holds back.

use plumb_measure::CpuQuota;

use super::*;

#[test]
fn a_server_that_its_control_group_holds_back_is_not_passed_over() {
    let held_back = |processors| CheckupOutcome {
        quota: Some(CpuQuota { processors, with_client: false, throttled: None }),
        mean_ns: Some(315 * US),
        ..takes(21 * US)
    };
    let mut parts = landscape(45, 1_900);
    parts[0].outcome = Some(held_back(0.04));
    let checked = checkup(parts.clone());
    assert_eq!(kinds(&checked), []);
    let said = &checked.verdict.sentence;
    let hidden = " At the mean a round trip takes 315 us, 15 times as long as at the median: single \
                  operations waited long.";
    assert!(said.ends_with(hidden), "{said}");
    let [remark] = &checked.verdict.remarks[..] else { panic!("{:?}", checked.verdict.remarks) };
    assert_eq!(
        remark.text,
        "Control groups leave whoever answers (a round trip) 0.04 of a processor's time: 21.0 us at \
         the median, 315 us at the mean. Who has used up its share waits for the next period \
         (cpu.stat: nr_throttled; cpu.max)."
    );
    parts[0].outcome = Some(CheckupOutcome { mean_ns: Some(100 * US), ..takes(21 * US) });
    let even = checkup(parts);
    assert!(!even.verdict.sentence.contains("At the mean"), "{}", even.verdict.sentence);
}
