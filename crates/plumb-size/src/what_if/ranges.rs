//! How well the figures of a change are known: no better than the ladder is.

use plumb_measure::statistics::{Bounded, SplitMix64};
use serde::Serialize;

use super::{Change, WhatIfError, change, modelled};
use crate::analysis::{AnalysisError, Point};
use crate::landscape::{Element, Landscape, LandscapeError, Servers};
use crate::model::Generator;
use crate::normal::normal;
use crate::simulation::{Load, Simulated};
use crate::sizing::{DRAWS, Sizing, bounded};

/// The figures of a change with intervals that know how well the ladder was measured and how well the
/// model fits it, as those of an answer do. An end of a time is infinite where more arrives than can be
/// done in some of the landscapes that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ranges {
    /// Of the model.
    pub model: Figures,
    /// Of the simulation: its own interval, widened by as many times as the model's is wide.
    pub simulated: Figures,
}

/// Terms that are added up for all landscapes that are drawn, at most: some ten seconds.
const TERMS_MAX: f64 = 2e9;

/// The figures of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Operations a second; absent in too short a time.
    pub throughput_per_s: Option<Bounded>,
    /// Mean response time, seconds.
    pub mean_s: Option<Bounded>,
    /// 95 % of the response times are at most this, seconds; absent with too few operations.
    pub p95_s: Option<Bounded>,
}

impl Ranges {
    /// Those of `changes` under `load`, of which the model says `point`; `None` where it has no figures of
    /// some of the landscapes that are drawn.
    pub(super) fn of(
        sizing: &Sizing,
        changes: &[Change],
        load: Load,
        (point, simulated): (&Point, &Simulated),
    ) -> Result<Option<Self>, WhatIfError> {
        let seed = sizing.question.seed;
        let mut random = SplitMix64::new(seed);
        let mut draws = [Vec::new(), Vec::new(), Vec::new()];
        for (mut landscape, tail) in sizing.model.drawn(DRAWS, seed, Generator::LeftOut) {
            let off = (sizing.model.misfit * normal(&mut random)).exp();
            for it in changes {
                change::apply(&mut landscape, &as_far_off(it, off))?;
            }
            let figures = match modelled(&landscape, load) {
                Ok(Some(point)) => [point.throughput_per_s, point.mean_s, tail.p95_s(&point)],
                Ok(None) => return Ok(None),
                Err(WhatIfError::Overloaded { most_per_s, .. }) => {
                    [most_per_s, f64::INFINITY, f64::INFINITY]
                }
                Err(WhatIfError::Analysis(AnalysisError::Landscape(
                    LandscapeError::Background(_),
                ))) => [0.0, f64::INFINITY, f64::INFINITY],
                Err(error) => return Err(error),
            };
            draws.iter_mut().zip(figures).for_each(|(draws, figure)| draws.push(figure));
        }
        let [throughput_per_s, mean_s, p95_s] = draws;
        let throughput_per_s = bounded(point.throughput_per_s, throughput_per_s);
        let mean_s = bounded(point.mean_s, mean_s);
        let p95_s = bounded(sizing.model.tail.p95_s(point), p95_s);
        Ok(Some(Self {
            model: Figures {
                throughput_per_s: Some(throughput_per_s),
                mean_s: Some(mean_s),
                p95_s: Some(p95_s),
            },
            simulated: Figures {
                throughput_per_s: simulated.throughput_per_s.map(|it| wider(it, throughput_per_s)),
                mean_s: simulated.mean_s.map(|it| wider(it, mean_s)),
                p95_s: simulated.p95_s.map(|it| wider(it, p95_s)),
            },
        }))
    }
}

/// True where solving every landscape that is drawn takes minutes, or hours.
#[expect(clippy::cast_precision_loss, reason = "a few hundred draws")]
pub(super) fn take_long(landscape: &Landscape, load: Load) -> bool {
    let all = match load {
        Load::Closed { users, .. } => terms(&landscape.elements, f64::from(users)),
        Load::Open { .. } => {
            landscape.elements.iter().map(|it| inner_terms(it, f64::INFINITY)).sum()
        }
    };
    all * DRAWS as f64 > TERMS_MAX
}

/// Terms of a network of `elements` for up to `users`, about: a station is added with as many as it has
/// places for each number of users.
fn terms(elements: &[Element], users: f64) -> f64 {
    let of = |element: &Element| match element {
        Element::Station(it) if it.servers == Servers::Delay => 0.0,
        Element::Station(it) => users * users.min(f64::from(it.places())),
        Element::Pool(pool) => {
            users * users.min(f64::from(pool.size)) + inner_terms(element, users)
        }
    };
    elements.iter().map(of).sum()
}

/// Terms of what is inside a pool, for as many as find a place; their times take as many for each.
fn inner_terms(element: &Element, users: f64) -> f64 {
    let Element::Pool(pool) = element else { return 0.0 };
    let most = users.min(f64::from(pool.size));
    most * most + terms(&pool.inside, most)
}

/// A time that is asked for is as far off as all others are: so far was the ladder from any model.
fn as_far_off(change: &Change, off: f64) -> Change {
    match change {
        Change::Service(name, service_s) => Change::Service(name.clone(), service_s * off),
        other => other.clone(),
    }
}

