//! HdrHistogram's own file forms: the V2 compressed encoding and the interval log, version 1.3.
//!
//! # Source
//! `HdrHistogram.java`, `HistogramLogWriter.java` and `ZigZagLEB128` of the Java implementation
//! define both forms; the Python package reads what this module writes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::Histogram;

const V2: u32 = 0x1c84_9313;
const V2_COMPRESSED: u32 = 0x1c84_9314;
/// cookie, payload length, index offset, digits, lowest, highest, conversion ratio
const HEADER_BYTES: usize = 4 + 4 + 4 + 4 + 8 + 8 + 8;
/// More counters than any histogram of three digits has, at nine bytes each.
const DECODED_BYTES_MAX: u64 = 1 << 20;

/// Why a text is not one of our encoded histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not base64; it was cut or altered.
    #[error("not base64: the histogram was cut or altered")]
    Base64,
    /// The bytes do not begin with the cookie of a V2 histogram.
    #[error("not a V2 HdrHistogram: unexpected cookie {0:#010x}")]
    Cookie(u32),
    /// The compressed part cannot be inflated.
    #[error("the compressed histogram cannot be inflated: it was cut or altered")]
    Deflate,
    /// The layout differs from three digits above a lowest value of 1.
    #[error("this histogram has another layout than three significant digits from 1")]
    Layout,
    /// The counters end in the middle of one, or go beyond the range.
    #[error("the counters of the histogram are cut or exceed the range")]
    Counters,
}

/// Encodes a histogram as HdrHistogram's V2 compressed form in base64 (`HISTFAAA...`).
#[must_use]
pub fn encode(histogram: &Histogram) -> String {
    let mut plain = header(histogram);
    push_counters(&mut plain, histogram.counters());
    let payload = u32::try_from(plain.len() - HEADER_BYTES).unwrap_or(u32::MAX);
    plain[4..8].copy_from_slice(&payload.to_be_bytes());

    pack(&plain)
}

fn pack(plain: &[u8]) -> String {
    let deflated = deflate(plain);
    let length = u32::try_from(deflated.len()).unwrap_or(u32::MAX);
    let mut packed = Vec::with_capacity(8 + deflated.len());
    packed.extend_from_slice(&V2_COMPRESSED.to_be_bytes());
    packed.extend_from_slice(&length.to_be_bytes());
    packed.extend_from_slice(&deflated);
    BASE64.encode(packed)
}

/// Decodes what [`encode`] or another HdrHistogram writer made. Minimum, maximum and sum are then
/// known to bucket precision only.
///
/// # Errors
/// [`DecodeError`] says which part is not as the form demands.
pub fn decode(text: &str) -> Result<Histogram, DecodeError> {
    let packed = BASE64.decode(text).map_err(|_| DecodeError::Base64)?;
    let (cookie, rest) = take_u32(&packed)?;
    if cookie != V2_COMPRESSED {
        return Err(DecodeError::Cookie(cookie));
    }
    let (_, deflated) = take_u32(rest)?;
    let mut plain = Vec::new();
    ZlibDecoder::new(deflated)
        .take(DECODED_BYTES_MAX)
        .read_to_end(&mut plain)
        .map_err(|_| DecodeError::Deflate)?;
    decode_plain(&plain)
}

fn decode_plain(plain: &[u8]) -> Result<Histogram, DecodeError> {
    let (cookie, _) = take_u32(plain)?;
    if cookie != V2 {
        return Err(DecodeError::Cookie(cookie));
    }
    let head = plain.get(..HEADER_BYTES).ok_or(DecodeError::Counters)?;
    if head[8..16] != [0, 0, 0, 0, 0, 0, 0, 3] || head[16..24] != 1u64.to_be_bytes() {
        return Err(DecodeError::Layout);
    }
    let mut counters = &plain[HEADER_BYTES..];
    let mut histogram = Histogram::new();
    let mut index = 0;
    while !counters.is_empty() {
        let value = take_zigzag(&mut counters).ok_or(DecodeError::Counters)?;
        if let Ok(count) = u64::try_from(value) {
            if count > 0 && !histogram.add_counter(index, count) {
                return Err(DecodeError::Counters);
            }
            index += 1;
        } else {
            let skipped = usize::try_from(value.unsigned_abs()).unwrap_or(usize::MAX);
            index = index.saturating_add(skipped);
        }
    }
    Ok(histogram)
}

fn header(histogram: &Histogram) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEADER_BYTES + 2 * histogram.counters().len());
    head.extend_from_slice(&V2.to_be_bytes());
    head.extend_from_slice(&0u32.to_be_bytes()); // payload length, known later
    head.extend_from_slice(&0u32.to_be_bytes()); // normalizing index offset
    head.extend_from_slice(&3u32.to_be_bytes()); // significant digits
    head.extend_from_slice(&1u64.to_be_bytes()); // lowest discernible value
    head.extend_from_slice(&Histogram::HIGHEST.to_be_bytes());
    head.extend_from_slice(&1f64.to_be_bytes()); // integer to double conversion ratio
    head
}

