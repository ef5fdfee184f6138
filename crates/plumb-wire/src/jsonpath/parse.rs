//! Paths as they are written.

use super::filter::{Comparable, Filter, Origin, Query};
use super::{Path, Reach, Segment, Selector};
use crate::expression::{Comparison, Cursor, PathError};

/// Steps of a path at most.
const SEGMENTS_MAX: usize = 64;
/// The largest index that a path may name: all integers up to it are exact everywhere.
const INDEX_MAX: i64 = (1 << 53) - 1;

const SELECTOR: &str = "a name in quotes, an index, a slice, `*` or a filter `?...`";

pub(super) fn path(text: &str) -> Result<Path, PathError> {
    let mut cursor = Cursor::new(text)?;
    cursor.require("$")?;
    let segments = segments(&mut cursor)?;
    cursor.require_end()?;
    Ok(Path { segments, null: None })
}

/// Steps as long as there are any.
fn segments(cursor: &mut Cursor<'_>) -> Result<Vec<Segment>, PathError> {
    let mut segments = Vec::new();
    loop {
        let before = cursor.clone();
        cursor.skip_space();
        let segment = if cursor.eat("..") {
            Segment { reach: Reach::Descendants, selectors: behind_dots(cursor)? }
        } else if cursor.eat(".") {
            Segment { reach: Reach::Children, selectors: vec![behind_dot(cursor)?] }
        } else if cursor.peek() == Some('[') {
            Segment { reach: Reach::Children, selectors: brackets(cursor)? }
        } else {
            *cursor = before;
            return Ok(segments);
        };
        segments.push(segment);
        if segments.len() > SEGMENTS_MAX {
            return Err(cursor.expected(format!("at most {SEGMENTS_MAX} steps")));
        }
    }
}

fn behind_dots(cursor: &mut Cursor<'_>) -> Result<Vec<Selector>, PathError> {
    match cursor.peek() {
        Some('[') => brackets(cursor),
        _ => Ok(vec![behind_dot(cursor)?]),
    }
}

fn behind_dot(cursor: &mut Cursor<'_>) -> Result<Selector, PathError> {
    if cursor.eat("*") {
        return Ok(Selector::Wildcard);
    }
    let first = cursor.peek().unwrap_or(' ');
    if !is_name(first) || first.is_ascii_digit() {
        return Err(cursor.expected("a name or `*`"));
    }
    let name = cursor.take_while(is_name);
    if cursor.peek() == Some('-') {
        return Err(cursor.expected("the end of the name: one with a `-` is written ['a-b']"));
    }
    Ok(Selector::Name(name.into()))
}

fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || !char.is_ascii()
}

fn brackets(cursor: &mut Cursor<'_>) -> Result<Vec<Selector>, PathError> {
    cursor.require("[")?;
    let mut selectors = Vec::new();
    loop {
        cursor.skip_space();
        selectors.push(cursor.nested(selector)?);
        cursor.skip_space();
        if !cursor.eat(",") {
            break;
        }
    }
    if !cursor.eat("]") {
        return Err(cursor.expected("`]`, or `,` and a further selector"));
    }
    Ok(selectors)
}

fn selector(cursor: &mut Cursor<'_>) -> Result<Selector, PathError> {
    if cursor.eat("*") {
        return Ok(Selector::Wildcard);
    }
    if cursor.eat("?") {
        cursor.skip_space();
        return Ok(Selector::Filter(filter(cursor)?));
    }
    if let Some(name) = quoted(cursor)? {
        return Ok(Selector::Name(name));
    }
    index_or_slice(cursor)
}

fn index_or_slice(cursor: &mut Cursor<'_>) -> Result<Selector, PathError> {
    let start = integer(cursor)?;
    let before = cursor.clone();
    cursor.skip_space();
    if !cursor.eat(":") {
        *cursor = before;
        return start.map(Selector::Index).ok_or_else(|| cursor.expected(SELECTOR));
    }
    cursor.skip_space();
    let end = integer(cursor)?;
    cursor.skip_space();
    let mut step = None;
    if cursor.eat(":") {
        cursor.skip_space();
        step = integer(cursor)?;
    }
    Ok(Selector::Slice { start, end, step: step.unwrap_or(1) })
}

/// An integer without leading zeros; `None` when none begins here.
fn integer(cursor: &mut Cursor<'_>) -> Result<Option<i64>, PathError> {
    let begin = cursor.clone();
    let negative = cursor.eat("-");
    let digits = cursor.take_while(|char| char.is_ascii_digit());
    if digits.is_empty() && !negative {
        return Ok(None);
    }
    let plain = digits == "0" && !negative || !digits.is_empty() && !digits.starts_with('0');
    let number = digits.parse().ok().filter(|number: &i64| plain && *number <= INDEX_MAX);
    match number {
        Some(number) => Ok(Some(if negative { -number } else { number })),
        None => Err(begin.expected("an integer of at most 53 bits without leading zeros")),
    }
}

/// A text in single or double quotes; `None` when none begins here.
fn quoted(cursor: &mut Cursor<'_>) -> Result<Option<String>, PathError> {
    let quote = match cursor.peek() {
        Some(quote @ ('\'' | '"')) => quote,
        _ => return Ok(None),
    };
    cursor.next();
    let mut text = String::new();
    loop {
        match cursor.peek() {
            Some(char) if char == quote => {
                cursor.next();
                return Ok(Some(text));
            }
            Some('\\') => text.push(escaped(cursor, quote)?),
            Some(char) if char >= ' ' => text.extend(cursor.next()),
            _ => return Err(cursor.expected(format!("the closing {quote}"))),
        }
    }
}

