//! From which percentile on figures of few samples are the maximum.

use plumb_measure::{Answer, LoadFacts, Moments, Recorder, Span, Validity};

/// What is remarked of `n` round trips.
fn remark(n: u64) -> String {
    let facts =
        LoadFacts { open: false, lag_bound: Span::from_ms(1), one_length: true, cut_short: false };
    let mut recorder = Recorder::new(1);
    let moments = Moments { due: 0, sent: 0, first: 9, last: 9 };
    (0..n).for_each(|_| recorder.record(0, moments, Answer::ok(500)));
    let found = Validity::of_load(&recorder, facts).reasons;
    found.into_iter().map(|it| it.text).collect()
}

#[test]
fn the_last_percentile_below_the_maximum_is_named() {
    for n in 1..100 {
        let said = remark(n);
        let last = said.split_once("above p").and_then(|(_, rest)| rest.split_once(' '));
        let last: u64 = last.expect("a percentile").0.parse().expect("a number");
        // the rank of the percentile is that of the largest sample
        let is_maximum = |percent: u64| (percent * n).div_ceil(100) >= n;
        assert!(is_maximum(last + 1) && (last == 0 || !is_maximum(last)), "{said}");
    }
    assert_eq!(remark(60), "60 samples: percentiles above p98 are the maximum");
    assert_eq!(remark(100), "");
}
