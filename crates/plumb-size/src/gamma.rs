//! Quantiles of a time of which mean and variance are known.

/// The `share` quantile of the gamma distribution of this `mean` and `variance`; the mean where
/// there is no variance.
///
/// # Source
/// The regularized incomplete gamma function by its series and continued fraction (Abramowitz and
/// Stegun 6.5.29, 6.5.31), inverted by bisection.
pub(crate) fn quantile(mean: f64, variance: f64, share: f64) -> f64 {
    if mean <= 0.0 || variance <= mean * mean * 1e-9 {
        return mean;
    }
    let (shape, scale) = (mean * mean / variance, variance / mean);
    let (mut low, mut high) = (0.0, shape.max(1.0));
    while below(shape, high) < share && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if below(shape, middle) < share {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-12 * high {
            break;
        }
    }
    high * scale
}

/// The share of a gamma distribution of scale 1 that is at most `x`.
fn below(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (shape * x.ln() - x - ln_gamma(shape)).exp();
    if x < shape + 1.0 { front * series(shape, x) } else { 1.0 - front * fraction(shape, x) }
}

fn series(shape: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / shape, 1.0 / shape, shape);
    for _ in 0..100_000 {
        n += 1.0;
        term *= x / n;
        sum += term;
        if term < sum * 1e-15 {
            break;
        }
    }
    sum
}

/// Lentz's method.
fn fraction(shape: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - shape;
    let mut c = 1e300;
    let mut d = 1.0 / b;
    let mut value = d;
    for n in 1..100_000_u32 {
        let a = -f64::from(n) * (f64::from(n) - shape);
        b += 2.0;
        d = 1.0 / nonzero(a * d + b);
        c = nonzero(b + a / c);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

fn nonzero(value: f64) -> f64 {
    if value.abs() < 1e-300 { 1e-300 } else { value }
}

/// The logarithm of the gamma function: Stirling's series behind a recurrence.
fn ln_gamma(value: f64) -> f64 {
    let (mut x, mut shift) = (value, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let tail = 1.0 / (12.0 * x) - 1.0 / (360.0 * x * square) + 1.0 / (1260.0 * x * square * square)
        - 1.0 / (1680.0 * x * square * square * square);
    (x - 0.5) * x.ln() - x + 0.918_938_533_204_672_8 + tail - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // chi-square at 95 % with 1, 2, 10 and 100 degrees of freedom
        for (freedom, expected) in
            [(1.0, 3.841_459), (2.0, 5.991_465), (10.0, 18.307_038), (100.0, 124.342_113)]
        {
            let found = quantile(freedom, 2.0 * freedom, 0.95);
            assert!((found - expected).abs() < 2e-6 * expected, "{found} {expected}");
        }
        assert!((quantile(3.0, 0.0, 0.95) - 3.0).abs() < 1e-12);
        assert!((quantile(1.0, 1.0, 0.5) - std::f64::consts::LN_2).abs() < 1e-9);
    }
}
