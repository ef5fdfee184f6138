use proptest::prelude::*;

use super::*;
use crate::statistics::SplitMix64;

fn us(mean: i64, half: u64) -> Estimate {
    Estimate { mean_ns: mean * 1_000, half_width_ns: Some(half * 1_000), count: 100 }
}

fn split(whole: Estimate, parts: &[Estimate]) -> Result<Split<usize>, CannotBeSplit> {
    Split::of(whole, parts.iter().copied().enumerate(), usize::MAX)
}

fn percent(split: &Split<usize>) -> Vec<f64> {
    split.all().map(|share| (share.share * 100.0).round()).collect()
}

#[test]
fn shares_are_those_of_the_whole_and_the_rest_is_one_of_them() {
    let split = split(us(100, 1), &[us(70, 2), us(20, 1)]).unwrap();
    assert_eq!(percent(&split), [70.0, 20.0, 10.0]);
    assert_eq!(split.rest.time.mean_ns, 10_000);
    assert!(!split.rest.may_be_zero());
    assert_eq!(split.largest().map(|share| share.of), Some(0));
}

/// Half of the interval of each share, in tenths of a percent.
fn halves(split: &Split<usize>) -> Vec<Option<f64>> {
    split.all().map(|share| share.half_width.map(|half| (half * 1_000.0).round())).collect()
}

#[test]
fn a_share_is_known_as_well_as_its_part_and_the_whole_are() {
    // of 70 in 100: 2 / 100 and 0.7 * 4 / 100; of the rest: 2, 1 and 0.9 * 4 in 100
    let known = split(us(100, 4), &[us(70, 2), us(20, 1)]).unwrap();
    assert_eq!(halves(&known), [Some(34.0), Some(13.0), Some(42.0)]);
    // parts that exceed the whole are shares of their sum: of 70 in 90, 20 * 2 and 70 * 1 in 90 * 90
    let more = split(us(89, 3), &[us(70, 2), us(20, 1)]).unwrap();
    assert_eq!(halves(&more), [Some(10.0), Some(10.0), None]);
    let nothing = split(us(0, 0), &[us(0, 0)]).unwrap();
    assert_eq!(halves(&nothing), [None, None]);
}

#[test]
fn shares_of_the_same_operations_are_known_whatever_these_have_to_do_with_each_other() {
    let parts = [(0, us(70, 4))];
    let told = Split::of_the_same(us(100, 9), parts, (1, Some(2_000))).unwrap();
    // both ways: 0.3 * 4 + 0.7 * 2 of 100
    assert_eq!(halves(&told), [Some(26.0), Some(26.0)]);
    let untold = Split::of_the_same(us(100, 9), parts, (1, None)).unwrap();
    assert_eq!(halves(&untold), [None, None]);
    assert!(untold.parts[0].is_most() && !untold.rest.is_most());
}

#[test]
fn a_part_is_most_of_the_whole_only_with_all_of_its_interval() {
    let most = |mean, half| {
        let split = split(us(100, 1), &[us(mean, half)]).unwrap();
        split.parts[0].is_most()
    };
    assert_eq!([most(55, 3), most(55, 6), most(98, 9)], [true, false, true]);
    let nearly = split(us(100, 1), &[us(98, 9)]).unwrap();
    let (low, high) = nearly.parts[0].interval().unwrap();
    assert!((0.88..0.90).contains(&low), "{low}");
    assert!(high.total_cmp(&1.0).is_eq(), "{high}");
}

/// The interval is held against what is true: means that scatter by what their intervals say.
#[test]
fn nineteen_of_twenty_intervals_contain_the_true_share() {
    const DRAWS: u32 = 4_000;
    let mut random = SplitMix64::new(7);
    // the sum of twelve uniform numbers is as good as a normal one
    let mut scattered = |mean: u32, half: u32| {
        let normal = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let off_ns = crate::rounded(normal * f64::from(half) * 1_000.0 / 1.96 + 1e9);
        let mean_ns = i64::from(mean) * 1_000 + i64::try_from(off_ns).unwrap() - 1_000_000_000;
        Estimate { mean_ns, half_width_ns: Some(u64::from(half) * 1_000), count: 9 }
    };
    let mut within = 0;
    for _ in 0..DRAWS {
        let split = split(scattered(500, 40), &[scattered(300, 30)]).unwrap();
        let (low, high) = split.parts[0].interval().unwrap();
        within += u32::from((low..=high).contains(&0.6));
    }
    let of_all = f64::from(within) / f64::from(DRAWS);
    assert!((0.935..0.965).contains(&of_all), "{of_all}");
}

#[test]
fn a_rest_whose_interval_contains_zero_may_be_zero() {
    for whole in [us(91, 3), us(89, 3)] {
        let split = split(whole, &[us(70, 2), us(20, 1)]).unwrap();
        assert!(split.rest.may_be_zero(), "{split:?}");
        let all: f64 = split.all().map(|share| share.share).sum();
        assert!((all - 1.0).abs() < 1e-9, "{split:?}");
    }
}

