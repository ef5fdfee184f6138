//! `/proc/PID/stat`.

use crate::fields::{Words, number, signed};
use crate::label::Label;

/// What `/proc/PID/stat` says of a process.
///
/// # Source
/// proc_pid_stat(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its number.
    pub pid: u32,
    /// Its name, up to fifteen bytes.
    pub name: Label,
    /// Who began it, or who took it over.
    pub parent: u32,
    /// True when it has ended, and nobody has waited for it yet.
    pub is_zombie: bool,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Processor time of its own code, clock ticks.
    pub user_ticks: u64,
    /// Processor time of the kernel on its behalf, clock ticks.
    pub system_ticks: u64,
    /// The same of children that ended and were waited for.
    pub children_user_ticks: u64,
    /// The same of children that ended and were waited for.
    pub children_system_ticks: u64,
    /// Its threads.
    pub threads: u64,
    /// When it was begun, clock ticks after the machine.
    pub begun: u64,
    /// Memory that it occupies, pages.
    pub resident_pages: u64,
}

impl ProcessStat {
    /// Reads the text of `/proc/PID/stat`; `None` when it is none.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        // a name may hold blanks and brackets, so it ends with the last one
        let open = text.iter().position(|byte| *byte == b'(')?;
        let close = text.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
        let pid = u32::try_from(number(text[..open].trim_ascii())?).ok()?;
        let mut columns = [0; 22]; // the third column of the manual, the state, and those after it
        let state_and_more = text[close + 1..].trim_ascii();
        let words = Words::of(state_and_more);
        let mut count = 0;
        for (column, word) in columns.iter_mut().zip(words) {
            // some are negative, and none of those is wanted
            *column = number(word).or_else(|| signed(word).map(|_| 0)).unwrap_or(0);
            count += 1;
        }
        let of = |manual: usize| columns[manual - 3];
        (count == columns.len()).then(|| Self {
            pid,
            name: Label::new(&text[open + 1..close]),
            parent: u32::try_from(of(4)).unwrap_or(0),
            is_zombie: state_and_more.starts_with(b"Z"),
            major_faults: of(12),
            user_ticks: of(14),
            system_ticks: of(15),
            children_user_ticks: of(16),
            children_system_ticks: of(17),
            threads: of(20),
            begun: of(22),
            resident_pages: of(24),
        })
    }
}

/// The processor on which the thread or process of this text ran last.
pub(super) fn processor_of(text: &[u8]) -> Option<u32> {
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let cpu = Words::of(text[close + 1..].trim_ascii_end()).nth(39 - 3)?; // manual: column 39
    u32::try_from(number(cpu)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = ProcessStat::parse(
            b"25692 (a) b (c) S 25679 25679 22549 0 -1 4194304 99 0 7 0 11 12 13 14 20 0 3 0 \
              1295043 3133440 377 18446744073709551615 9 9\n",
        )
        .unwrap();
        assert_eq!((stat.pid, stat.name.as_str(), stat.parent), (25692, "a) b (c", 25679));
        assert_eq!((stat.user_ticks, stat.system_ticks), (11, 12));
        assert_eq!((stat.children_user_ticks, stat.children_system_ticks), (13, 14));
        assert_eq!((stat.major_faults, stat.threads, stat.is_zombie), (7, 3, false));
        assert_eq!((stat.begun, stat.resident_pages), (1_295_043, 377));
        assert_eq!(ProcessStat::parse(b"1 (x) S 2 3"), None);
        let ended = ProcessStat::parse(b"9 (S) Z 1 0 0 0 0 0 0 0 0 0 5 0 0 0 20 0 1 0 7 0 0");
        assert!(ended.unwrap().is_zombie);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = ProcessStat::parse(&bytes);
        }

        #[test]
        fn nor_do_brackets_and_numbers(text in "[0-9() -]{0,200}") {
            let _ = ProcessStat::parse(text.as_bytes());
        }
    }
}
