//! Figures worked out again from other figures.

use crate::interval::Interval;
use crate::table::{Base, Better, Improvement};

/// The improvement of `candidate` against `baseline` in percent of `base`.
///
/// With lower figures better: `100 x (baseline - candidate) / base`; with higher ones the reverse.
/// Each figure is used once, so that the interval is as narrow as the figures allow.
pub(crate) fn improvement(
    candidate: Interval,
    baseline: Interval,
    better: Better,
    base: Base,
) -> Interval {
    let one = Interval::exactly(1.0);
    let share = match (better, base) {
        (Better::Lower, Base::Baseline) => one.minus(candidate.over(baseline)),
        (Better::Lower, Base::Candidate) => baseline.over(candidate).minus(one),
        (Better::Higher, Base::Baseline) => candidate.over(baseline).minus(one),
        (Better::Higher, Base::Candidate) => one.minus(baseline.over(candidate)),
    };
    share.times(100.0)
}

impl Improvement {
    /// Both percentages: relative to the baseline and to the candidate.
    pub(crate) fn both(&self, candidate: Interval, baseline: Interval) -> [Interval; 2] {
        [Base::Baseline, Base::Candidate]
            .map(|base| improvement(candidate, baseline, self.better, base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_improvement_depends_on_its_base() {
        let (candidate, baseline) =
            (Interval::exactly(15_229_045.0), Interval::exactly(12_828_407.0));
        let of = |base| improvement(candidate, baseline, Better::Higher, base).middle();
        assert!((of(Base::Baseline) - 18.713).abs() < 1e-3);
        assert!((of(Base::Candidate) - 15.763).abs() < 1e-3);
        let lower = improvement(
            Interval::exactly(0.064),
            Interval::exactly(0.076),
            Better::Lower,
            Base::Baseline,
        );
        assert!((lower.middle() - 15.789).abs() < 1e-3);
    }
}