/// Counts as zig-zag LEB128; a run of zeros is one negative number.
fn push_counters(out: &mut Vec<u8>, counters: &[u64]) {
    let mut rest = counters;
    while let Some(first) = rest.first() {
        if *first > 0 {
            push_zigzag(out, i64::try_from(*first).unwrap_or(i64::MAX));
            rest = &rest[1..];
        } else {
            let zeros = rest.iter().take_while(|count| **count == 0).count();
            push_zigzag(out, -i64::try_from(zeros).unwrap_or(i64::MAX));
            rest = &rest[zeros..];
        }
    }
}

#[expect(clippy::cast_sign_loss, reason = "zig-zag maps the sign into the lowest bit")]
fn push_zigzag(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        let low = rest.to_le_bytes()[0];
        rest >>= 7;
        if rest == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
    out.push(rest.to_le_bytes()[0]); // the ninth byte carries eight bits
}

#[expect(clippy::cast_possible_wrap, reason = "undoes the zig-zag of the writer")]
fn take_zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for position in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = if position == 8 { u64::from(*byte) } else { u64::from(byte & 0x7f) };
        value |= bits << (7 * position);
        if byte & 0x80 == 0 || position == 8 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

fn take_u32(bytes: &[u8]) -> Result<(u32, &[u8]), DecodeError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(DecodeError::Counters)?;
    Ok((u32::from_be_bytes(*head), rest))
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    match encoder.write_all(plain).and_then(|()| encoder.finish()) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("writing to memory does not fail: {error}"),
    }
}

/// The head of an interval log: format, start and the column titles.
///
/// `start_unix_ns` is nanoseconds since 1970-01-01T00:00:00Z; `start_text` says the same to people.
#[must_use]
pub fn log_header(start_unix_ns: u64, start_text: &str) -> String {
    let start = seconds(start_unix_ns);
    format!(
        "#[Histogram log format version 1.3]\n\
         #[StartTime: {start} (seconds since epoch), {start_text}]\n\
         #[BaseTime: {start} (seconds since epoch)]\n\
         #[Values are nanoseconds; Interval_Max is in milliseconds]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

/// One line of an interval log: the values recorded in `length_ns` from `start_ns` after the base
/// time, under `tag` (commas and white space become `_`, which the form does not allow).
#[must_use]
pub fn log_line(tag: &str, start_ns: u64, length_ns: u64, histogram: &Histogram) -> String {
    let tag: String =
        tag.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c }).collect();
    let mut line = String::new();
    // writing to a String does not fail
    let _ = writeln!(
        line,
        "Tag={tag},{},{},{}.{:03},{}",
        seconds(start_ns),
        seconds(length_ns),
        histogram.max() / 1_000_000,
        histogram.max() / 1_000 % 1_000,
        encode(histogram)
    );
    line
}

/// The tag of one series at one point of a plan: `response;connections=1;size=500B`.
#[must_use]
pub fn log_tag(series: &str, labels: &BTreeMap<String, String>) -> String {
    let words = labels.iter().map(|(key, value)| format!(";{key}={value}"));
    words.fold(series.to_owned(), |tag, word| tag + &word)
}

/// A line of an interval log.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// Which series it belongs to; empty without a tag.
    pub tag: String,
    /// Start after the base time, nanoseconds, to the millisecond.
    pub start_ns: u64,
    /// Length, nanoseconds, to the millisecond.
    pub length_ns: u64,
    /// The values recorded in it.
    pub histogram: Histogram,
}

/// Why a text is no interval log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The line has another form than `[Tag=TAG,]start,length,max,histogram`.
    #[error("line {line}: expected [Tag=TAG,]start,length,max,histogram")]
    Form {
        /// Number of the line, from one.
        line: usize,
    },
    /// The histogram of the line cannot be decoded.
    #[error("line {line}: {cause}")]
    Histogram {
        /// Number of the line, from one.
        line: usize,
        /// What is wrong with it.
        cause: DecodeError,
    },
}

/// Reads the lines of an interval log whose tag is `tag`.
///
/// # Errors
/// [`LogError`] names the line. A last line without its end, as an interruption leaves it, is
/// left out.
pub fn read_log(text: &str, tag: &str) -> Result<Vec<LogLine>, LogError> {
    let mut lines = Vec::new();
    visit_log(text, tag, |line| lines.push(line))?;
    Ok(lines)
}

