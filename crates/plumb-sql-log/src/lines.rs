//! Lines of a log with their numbers.

use std::io::{self, Read as _};

/// Bytes that one record of a file may have.
pub(crate) const RECORD_MAX: usize = 16 << 20;

/// Tools of Windows write it in front of the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Lines of a file with their numbers, each no longer than [`RECORD_MAX`].
pub(crate) fn numbered_lines(
    mut bytes: impl io::BufRead,
) -> impl Iterator<Item = Result<(u64, String), String>> {
    let mut number = 0;
    std::iter::from_fn(move || {
        number += 1;
        let mut line = Vec::new();
        let most = RECORD_MAX as u64;
        match io::BufRead::read_until(&mut bytes.by_ref().take(most), b'\n', &mut line) {
            Err(error) => Some(Err(format!("line {number}: {error}"))),
            Ok(0) => None,
            Ok(_) if line.len() == RECORD_MAX && !line.ends_with(b"\n") => {
                Some(Err(format!("line {number} is longer than {RECORD_MAX} bytes")))
            }
            Ok(_) => {
                while line.ends_with(b"\n") || line.ends_with(b"\r") {
                    line.pop();
                }
                if number == 1 && line.starts_with(BYTE_ORDER_MARK) {
                    line.drain(..BYTE_ORDER_MARK.len());
                }
                let line = String::from_utf8(line);
                Some(line.map(|it| (number, it)).map_err(|_| format!("line {number} is not UTF-8")))
            }
        }
    })
    .scan(false, |failed, line| {
        // behind what cannot be read nothing is
        if *failed {
            return None;
        }
        *failed = line.is_err();
        Some(line)
    })
}
