//! Whole numbers as real ones, and back.

/// A whole number for arithmetic: exact up to 2^53 (of nanoseconds, 104 days), beyond that to 16
/// digits.
#[must_use]
#[inline]
#[expect(clippy::cast_precision_loss, reason = "no figure has more than a few digits")]
pub fn real(number: u64) -> f64 {
    number as f64
}

/// The same of a number that may be negative.
#[must_use]
#[inline]
#[expect(clippy::cast_precision_loss, reason = "no figure has more than a few digits")]
pub fn signed_real(number: i64) -> f64 {
    number as f64
}

/// The nearest whole number: 0 for what is negative or none, and at most the largest there is.
#[must_use]
#[inline]
pub fn rounded(number: f64) -> u64 {
    truncated(number.round())
}

/// The whole part of a number: 0 for what is negative or none, and at most the largest there is.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a real number saturates"
)]
pub fn truncated(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_come_back() {
        for number in [0, 1, 4_711, 1 << 53] {
            assert_eq!(rounded(real(number)), number);
            assert_eq!(truncated(real(number)), number);
        }
        let signed = [-3, 0, 3].map(signed_real);
        assert_eq!(signed.map(f64::to_bits), [-3.0_f64, 0.0, 3.0].map(f64::to_bits));
        assert_eq!((rounded(2.5), truncated(2.5)), (3, 2));
    }

    #[test]
    fn what_is_no_whole_number_ends_at_the_nearest_end() {
        for (number, end) in [(-2.5, 0), (f64::NAN, 0), (1e30, u64::MAX), (f64::INFINITY, u64::MAX)]
        {
            assert_eq!((rounded(number), truncated(number)), (end, end), "{number}");
        }
    }
}
