//! `/proc/loadavg` and `/proc/sys/fs/file-nr`: two files of one line.

use super::{Counters, Unreadable};
use crate::fields::{Words, number};

/// The counters of `/proc/loadavg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loadavg {
    /// Load over 1, 5 and 15 minutes, in hundredths.
    pub load_hundredths: [u64; 3],
    /// Threads that run or could run, now.
    pub runnable: u64,
    /// Threads there are.
    pub threads: u64,
}

impl Counters for Loadavg {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        const NO: Unreadable = Unreadable("three loads and the number of threads");
        let mut words = Words::of(text);
        for load in &mut self.load_hundredths {
            *load = hundredths(words.next().ok_or(NO)?).ok_or(NO)?;
        }
        let threads = words.next().ok_or(NO)?;
        let slash = threads.iter().position(|byte| *byte == b'/').ok_or(NO)?;
        self.runnable = number(&threads[..slash]).ok_or(NO)?;
        self.threads = number(&threads[slash + 1..]).ok_or(NO)?;
        Ok(())
    }
}

/// A number with two places behind the point, as hundredths.
fn hundredths(word: &[u8]) -> Option<u64> {
    let point = word.iter().position(|byte| *byte == b'.')?;
    let places = &word[point + 1..];
    if places.len() != 2 {
        return None;
    }
    number(&word[..point])?.checked_mul(100)?.checked_add(number(places)?)
}

/// The counters of `/proc/sys/fs/file-nr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileNr {
    /// File handles in use (Windows calls them handles).
    pub open: u64,
    /// How many there may be.
    pub limit: u64,
}

impl Counters for FileNr {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        const NO: Unreadable = Unreadable("three numbers");
        let line = text.trim_ascii_end();
        let mut words = Words::of(line);
        let allocated = words.number().ok_or(NO)?;
        let unused = words.number().ok_or(NO)?;
        self.open = allocated.saturating_sub(unused);
        self.limit = words.number().ok_or(NO)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn loads_and_threads() {
        let load: Loadavg = parsed("1.07 0.94 12.06 3/897 24020\n");
        assert_eq!(load.load_hundredths, [107, 94, 1206]);
        assert_eq!((load.runnable, load.threads), (3, 897));
        assert!(Loadavg::default().parse(b"1.07 0.94\n").is_err());
    }

    #[test]
    fn file_handles() {
        assert_eq!(parsed::<FileNr>("497\t7\t2466183\n"), FileNr { open: 490, limit: 2_466_183 });
    }
}
