//! A landscape at which operations arrive at random, whatever is under way.

use super::{AnalysisError, Busy, Inner, Level, Moments, Point, StationOrPool, held};
use crate::gamma;
use crate::landscape::Landscape;
use crate::network::{AtRandom, Speed};

/// A landscape whose pools are solved, for arrivals that are independent of each other (Poisson).
///
/// It is what a closed landscape comes to when ever more users think ever longer: each station, and each
/// pool as a station, is as if it were alone.
#[derive(Debug)]
pub struct OpenAnalysis {
    level: Level,
}

impl OpenAnalysis {
    /// Solves the pools of `landscape`.
    ///
    /// # Errors
    /// [`AnalysisError`].
    pub fn of(landscape: &Landscape) -> Result<Self, AnalysisError> {
        landscape.check()?;
        Ok(Self { level: Level::of(&landscape.elements, 0.0, usize::MAX)? })
    }

    /// What is full first, and the operations a second that it can do; `None` where nothing has a limit.
    #[must_use]
    pub fn bottleneck(&self) -> Option<(&str, f64)> {
        let limits = self.stations().map(|(part, speed)| (part.name(), speed.rate_max_per_s()));
        limits.filter(|(_, most)| most.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// What operations see of which `rate_per_s` arrive; `None` where that is as much as can be done,
    /// or more.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^32 operations")]
    #[expect(clippy::cast_sign_loss, reason = "times and rates are not negative")]
    pub fn at(&self, rate_per_s: f64) -> Option<Point> {
        let level = &self.level;
        let mut sum = Moments { mean: level.delays_s, variance: level.delays_variance };
        let mut resources = Vec::new();
        for (part, speed) in self.stations() {
            let present = AtRandom::at(speed, rate_per_s)?;
            let mean = present.mean(|others| part.given(others).mean);
            let square = present.mean(|others| {
                let of = part.given(others);
                of.variance + of.mean * of.mean
            });
            sum.mean += mean;
            sum.variance += (square - mean * mean).max(0.0);
            busy(part, &present, rate_per_s, &mut resources);
        }
        Some(Point {
            users: (rate_per_s * sum.mean).round() as usize,
            throughput_per_s: rate_per_s,
            mean_s: sum.mean,
            p95_s: gamma::quantile(sum.mean, sum.variance, 0.95),
            resources,
        })
    }

    fn stations(&self) -> impl Iterator<Item = (&StationOrPool, &Speed)> {
        self.level.parts.iter().zip(self.level.network.stations())
    }
}

fn busy(part: &StationOrPool, present: &AtRandom, rate_per_s: f64, into: &mut Vec<Busy>) {
    match part {
        StationOrPool::Station(station) => into.push(Busy::of(station, rate_per_s)),
        StationOrPool::Pool(inner) => {
            let Inner { name, size, .. } = &**inner;
            let share = present.mean(|there| held(there, *size)) / f64::from(*size);
            into.push(Busy { name: name.clone(), places: *size, share });
            inner.busy(rate_per_s, into);
        }
    }
}
