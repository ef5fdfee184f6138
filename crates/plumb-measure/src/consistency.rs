//! Whether the figures of a record agree with each other, as they do when nobody altered it.

use crate::{Distribution, Histogram, ResultRecord, RunRecord};

/// Share by which a figure may differ from what its histogram says: buckets are 1/1,024 wide, and
/// the exact ends are not in them.
const BUCKET: f64 = 1.0 / 500.0;
/// Share by which a throughput may differ from operations over duration.
const ROUNDING: f64 = 1e-6;

impl RunRecord {
    /// The first figure that contradicts another, in words without an end; `None` when all agree. An
    /// alteration that a record carries through to all of its figures is not seen.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let of_result = |result: &ResultRecord| {
            let found = result.contradiction()?;
            Some(match result.name() {
                name if name.is_empty() => found,
                name => format!("at {name} {found}"),
            })
        };
        let floor = self.floor.as_ref().map(|floor| &floor.service_ns);
        floor
            .and_then(|floor| floor.contradiction("floor.service_ns"))
            .or_else(|| self.results.iter().find_map(of_result))
    }
}

impl ResultRecord {
    /// The first figure of the result that contradicts another, in words without an end; `None` when all
    /// agree.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate, to six digits")]
    pub fn contradiction(&self) -> Option<String> {
        let distributions = [
            ("response_ns", &self.response_ns),
            ("service_ns", &self.service_ns),
            ("first_byte_ns", &self.first_byte_ns),
            ("connect_ns", &self.connect_ns),
            ("tls_ns", &self.tls_ns),
            ("failed_ns", &self.failed_ns),
        ];
        let found =
            distributions.into_iter().find_map(|(name, it)| it.as_ref()?.contradiction(name));
        if found.is_some() {
            return found;
        }
        let response = self.response_ns.as_ref()?;
        // operations that were looked into are in no distribution of the result
        if response.count.checked_add(self.looked_into()) != Some(self.operations) {
            return Some(format!(
                "operations is {}, and response_ns has {} of them",
                self.operations, response.count
            ));
        }
        let rate = self.operations as f64 * 1e9 / self.duration_ns.max(1) as f64;
        ((self.throughput_per_s - rate).abs() > ROUNDING * rate).then(|| {
            // no rate has that many digits
            let said = match self.throughput_per_s {
                said if said.abs() < 1e15 => said.to_string(),
                said => format!("{said:e}"),
            };
            format!(
                "throughput_per_s is {said}, and {} operations in {} ns are {rate}",
                self.operations, self.duration_ns
            )
        })
    }
}

impl Distribution {
    /// What of it its histogram contradicts; it is called `name`.
    fn contradiction(&self, name: &str) -> Option<String> {
        let histogram = match self.decode() {
            Ok(histogram) => histogram,
            Err(error) => return Some(format!("the histogram of {name} cannot be read: {error}")),
        };
        if self.count != histogram.count() {
            return Some(format!(
                "{name}.count is {}, and its histogram has {}",
                self.count,
                histogram.count()
            ));
        }
        let is_beyond = self.max > Histogram::HIGHEST; // its histogram holds it as the highest
        let found = self
            .beside(&histogram)
            .into_iter()
            .filter(|(figure, ..)| !(is_beyond && *figure == "mean"))
            .find(|(_, own, said)| differ((*own).min(Histogram::HIGHEST), *said));
        found.map(|(figure, own, said)| {
            format!("{name}.{figure} is {own}, and its histogram says about {said}")
        })
    }

    /// Every figure with its name, and what the histogram says of it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of u64 values lies within u64"
    )]
    fn beside(&self, histogram: &Histogram) -> [(&'static str, u64, u64); 10] {
        [
            ("min", self.min, histogram.min()),
            ("p25", self.p25, histogram.quantile(0.25)),
            ("p50", self.p50, histogram.quantile(0.5)),
            ("p75", self.p75, histogram.quantile(0.75)),
            ("p90", self.p90, histogram.quantile(0.9)),
            ("p95", self.p95, histogram.quantile(0.95)),
            ("p99", self.p99, histogram.quantile(0.99)),
            ("p999", self.p999, histogram.quantile(0.999)),
            ("max", self.max, histogram.max()),
            ("mean", self.mean, histogram.mean().round() as u64),
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "a tolerance")]
fn differ(one: u64, other: u64) -> bool {
    one.abs_diff(other) as f64 > 1.0 + BUCKET * one.max(other) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attribution;

    fn result() -> ResultRecord {
        let mut histogram = Histogram::new();
        (1..=5_000).for_each(|value| histogram.record(value * 7_001));
        ResultRecord {
            operations: 5_000,
            duration_ns: 3_000_000_001,
            throughput_per_s: 5_000.0 * 1e9 / 3_000_000_001.0,
            response_ns: Distribution::of(&histogram),
            ..ResultRecord::default()
        }
    }

    /// What is said when `alter` has changed something.
    fn altered(alter: impl FnOnce(&mut ResultRecord, &mut Distribution)) -> String {
        let mut result = result();
        let mut response = result.response_ns.take().unwrap();
        alter(&mut result, &mut response);
        result.response_ns = Some(response);
        result.contradiction().unwrap_or_default()
    }

    #[test]
    fn what_was_written_agrees_with_itself() {
        assert_eq!(result().contradiction(), None);
        assert_eq!(ResultRecord { operations: 1, ..ResultRecord::default() }.contradiction(), None);
        let mut far = Histogram::new();
        [3, 70_000_000_000, u64::MAX / 4].iter().for_each(|value| far.record(*value));
        assert_eq!(Distribution::of(&far).unwrap().contradiction("x"), None);
    }

    #[test]
    fn a_figure_that_was_altered_is_named_with_both_values() {
        let said = altered(|_, response| response.p50 /= 2);
        assert!(said.starts_with("response_ns.p50 is 8"), "{said}");
        assert!(altered(|_, response| response.max += 1_000_000).contains("response_ns.max"));
        assert!(altered(|_, response| response.mean *= 2).contains("response_ns.mean"));
        assert!(altered(|_, response| response.count = 6_000).contains("count is 6000"));
        assert!(altered(|result, _| result.operations = 9).contains("operations is 9"));
        let seven_more = |result: &mut ResultRecord| {
            result.operations += 7;
            result.throughput_per_s = 5_007.0 * 1e9 / 3_000_000_001.0;
        };
        let looked = |result: &mut ResultRecord, observed| {
            seven_more(result);
            let attribution = Attribution { observed, ..Attribution::default() };
            result.attribution = Some(attribution);
        };
        assert_eq!(altered(|result, _| looked(result, 7)), "", "looks are in no distribution");
        assert!(altered(|result, _| looked(result, 6)).contains("operations is 5007"));
        let alone = |result: &mut ResultRecord, observed| {
            seven_more(result);
            result.observed = observed;
        };
        assert_eq!(altered(|result, _| alone(result, 7)), "", "nothing has to be attributed");
        assert!(altered(|result, _| alone(result, 6)).contains("operations is 5007"));
        assert!(altered(|result, _| result.throughput_per_s *= 10.0).contains("throughput_per_s"));
        assert!(altered(|result, _| result.duration_ns /= 2).contains("throughput_per_s"));
        assert!(altered(|_, response| response.histogram.truncate(9)).contains("cannot be read"));
    }
}
