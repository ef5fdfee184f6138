//! A station at which users arrive at random, whatever is under way.

use super::Speed;

/// How many users are at a station at which they arrive independently of each other (Poisson). From as
/// many on as make it as fast as it gets, each further user is less likely by the same factor.
///
/// # Source
/// Of a network with exponential stations, each is as if it were alone: Baskett, Chandy, Muntz and
/// Palacios, Open, closed and mixed networks of queues, JACM 1975.
#[derive(Clone, Debug, PartialEq)]
pub struct AtRandom {
    shares: Vec<f64>, // of 0 users, 1, ... as long as the station gets faster
    next: f64,        // the share of one more
    ratio: f64,       // from there on, of each to the one before
}

impl AtRandom {
    /// Those at a station of this `speed`; `None` where `rate_per_s` is as much as it can do or more.
    #[must_use]
    pub fn at(speed: &Speed, rate_per_s: f64) -> Option<Self> {
        let ratio = rate_per_s / speed.rate_max_per_s();
        if !(0.0..1.0).contains(&ratio) {
            return None;
        }
        let (mut weights, next) = speed.weights(rate_per_s);
        let all = weights.iter().fold(next.times(1.0 / (1.0 - ratio)), |sum, it| sum + *it);
        let shares = weights.drain(..).map(|weight| weight.over(all)).collect();
        Some(Self { shares, next: next.over(all), ratio })
    }

    /// The mean of `figure` of the number of users there, which from as many on as make the station as
    /// fast as it gets is a polynomial of the second degree at most.
    pub fn mean(&self, figure: impl Fn(usize) -> f64) -> f64 {
        let few: f64 = self.shares.iter().enumerate().map(|(k, share)| share * figure(k)).sum();
        // Newton's form: f(j) is f(0) + j d + j (j - 1) / 2 e, and the sums over r^j are known
        let [at_0, at_1, at_2] = [0, 1, 2].map(|more| figure(self.shares.len() + more));
        let (once, twice) = (at_1 - at_0, at_2 - 2.0 * at_1 + at_0);
        let step = self.ratio / (1.0 - self.ratio);
        let many = (at_0 + once * step + twice * step * step) / (1.0 - self.ratio);
        few + self.next * many
    }
}
