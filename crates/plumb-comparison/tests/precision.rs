//! How narrow the intervals of a comparison are.

use std::collections::BTreeMap;

use plumb_comparison::{
    Better, COMPARISON_SCHEMA, Checks, Comparison, Contrast, Design, Endpoint, FigureUnit,
};
use plumb_measure::Program;
use plumb_measure::statistics::Interval;

/// A contrast whose primary figure has this interval.
fn contrast(interval: Option<Interval>) -> Contrast {
    let time = ("p50", "median response time", FigureUnit::Ns, Better::Lower);
    Contrast {
        baseline: "a".into(),
        candidate: "b".into(),
        labels: BTreeMap::new(),
        same_treatment: false,
        sentence: String::new(),
        endpoints: vec![Endpoint { interval, ..Endpoint::described(time, 1.0, 1.0) }],
        checks: Checks::default(),
        tails: Vec::new(),
    }
}

fn widest_half(contrasts: Vec<Contrast>) -> Option<f64> {
    let compared = Comparison {
        schema: COMPARISON_SCHEMA.into(),
        plumb: Program { version: "1".into() },
        compared: String::new(),
        design: Design::separate(),
        variants: Vec::new(),
        differences: Vec::new(),
        shared: BTreeMap::new(),
        accepted_load: None,
        warnings: Vec::new(),
        contrasts,
    };
    compared.widest_half()
}

#[test]
fn a_candidate_without_pairs_does_not_hide_how_narrow_the_others_are() {
    let narrow = contrast(Some(Interval { low: 0.875, high: 1.125, level: 0.95 }));
    let wide = contrast(Some(Interval { low: 0.5, high: 1.5, level: 0.95 }));
    let none = Contrast { endpoints: Vec::new(), ..contrast(None) };
    assert_eq!(widest_half(vec![none.clone(), narrow.clone()]), Some(0.125));
    assert_eq!(widest_half(vec![narrow.clone(), wide]), Some(0.5));
    assert_eq!(widest_half(vec![narrow, contrast(None)]), None, "pairs too few for an interval");
    assert_eq!(widest_half(vec![none]), None);
}