#[test]
fn parts_that_exceed_the_whole_beyond_the_intervals_are_no_parts_of_it() {
    // a statement of 59 us beside a message of 124 us and 38 us at the server
    let refused = split(us(59, 1), &[us(38, 2), us(124, 5)]).unwrap_err();
    assert_eq!(refused, CannotBeSplit::MoreThanTheWhole { parts_ns: 162_000, whole_ns: 59_000 });
    assert_eq!(
        refused.to_string(),
        "the parts were measured on other operations and add up to more than the whole, \
         162 us of 59.0 us"
    );
}

#[test]
fn a_part_below_zero_is_refused_unless_its_interval_contains_zero() {
    let refused = split(us(50, 1), &[us(-3, 1)]).unwrap_err();
    assert_eq!(refused, CannotBeSplit::LessThanNothing { below_ns: 3_000, half_ns: 1_000 });
    assert!(refused.to_string().ends_with("-3.00 us +- 1.00 us"), "{refused}");
    let near = split(us(50, 1), &[us(-1, 1), us(50, 1)]).unwrap();
    assert_eq!(percent(&near), [0.0, 100.0, 0.0]);
    assert!(near.parts[0].may_be_zero());
}

#[test]
fn parts_that_are_hardly_known_are_not_told() {
    let refused = split(us(494, 93), &[us(50, 25), us(1_047, 880)]).unwrap_err();
    assert_eq!(refused, CannotBeSplit::NotKnown { half_ns: 885_254, whole_ns: 494_000 });
    let text = refused.to_string();
    assert!(text.ends_with("together to +- 885 us of a whole of 494 us"), "{text}");
    assert!(split(us(100, 0), &[us(60, 25)]).is_ok());
    assert!(split(us(100, 0), &[us(60, 26)]).is_err());
}

#[test]
fn without_an_interval_nothing_is_told() {
    let alone = Estimate { mean_ns: 5_000, half_width_ns: None, count: 1 };
    assert_eq!(split(us(50, 1), &[alone]), Err(CannotBeSplit::TooFew { fewest: 1 }));
    assert_eq!(split(alone, &[us(1, 1)]), Err(CannotBeSplit::TooFew { fewest: 1 }));
}

#[test]
fn parts_that_are_equal_to_their_intervals_have_no_largest() {
    let equal = split(us(100, 1), &[us(51, 2), us(49, 2)]).unwrap();
    assert_eq!(equal.largest(), None);
    let rest = split(us(100, 1), &[us(10, 2), us(9, 2)]).unwrap();
    assert_eq!(rest.largest().map(|share| share.of), Some(usize::MAX));
}

#[test]
fn a_whole_of_nothing_has_no_shares() {
    let nothing = split(us(0, 0), &[us(0, 0)]).unwrap();
    assert_eq!(percent(&nothing), [0.0, 0.0]);
    assert_eq!(nothing.largest(), None);
}

fn any_estimate() -> impl Strategy<Value = Estimate> {
    (-1_000_i64..1_000_000, proptest::option::weighted(0.9, 0_u64..500_000))
        .prop_map(|(mean_ns, half_width_ns)| Estimate { mean_ns, half_width_ns, count: 9 })
}

proptest! {
    #[test]
    fn no_share_exceeds_the_whole_and_all_add_up(
        whole in any_estimate(),
        parts in proptest::collection::vec(any_estimate(), 0..6),
    ) {
        let Ok(split) = split(whole, &parts) else { return Ok(()) };
        for share in split.all() {
            prop_assert!((0.0..=1.0).contains(&share.share), "{:?}", split);
            if let Some((low, high)) = share.interval() {
                prop_assert!(0.0 <= low && low <= share.share, "{:?}", split);
                prop_assert!(share.share <= high && high <= 1.0, "{:?}", split);
            }
        }
        let shares: f64 = split.all().map(|share| share.share).sum();
        prop_assert!(shares < 1.0 + 1e-9);
        prop_assert!(shares > 1.0 - 1e-9 || whole.mean_ns <= 0, "{:?}", split);
        let times: i64 = split.all().map(|share| share.time.mean_ns).sum();
        prop_assert_eq!(times, whole.mean_ns);
        // what lies below zero is never told as a fact
        for share in split.all().filter(|share| share.time.mean_ns <= 0) {
            prop_assert!(share.may_be_zero());
        }
        if let Some(largest) = split.largest() {
            prop_assert!(split.all().all(|share| share.share <= largest.share));
        }
    }

    #[test]
    fn parts_of_a_whole_are_never_refused(
        parts in proptest::collection::vec((0_i64..1_000_000, 0_u64..1_000), 1..6),
        rest in 0_i64..1_000_000,
    ) {
        let of = |mean_ns, half| Estimate { mean_ns, half_width_ns: Some(half), count: 9 };
        let whole = of(rest + parts.iter().map(|(ns, _)| ns).sum::<i64>(), 0);
        let parts: Vec<Estimate> = parts.into_iter().map(|(ns, half)| of(ns, half)).collect();
        let split = split(whole, &parts);
        let known = split.is_ok() || matches!(split, Err(CannotBeSplit::NotKnown { .. }));
        prop_assert!(known, "{:?}", split);
    }
}
