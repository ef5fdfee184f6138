//! HPACK: how header blocks are decoded, and how those that are sent are encoded.
//!
//! # Source
//! RFC 7541.

mod huffman;
mod table;

use std::ops::Range;

use crate::Violation;
use table::{TABLE_BYTES, Table};

/// Numbers in a block are no larger: nothing that is read is.
const NUMBER_MAX: usize = 1 << 28;
const HUFFMAN: u8 = 0x80;
/// Says that the sender's table holds nothing from now on.
pub(crate) const NO_TABLE: u8 = 0x20;

/// Why a block cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Undecodable(pub(crate) &'static str);

impl From<Undecodable> for Violation {
    fn from(why: Undecodable) -> Self {
        Self::compression(why.0)
    }
}

/// Decodes the blocks of one connection, which refer to each other.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    table: Table,
    name: Vec<u8>,
    value: Vec<u8>,
    /// The block that came last, and how often since it was decoded.
    repeated: Vec<u8>,
    times: usize,
    /// Blocks that were not decoded because they repeat one.
    repeats: u64,
}

/// What a block needs that was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing: it refers to no entry of the table, and means the same wherever it comes.
    Alone,
    /// The table as it was.
    OfTable,
}

/// Repeats of a block that puts an entry into the table, behind which further ones change nothing:
/// every entry takes 32 bytes or more.
const REPEATS_MAX: usize = TABLE_BYTES / 32 + 1;
/// The last number of a field that both sides know.
const KNOWN_MAX: usize = 61;

impl Decoder {
    /// Hands the fields of `block` to `field`, name and value, in order.
    ///
    /// # Errors
    /// The state of the table is then unknown: no further block can be decoded.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        field: impl FnMut(&[u8], &[u8]),
    ) -> Result<Meaning, Undecodable> {
        self.catch_up()?;
        self.fields(block, field)
    }

    /// Takes `block` once more, which was decoded before and means the same [alone](Meaning::Alone): what
    /// it puts into the table is put there once somebody asks.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    #[inline]
    pub(crate) fn repeat(&mut self, block: &[u8]) -> Result<(), Undecodable> {
        if self.repeated != block {
            self.catch_up()?;
            self.repeated.extend_from_slice(block);
        }
        self.times += 1;
        self.repeats += 1;
        Ok(())
    }

    /// Puts into the table what repeated blocks put there.
    fn catch_up(&mut self) -> Result<(), Undecodable> {
        let mut block = std::mem::take(&mut self.repeated);
        for _ in 0..std::mem::take(&mut self.times).min(REPEATS_MAX) {
            self.fields(&block, |_, _| {})?;
        }
        block.clear();
        self.repeated = block;
        Ok(())
    }

    fn fields(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<Meaning, Undecodable> {
        let mut at = 0;
        let mut first = true;
        let mut alone = true;
        while let Some(byte) = block.get(at).copied() {
            if byte & 0x80 != 0 {
                let index = number(block, &mut at, 7)?;
                alone &= index <= KNOWN_MAX;
                let (name, value) = self.table.get(index).ok_or(NO_FIELD)?;
                field(name, value);
            } else if byte & 0xe0 == NO_TABLE {
                let limit = number(block, &mut at, 5)?;
                if !first || limit > TABLE_BYTES {
                    return Err(Undecodable("a table that changes where it must not"));
                }
                self.table.limit(limit);
                alone = false;
                continue; // another one may follow
            } else {
                let kept = byte & 0x40 != 0;
                let index = number(block, &mut at, if kept { 6 } else { 4 })?;
                alone &= index <= KNOWN_MAX;
                self.literal(block, &mut at, index)?;
                if kept {
                    self.table.insert(&self.name, &self.value);
                }
                field(&self.name, &self.value);
            }
            first = false;
        }
        Ok(if alone { Meaning::Alone } else { Meaning::OfTable })
    }

    /// Grows with every change of the table, those that repeats will make among them.
    pub(crate) fn generation(&self) -> u64 {
        self.table.generation() + self.repeats
    }

    /// Reads a field that stands there itself, except for its name if that has a number.
    fn literal(&mut self, block: &[u8], at: &mut usize, index: usize) -> Result<(), Undecodable> {
        self.name.clear();
        if index == 0 {
            string(block, at, &mut self.name)?;
        } else {
            let (name, _) = self.table.get(index).ok_or(NO_FIELD)?;
            self.name.extend_from_slice(name);
        }
        self.value.clear();
        string(block, at, &mut self.value)
    }
}

const NO_FIELD: Undecodable = Undecodable("a field that is in no table");
const CUT: Undecodable = Undecodable("a block that ends within a field");

/// A number at `at`, in the last `bits` bits of its first byte and in those behind it.
fn number(block: &[u8], at: &mut usize, bits: u32) -> Result<usize, Undecodable> {
    let all = (1_usize << bits) - 1;
    let mut number = usize::from(*block.get(*at).ok_or(CUT)?) & all;
    *at += 1;
    if number < all {
        return Ok(number);
    }
    for shift in (0..=28).step_by(7) {
        let byte = usize::from(*block.get(*at).ok_or(CUT)?);
        *at += 1;
        number += (byte & 0x7f) << shift;
        if number > NUMBER_MAX {
            break;
        }
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Undecodable("a number that is too large"))
}

/// Appends the string at `at` to `out`.
fn string(block: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Result<(), Undecodable> {
    let coded = block.get(*at).ok_or(CUT)? & HUFFMAN != 0;
    let length = number(block, at, 7)?;
    let range: Range<usize> = *at..*at + length;
    let bytes = block.get(range.clone()).ok_or(CUT)?;
    *at = range.end;
    if coded {
        return huffman::decode(bytes, out);
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends a field in a form that no table changes by. What is `secret` no proxy on the way may keep
/// in one either.
pub(crate) fn encode(name: &[u8], value: &[u8], secret: bool, out: &mut Vec<u8>) {
    let (whole, of_name) = table::known(name, value);
    if let (Some(index), false) = (whole, secret) {
        return write_number(index, 7, 0x80, out);
    }
    let form = if secret { 0x10 } else { 0x00 };
    write_number(of_name.unwrap_or(0), 4, form, out);
    if of_name.is_none() {
        write_string(name, out);
    }
    write_string(value, out);
}

/// Appends a number behind the bits of `form`, in the last `bits` bits of the first byte.
fn write_number(number: usize, bits: u32, form: u8, out: &mut Vec<u8>) {
    let all = (1_usize << bits) - 1;
    let low = |number: usize| number.to_le_bytes()[0];
    if number < all {
        return out.push(form | low(number));
    }
    out.push(form | low(all));
    let mut rest = number - all;
    while rest >= 0x80 {
        out.push(0x80 | low(rest & 0x7f));
        rest >>= 7;
    }
    out.push(low(rest));
}

/// Appends a string in the shorter of its two forms.
fn write_string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::coded_bytes(text);
    if coded < text.len() {
        write_number(coded, 7, HUFFMAN, out);
        return huffman::encode(text, out);
    }
    write_number(text.len(), 7, 0, out);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests;
