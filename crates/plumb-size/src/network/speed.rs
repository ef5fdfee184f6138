//! How fast a station serves when so many users are there.

use super::NetworkError;
use super::scaled::Scaled;

/// A station: its service demand, and how many times faster it works with 1, 2, 3, ... users
/// than its demand says; from the last of these on it gets no faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    demand_s: f64,
    factors: Vec<f64>, // at least one, positive, none below the one before
}

impl Speed {
    /// A station of `servers` servers with one queue; a user needs one of them for `demand_s`
    /// seconds a round. 0 servers count as 1.
    ///
    /// # Errors
    /// [`NetworkError::Time`].
    pub fn of_servers(demand_s: f64, servers: u32) -> Result<Self, NetworkError> {
        Self::of_factors(demand_s, (1..=servers.max(1)).map(f64::from).collect())
    }

    /// Processors that are shared evenly, of which other work keeps `background` busy: `k` users have
    /// `k` of them, as far as so many are left. 0 processors count as 1.
    ///
    /// # Errors
    /// [`NetworkError::Time`], and [`NetworkError::Speed`] where nothing is left.
    pub fn of_processors(
        demand_s: f64,
        processors: u32,
        background: f64,
    ) -> Result<Self, NetworkError> {
        let processors = processors.max(1);
        let free = f64::from(processors) - background;
        Self::of_factors(demand_s, (1..=processors).map(|k| f64::from(k).min(free)).collect())
    }

    /// A station that works `factors[k - 1]` times as fast when `k` users are there as its demand
    /// of `demand_s` seconds says.
    ///
    /// # Errors
    /// [`NetworkError::Time`] and [`NetworkError::Speed`].
    pub fn of_factors(demand_s: f64, factors: Vec<f64>) -> Result<Self, NetworkError> {
        if !demand_s.is_finite() || demand_s < 0.0 {
            return Err(NetworkError::Time);
        }
        let usable = |factor: &f64| factor.is_finite() && *factor > 0.0;
        let falls = factors.windows(2).any(|pair| pair[1] < pair[0]);
        if factors.is_empty() || !factors.iter().all(usable) || falls {
            return Err(NetworkError::Speed);
        }
        Ok(Self { demand_s, factors })
    }

    /// Its service demand, seconds a round.
    #[must_use]
    pub fn demand_s(&self) -> f64 {
        self.demand_s
    }

    /// Rounds a second that it can do at most; infinite without a demand.
    #[must_use]
    pub fn rate_max_per_s(&self) -> f64 {
        self.fastest() / self.demand_s
    }

    fn fastest(&self) -> f64 {
        self.factors.last().copied().unwrap_or(1.0)
    }

    /// The constants of the network that is this station alone, for 0 to `users` users.
    pub(super) fn alone(&self, users: usize) -> Vec<Scaled> {
        self.powers(self.demand_s, users)
    }

    /// How likely it is that 0, 1, ... users are there where so many arrive a second, as long as the
    /// station gets faster, and then of one more; none of them a share yet.
    pub(super) fn weights(&self, rate_per_s: f64) -> (Vec<Scaled>, Scaled) {
        let faster = self.factors.len();
        let mut weights = self.powers(self.demand_s * rate_per_s, faster);
        let next = weights.pop().unwrap_or(Scaled::ONE);
        (weights, next)
    }

    /// `p^k / (s(1) .. s(k))` for `k` from 0 to `users`.
    fn powers(&self, p: f64, users: usize) -> Vec<Scaled> {
        let mut powers = Vec::with_capacity(users + 1);
        let mut last = Scaled::ONE;
        powers.push(last);
        for k in 0..users {
            let factor = self.factors.get(k).copied().unwrap_or_else(|| self.fastest());
            last = last.times(p / factor);
            powers.push(last);
        }
        powers
    }

    /// Adds this station to the network whose constants are given.
    ///
    /// Its generating function is `A(z) / (1 - r z)` with `r = D / s(m)`,
    /// `A(0) = 1`, `A(k) = f(k-1) D (1/s(k) - 1/s(m))`, `f` the constants of the station alone.
    pub(super) fn convolve(&self, constants: &mut [Scaled]) {
        let ratio = self.demand_s / self.fastest();
        let polynomial = self.polynomial(constants.len() - 1);
        // from the end, so that what is still needed is not yet overwritten
        for n in (0..constants.len()).rev() {
            let terms = polynomial.iter().take(n + 1).enumerate();
            let sum = terms.fold(Scaled::ZERO, |sum, (k, a)| sum + *a * constants[n - k]);
            constants[n] = sum;
        }
        for n in 1..constants.len() {
            constants[n] = constants[n] + constants[n - 1].times(ratio);
        }
    }

    /// `A(0) .. A(m-1)`, as far as `users` users need it.
    fn polynomial(&self, users: usize) -> Vec<Scaled> {
        let mut polynomial = vec![Scaled::ONE];
        let mut alone = Scaled::ONE;
        for factor in self.factors.iter().take(users) {
            // s(k) is at most s(m)
            let gap = (1.0 / factor - 1.0 / self.fastest()).max(0.0);
            polynomial.push(alone.times(self.demand_s * gap));
            alone = alone.times(self.demand_s / factor);
        }
        while polynomial.len() > 1 && polynomial.last() == Some(&Scaled::ZERO) {
            polynomial.pop();
        }
        polynomial
    }
}
