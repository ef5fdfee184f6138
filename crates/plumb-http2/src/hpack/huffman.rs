//! The code of strings in header blocks.

use super::Undecodable;

/// Bits of the code of each symbol; the last is the end of a string, which never stands in one. The
/// code is canonical: codes of one length follow each other in the order of their symbols.
///
/// # Source
/// RFC 7541, appendix B.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
const SYMBOLS: usize = 257;
const END: u16 = 256;
const SHORTEST: usize = 5;
const LONGEST: usize = 30;

/// The code, in both directions.
struct Code {
    /// Of each symbol.
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// Of each length: the first code, the place of its symbol, and what lies above all codes up to
    /// that length, in the upper of 32 bits.
    lengths: [(u32, usize, u64); LONGEST + 1],
}

static CODE: Code = Code::new();

impl Code {
    const fn new() -> Self {
        let mut code =
            Self { codes: [0; SYMBOLS], symbols: [0; SYMBOLS], lengths: [(0, 0, 0); LONGEST + 1] };
        let (mut next, mut place, mut length) = (0_u32, 0, 1);
        while length <= LONGEST {
            next <<= 1;
            let first = (next, place);
            let mut symbol = 0_u16;
            while symbol <= END {
                if LENGTHS[symbol as usize] as usize == length {
                    code.codes[symbol as usize] = next;
                    code.symbols[place] = symbol;
                    next += 1;
                    place += 1;
                }
                symbol += 1;
            }
            code.lengths[length] = (first.0, first.1, (next as u64) << (32 - length));
            length += 1;
        }
        code
    }
}

/// Appends what `coded` says to `out`.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Undecodable> {
    let mut bytes = coded.iter();
    let (mut bits, mut count) = (0_u64, 0_usize);
    loop {
        while count <= 56
            && let Some(byte) = bytes.next()
        {
            bits |= u64::from(*byte) << (56 - count);
            count += 8;
        }
        let window = bits >> 32;
        let found = (SHORTEST..=LONGEST).find(|length| window < CODE.lengths[*length].2);
        let length = found.unwrap_or(LONGEST);
        if length > count {
            // what fills the last byte is the start of the code of the end
            let padding = (bits >> 56) | (0xff >> count);
            let sound = count < 8 && padding == 0xff;
            return if sound { Ok(()) } else { Err(Undecodable("a string without an end")) };
        }
        let (first, place, _) = CODE.lengths[length];
        let behind = (window >> (32 - length)).wrapping_sub(u64::from(first));
        let symbol = usize::try_from(behind).ok().and_then(|n| CODE.symbols.get(place + n));
        let Some(byte) = symbol.and_then(|symbol| u8::try_from(*symbol).ok()) else {
            return Err(Undecodable("a string with its end within"));
        };
        out.push(byte);
        bits <<= length;
        count -= length;
    }
}

/// Bytes of `text` once it is coded.
pub(super) fn coded_bytes(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends `text`, coded.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0_u32);
    for byte in text {
        let symbol = usize::from(*byte);
        let length = u32::from(LENGTHS[symbol]);
        bits = bits << length | u64::from(CODE.codes[symbol]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.extend_from_slice(&[(bits >> count).to_le_bytes()[0]]);
        }
    }
    if count > 0 {
        let padded = bits << (8 - count) | (0xff >> count);
        out.extend_from_slice(&[padded.to_le_bytes()[0]]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(text, &mut out);
        assert_eq!(out.len(), coded_bytes(text));
        out
    }

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, Undecodable> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    #[test]
    fn the_example_of_the_standard() {
        let bytes = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(coded(b"www.example.com"), bytes);
        assert_eq!(decoded(&bytes).unwrap(), b"www.example.com");
    }

    #[test]
    fn a_wrong_end_is_refused() {
        assert!(decoded(&[0xff; 4]).is_err(), "the end itself");
        assert!(decoded(&[0x1f, 0xff]).is_err(), "more than seven bits of padding");
        assert!(decoded(&[0b0000_0111]).is_ok(), "0, and ones");
        assert!(decoded(&[0b0000_0110]).is_err(), "padding with a zero");
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    proptest! {
        #[test]
        fn every_text_is_read_back(text: Vec<u8>) {
            prop_assert_eq!(decoded(&coded(&text)).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>) {
            let _ = decoded(&bytes);
        }
    }
}