/// As [`read_log`], and hands the lines to `visit` one after another: a decoded one may take 100 KB.
///
/// # Errors
/// As [`read_log`]; the lines before that one were visited.
pub fn visit_log(text: &str, tag: &str, mut visit: impl FnMut(LogLine)) -> Result<(), LogError> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (number, line) in whole.lines().enumerate() {
        if line.starts_with('#') || line.starts_with('"') || line.is_empty() {
            continue;
        }
        let malformed = LogError::Form { line: number + 1 };
        let (own, rest) = match line.strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',').ok_or(malformed.clone())?,
            None => ("", line),
        };
        if own != tag {
            continue;
        }
        let mut fields = rest.splitn(4, ',');
        let mut time = || from_seconds(fields.next()?);
        let (Some(start_ns), Some(length_ns)) = (time(), time()) else {
            return Err(malformed);
        };
        let histogram = fields.nth(1).ok_or(malformed)?;
        let histogram =
            decode(histogram).map_err(|cause| LogError::Histogram { line: number + 1, cause })?;
        visit(LogLine { tag: own.into(), start_ns, length_ns, histogram });
    }
    Ok(())
}

/// Seconds with up to nine decimals as nanoseconds.
fn from_seconds(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let decimals = format!("{decimals:0<9}");
    let below: u64 = decimals.get(..9)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(below)
}

/// Nanoseconds as seconds with three decimals.
fn seconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_encoded_histogram_starts_as_hdrhistogram_expects() {
        assert!(encode(&Histogram::new()).starts_with("HISTFAAAA"));
    }

    #[test]
    fn damaged_text_is_refused_with_the_part_that_is_wrong() {
        assert_eq!(decode("***"), Err(DecodeError::Base64));
        assert_eq!(decode(""), Err(DecodeError::Counters));
        assert_eq!(decode("AAAAAAAA"), Err(DecodeError::Cookie(0)));
        let mut good = Histogram::new();
        good.record(5);
        let text = encode(&good);
        assert_eq!(decode(&text[..text.len() - 8]), Err(DecodeError::Deflate));
    }

    #[test]
    fn what_inflates_beyond_any_histogram_is_refused_before_it_takes_memory() {
        let mut plain = header(&Histogram::new());
        plain.resize(64 << 20, 2); // counters of one
        let text = pack(&plain);
        assert!(text.len() < 128 << 10, "{}", text.len());
        assert_eq!(decode(&text), Err(DecodeError::Counters));
        let mut plain = header(&Histogram::new());
        (0..3).for_each(|_| push_zigzag(&mut plain, i64::MAX));
        assert_eq!(decode(&pack(&plain)), Err(DecodeError::Counters), "a count beyond any load");
    }

    #[test]
    fn a_log_line_holds_no_comma_or_blank_in_its_tag() {
        let line = log_line("a b,c", 1_500_000_000, 1_000_000_000, &Histogram::new());
        assert!(line.starts_with("Tag=a_b_c,1.500,1.000,0.000,HISTFAAA"), "{line}");
        assert!(line.ends_with('\n'));
    }

    #[test]
    fn a_log_is_read_back_by_its_tags() {
        let mut histogram = Histogram::new();
        histogram.record(2_000_000);
        let labels = BTreeMap::from([("size".into(), "1B".into())]);
        let tag = log_tag("response", &labels);
        assert_eq!(tag, "response;size=1B");
        let mut text = log_header(1_500_000_000, "then");
        text += &log_line(&tag, 250_000_000, 50_000_000, &histogram);
        text += &log_line("service", 250_000_000, 50_000_000, &histogram);
        text += "Tag=response;size=1B,9"; // cut
        let lines = read_log(&text, &tag).unwrap();
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].start_ns, lines[0].length_ns), (250_000_000, 50_000_000));
        assert_eq!(lines[0].histogram.counters(), histogram.counters());
    }

    #[test]
    fn a_damaged_log_is_refused_with_the_line() {
        assert_eq!(read_log("#\n1,2\n", "").unwrap_err(), LogError::Form { line: 2 });
        let damaged = read_log("1.0,1.0,0.1,***\n", "").unwrap_err();
        assert_eq!(damaged.to_string(), format!("line 1: {}", DecodeError::Base64));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_log_reader_panic(text in "[0-9a-zT=,.#\\n]{0,80}") {
            let _ = read_log(&text, "");
        }

        #[test]
        fn decoding_gives_back_every_bucket(
            values in prop::collection::vec((0u64..Histogram::HIGHEST, 1u64..1 << 40), 0..60),
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|(value, n)| histogram.record_n(*value, *n));
            let back = decode(&encode(&histogram)).unwrap();
            prop_assert_eq!(back.counters(), histogram.counters());
        }

        #[test]
        fn any_number_survives_zigzag(value in any::<i64>()) {
            let mut bytes = Vec::new();
            push_zigzag(&mut bytes, value);
            prop_assert_eq!(take_zigzag(&mut bytes.as_slice()), Some(value));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_plain(&bytes);
            let mut plain = header(&Histogram::new());
            plain.extend_from_slice(&bytes);
            let _ = decode_plain(&plain);
        }
    }
}