/// One escaped character, from its backslash on.
fn escaped(cursor: &mut Cursor<'_>, quote: char) -> Result<char, PathError> {
    let begin = cursor.clone();
    cursor.next();
    let char = match cursor.next() {
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some(char @ ('/' | '\\')) => char,
        Some(char) if char == quote => char,
        Some('u') => return unicode(cursor).ok_or_else(|| begin.expected("\\u and four digits")),
        _ => return Err(begin.expected("an escape such as \\n, \\\\ or \\u00e9")),
    };
    Ok(char)
}

/// The character of four hexadecimal digits, or of two such groups.
fn unicode(cursor: &mut Cursor<'_>) -> Option<char> {
    let first = hex(cursor)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    let second = cursor.eat("\\u").then(|| hex(cursor)).flatten()?;
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)
}

fn hex(cursor: &mut Cursor<'_>) -> Option<u32> {
    (0..4).try_fold(0, |value, _| Some(value << 4 | cursor.next()?.to_digit(16)?))
}

/// Conditions joined by `||`, the weakest.
fn filter(cursor: &mut Cursor<'_>) -> Result<Filter, PathError> {
    let mut any = vec![conjunction(cursor)?];
    while joined(cursor, "||") {
        any.push(conjunction(cursor)?);
    }
    Ok(Filter::Any(any))
}

fn conjunction(cursor: &mut Cursor<'_>) -> Result<Filter, PathError> {
    let mut all = vec![cursor.nested(condition)?];
    while joined(cursor, "&&") {
        all.push(cursor.nested(condition)?);
    }
    Ok(Filter::All(all))
}

fn joined(cursor: &mut Cursor<'_>, word: &str) -> bool {
    let before = cursor.clone();
    cursor.skip_space();
    if cursor.eat(word) {
        cursor.skip_space();
        return true;
    }
    *cursor = before;
    false
}

/// A comparison, a test, or a filter in parentheses.
fn condition(cursor: &mut Cursor<'_>) -> Result<Filter, PathError> {
    if cursor.eat("!") {
        cursor.skip_space();
        if cursor.peek() != Some('(') && cursor.peek() != Some('@') && cursor.peek() != Some('$') {
            return Err(cursor.expected("`(`, or a path that begins with `@` or `$`"));
        }
        let negated = if cursor.peek() == Some('(') {
            cursor.nested(condition)?
        } else {
            Filter::Exists(query(cursor)?)
        };
        return Ok(Filter::Not(Box::new(negated)));
    }
    if cursor.eat("(") {
        cursor.skip_space();
        let filter = cursor.nested(filter)?;
        cursor.skip_space();
        cursor.require(")")?;
        return Ok(filter);
    }
    comparison_or_test(cursor)
}

fn comparison_or_test(cursor: &mut Cursor<'_>) -> Result<Filter, PathError> {
    let begin = cursor.clone();
    let left = comparable(cursor)?;
    let before = cursor.clone();
    cursor.skip_space();
    let Some(comparison) = comparison(cursor) else {
        *cursor = before;
        return match left {
            Comparable::Query(query) => Ok(Filter::Exists(query)),
            _ => Err(cursor.expected("a comparison such as ==")),
        };
    };
    cursor.skip_space();
    let middle = cursor.clone();
    let right = comparable(cursor)?;
    for (side, place) in [(&left, &begin), (&right, &middle)] {
        if matches!(side, Comparable::Query(query) if !query.is_singular()) {
            return Err(place.expected("a path to one value: only names and indices"));
        }
    }
    Ok(Filter::Compare(left, comparison, right))
}

fn comparison(cursor: &mut Cursor<'_>) -> Option<Comparison> {
    let found = Comparison::WORDS.into_iter().find(|(word, _)| cursor.eat(word));
    found.map(|(_, comparison)| comparison)
}

fn comparable(cursor: &mut Cursor<'_>) -> Result<Comparable, PathError> {
    if let Some(text) = quoted(cursor)? {
        return Ok(Comparable::Text(text));
    }
    match cursor.peek() {
        Some('@' | '$') => Ok(Comparable::Query(query(cursor)?)),
        Some('-' | '0'..='9') => number(cursor),
        _ => word(cursor),
    }
}

fn query(cursor: &mut Cursor<'_>) -> Result<Query, PathError> {
    let origin = match cursor.next() {
        Some('@') => Origin::Here,
        _ => Origin::Root,
    };
    Ok(Query { origin, path: Path { segments: cursor.nested(segments)?, null: None } })
}

fn number(cursor: &mut Cursor<'_>) -> Result<Comparable, PathError> {
    let begin = cursor.clone();
    let number = cursor
        .take_while(|char| char.is_ascii_digit() || matches!(char, '-' | '+' | '.' | 'e' | 'E'));
    if super::scan::is_number(number) {
        Ok(Comparable::Literal(number.into()))
    } else {
        Err(begin.expected("a number as JSON writes them"))
    }
}

fn word(cursor: &mut Cursor<'_>) -> Result<Comparable, PathError> {
    let begin = cursor.clone();
    let word = cursor.take_while(|char| char.is_ascii_alphanumeric() || char == '_');
    match word {
        "true" | "false" | "null" => Ok(Comparable::Literal(word.into())),
        _ if !word.is_empty() && cursor.peek() == Some('(') => {
            Err(begin.expected("a path or a value: functions are not supported"))
        }
        _ => Err(begin.expected("`@`, `$`, a text in quotes, a number, true, false or null")),
    }
}
