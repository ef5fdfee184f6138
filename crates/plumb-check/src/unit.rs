//! Units of figures, and quantities such as `10 Gbit/s`.

/// A unit, by its factor to the base of its kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    pub(crate) text: String,
    pub(crate) kind: Quantity,
    /// Bytes, seconds, or one: what one unit is of its base.
    pub(crate) factor: f64,
    /// Seconds of the time it is counted by, for rates.
    pub(crate) per_s: Option<f64>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Bits or bytes.
    Data,
    /// Time.
    Time,
    /// Anything else: messages, percent.
    Count,
}

impl Unit {
    /// `kB/s`, `Gbit/s`, `ms`, `%`, `messages/s`: unknown words count things.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        let (counted, per) = match text.split_once('/') {
            Some((counted, per)) => (counted.trim(), seconds(per.trim())),
            None => (text, None),
        };
        let (kind, factor) = bytes(counted)
            .map(|factor| (Quantity::Data, factor))
            .or_else(|| seconds(counted).map(|factor| (Quantity::Time, factor)))
            .unwrap_or((Quantity::Count, 1.0));
        Self { text: text.to_owned(), kind, factor, per_s: per }
    }

    /// The factor that makes bytes, seconds, or these a second.
    pub(crate) fn to_base(&self) -> f64 {
        self.factor / self.per_s.unwrap_or(1.0)
    }

    /// True for bits or bytes by time.
    pub(crate) fn is_data_rate(&self) -> bool {
        self.kind == Quantity::Data && self.per_s.is_some()
    }
}

/// `10 Gbit/s`: a figure and its unit.
pub(crate) fn quantity(text: &str) -> Option<(f64, Unit)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    Some((value, Unit::parse(&text[end..])))
}

/// kB, MB, GB and TB are of 1000, KiB, MiB, GiB and TiB of 1024; KB is nmon's, of 1024.
fn bytes(unit: &str) -> Option<f64> {
    const K: f64 = 1024.0;
    Some(match unit {
        "bit" | "bits" => 0.125,
        "kbit" | "Kbit" | "kbits" => 125.0,
        "Mbit" | "Mbits" => 125e3,
        "Gbit" | "Gbits" => 125e6,
        "B" | "byte" | "bytes" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KB" | "KiB" => K,
        "MiB" => K * K,
        "GiB" => K * K * K,
        "TiB" => K * K * K * K,
        _ => return None,
    })
}

fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" | "Sec" | "second" | "seconds" => 1.0,
        "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use super::*;

    #[test]
    fn units_are_factors_of_bytes_and_seconds() {
        assert_eq!(Unit::parse("kB/s").to_base(), 1000.0);
        assert_eq!(Unit::parse("KiB/min").to_base(), 1024.0 / 60.0);
        assert_eq!(Unit::parse("ms").to_base(), 0.001);
        assert_eq!(Unit::parse("messages/s").to_base(), 1.0);
        assert!(Unit::parse("Gbit/s").is_data_rate());
        assert!(!Unit::parse("MB").is_data_rate());
        let (value, unit) = quantity("10 Gbit/s").unwrap();
        assert_eq!(value * unit.to_base(), 1.25e9);
        assert!(quantity("ten").is_none());
    }
}
