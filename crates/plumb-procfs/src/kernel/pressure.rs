//! `/proc/pressure/*`: time in which something waited for a resource.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines, number};

/// The counters of one file of `/proc/pressure`.
///
/// # Source
/// Documentation/accounting/psi.rst of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Time in which at least one task waited, us.
    pub some_us: u64,
    /// Time in which every task that had work waited, us; absent for processors before Linux 5.13.
    pub full_us: Option<u64>,
}

impl Counters for Pressure {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        *self = Self::default();
        let mut found = false;
        for line in lines(text) {
            let mut words = Words::of(line);
            let kind = words.next();
            let Some(total) = words.find_map(|word| number(word.strip_prefix(b"total=")?)) else {
                continue;
            };
            match kind {
                Some(b"some") => {
                    self.some_us = total;
                    found = true;
                }
                Some(b"full") => self.full_us = Some(total),
                _ => {}
            }
        }
        if found { Ok(()) } else { Err(Unreadable("line `some`")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn totals_are_read_and_averages_left() {
        let both: Pressure = parsed(
            "some avg10=2.19 avg60=2.30 avg300=2.14 total=764816413\n\
             full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
        );
        assert_eq!(both, Pressure { some_us: 764_816_413, full_us: Some(5) });
        let one: Pressure = parsed("some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
        assert_eq!(one.full_us, None);
    }
}