/// `noise` with its ends moved by as many times as those of `by` are from its value.
fn wider(noise: Bounded, by: Bounded) -> Bounded {
    if by.value <= 0.0 {
        return noise;
    }
    let (low, high) = (noise.low * by.low / by.value, noise.high * by.high / by.value);
    Bounded { value: noise.value, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::{Ladder, Step};
    use crate::model::Setup;
    use crate::sizing::{Question, size};
    use crate::what_if::{WhatIf, changes, what_if};

    /// Three places of 100 ms, measured by few operations on a busy machine: users, operations and their
    /// number a second, mean, half its interval and p95 in milliseconds, busy processors.
    const MEASURED: [[f64; 7]; 8] = [
        [1.0, 10.0, 1.429, 116.7, 16.0, 170.3, 0.0118],
        [2.0, 21.0, 3.0, 109.9, 10.1, 179.4, 0.0113],
        [4.0, 45.0, 6.429, 104.5, 3.2, 115.7, 0.0136],
        [8.0, 91.0, 13.0, 118.0, 4.3, 170.3, 0.0186],
        [12.0, 137.0, 19.57, 129.2, 6.6, 221.4, 0.0245],
        [16.0, 174.0, 24.86, 155.3, 7.2, 252.6, 0.0220],
        [20.0, 198.0, 28.29, 214.1, 8.8, 325.8, 0.0270],
        [28.0, 186.0, 26.57, 544.1, 15.8, 717.8, 0.0218],
    ];

    fn sizing(users: u32) -> Sizing {
        let step = |&[users, operations, rate, mean, half, p95, busy]: &[f64; 7]| Step {
            users,
            operations,
            throughput_per_s: rate,
            mean_s: mean / 1e3,
            mean_half_s: Some(half / 1e3),
            p95_s: p95 / 1e3,
            busy_cores: Some(busy),
            generator_s: Some(0.000_27),
            ..Step::default()
        };
        let ladder = Ladder::of(MEASURED.iter().map(step).collect()).unwrap();
        let setup = Setup { cores: 2, pool: Some(("w".into(), 3)), ..Setup::default() };
        size(ladder, &setup, Question { users, think_s: None, target: None, seed: 1 }).unwrap()
    }

    fn of(users: u32, text: &str) -> WhatIf {
        what_if(&sizing(users), changes(text).unwrap()).unwrap()
    }

    #[test]
    fn what_a_changed_server_really_did_lies_in_the_intervals() {
        for (users, change, rates, means) in [
            (44, "waiting.service/2", vec![57.8, 56.5], vec![0.279, 0.272]),
            (28, "waiting.service/2", vec![49.2], vec![0.075]),
            (44, "w=6", vec![59.6], vec![0.256]),
        ] {
            let found = of(users, change);
            let Figures { throughput_per_s, mean_s, .. } = found.ranges.unwrap().simulated;
            let (rate, mean) = (throughput_per_s.unwrap(), mean_s.unwrap());
            assert!(rates.iter().all(|it| rate.holds(*it)), "{change}: {rate:?}");
            assert!(means.iter().all(|it| mean.holds(*it)), "{change}: {mean:?}");
            let noise = found.simulated.throughput_per_s.unwrap();
            assert!(!noise.holds(rates[0]), "the simulation's own noise knows of no ladder");
        }
    }

    #[test]
    fn the_same_question_has_the_same_interval() {
        let answer = sizing(28).answer.unwrap();
        let model = of(28, "users=28").ranges.unwrap().model;
        let found = [model.throughput_per_s, model.mean_s, model.p95_s].map(Option::unwrap);
        assert_eq!(found, [answer.throughput_per_s, answer.mean_s, answer.p95_s]);
    }

    #[test]
    fn a_time_that_is_asked_for_is_known_no_better_than_the_model() {
        let rate = |text| of(44, text).ranges.unwrap().model.throughput_per_s.unwrap();
        let (half, asked) = (rate("waiting.service/2"), rate("waiting.service=58ms"));
        assert!(asked.high - asked.low > 0.2 * asked.value, "{asked:?}");
        assert!(asked.high - asked.low < half.high - half.low, "{asked:?} {half:?}");
    }

    #[test]
    fn landscapes_that_take_minutes_to_solve_are_not_drawn() {
        let long = |text: &str, load| {
            let mut landscape = sizing(28).model.served();
            changes(text).unwrap().iter().for_each(|it| change::apply(&mut landscape, it).unwrap());
            take_long(&landscape, load)
        };
        let users = |users| Load::Closed { users, think_s: 1.0, variation: 1.0 };
        assert!(!long("w=3", users(1_000_000)) && !long("w=1000", users(5_000)));
        assert!(long("w=1000", users(100_000)) && long("w=100000", users(1_000_000)));
        let open = Load::Open { rate_per_s: 5.0 };
        assert!(!long("w=1000", open) && long("w=100000", open));
        assert!(!of(28, "w=6").ranges_take_long());
    }

    #[test]
    fn arrivals_near_the_limit_may_wait_for_ever() {
        let open = of(28, "arrivals=24/s").ranges.unwrap();
        assert!(open.model.mean_s.unwrap().high.is_infinite(), "{open:?}");
        assert!(open.simulated.mean_s.unwrap().high.is_infinite(), "{open:?}");
        let rate = open.model.throughput_per_s.unwrap();
        assert!(rate.low < 24.0 && rate.high.to_bits() == 24.0_f64.to_bits(), "{rate:?}");
        assert!(of(28, "arrivals=5/s").ranges.unwrap().model.mean_s.unwrap().high < 0.3);
        // where a queue turns away what is too much, the model has no figures
        assert_eq!(of(28, "arrivals=24/s, w.queue=5").ranges, None);
    }
}
