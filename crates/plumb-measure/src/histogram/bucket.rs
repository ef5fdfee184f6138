//! Where the buckets of all histograms lie.

use super::{Histogram, highest_in, index_of, lowest_in};

impl Histogram {
    /// Both ends of the bucket of `value`: no histogram tells the values between them apart.
    #[must_use]
    pub fn bucket_of(value: u64) -> (u64, u64) {
        let index = index_of(value.min(Self::HIGHEST));
        (lowest_in(index), highest_in(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_shares_it_with_its_ends() {
        assert_eq!(Histogram::bucket_of(0), (0, 0));
        assert_eq!(Histogram::bucket_of(2_047), (2_047, 2_047));
        for value in [2_048, 1_999_900_000, Histogram::HIGHEST] {
            let (low, high) = Histogram::bucket_of(value);
            assert!(low <= value && value <= high && low < high, "{low} {value} {high}");
            assert_eq!([low, high].map(Histogram::bucket_of), [(low, high); 2]);
        }
        assert_eq!(Histogram::bucket_of(u64::MAX), Histogram::bucket_of(Histogram::HIGHEST));
    }
}
