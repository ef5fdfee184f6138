//! The pieces that an XML document consists of, in their order: tags, texts, references and the rest.
//!
//! Pieces borrow from the document. What concerns a piece by itself is checked here: that it has an
//! end, that names are names, that every end tag has its start tag. What a document may consist of is
//! checked by whoever takes the pieces.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3, memmem};

/// A piece of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'d> {
    /// `<name ...>`, or `<name .../>`, which has no end tag.
    Start(StartTag<'d>),
    /// `</name>`.
    End,
    /// What stands between tags and references, as it is written.
    Text(&'d str),
    /// What stands between `<![CDATA[` and `]]>`.
    Data(&'d str),
    /// What stands between `&` and `;`.
    Reference(&'d str),
    /// `<?xml ...?>`, without `<?` and `?>`.
    Declaration(&'d str),
    /// A comment or an instruction.
    Aside,
    /// `<!DOCTYPE`, of which nothing else is read.
    Doctype,
    /// The document ends.
    Eof,
}

/// A start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StartTag<'d> {
    /// With its prefix.
    pub(super) name: &'d str,
    /// Without it.
    pub(super) local: &'d str,
    /// Name and attributes.
    pub(super) content: &'d str,
    /// There is no end tag.
    pub(super) is_empty: bool,
}

/// Goes through a document.
pub(super) struct Markup<'d> {
    text: &'d str,
    at: usize,
    /// Names of the elements that are open, outermost first.
    open: Vec<&'d str>,
}

/// What is wrong with the piece that would come next.
pub(super) type Problem = Cow<'static, str>;

impl<'d> Markup<'d> {
    pub(super) fn new(text: &'d str) -> Self {
        // a byte order mark is no part of the document
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at, open: Vec::new() }
    }

    /// The byte behind the last piece.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next piece.
    pub(super) fn next(&mut self) -> Result<Piece<'d>, Problem> {
        let rest = &self.text[self.at..];
        match rest.as_bytes() {
            [] => Ok(Piece::Eof),
            [b'<', b'/', ..] => self.end_tag(rest),
            [b'<', b'!', ..] => self.declared(rest),
            [b'<', b'?', ..] => self.instruction(rest),
            [b'<', ..] => self.start_tag(rest),
            [b'&', ..] => self.reference(rest),
            bytes => {
                let length = memchr2(b'<', b'&', bytes).unwrap_or(bytes.len());
                self.at += length;
                Ok(Piece::Text(&rest[..length]))
            }
        }
    }

    fn start_tag(&mut self, rest: &'d str) -> Result<Piece<'d>, Problem> {
        let bytes = rest.as_bytes();
        let name = Name::begins(&rest[1..]);
        let behind = 1 + name.text.len();
        let end = match bytes.get(behind) {
            Some(b'>') => behind,
            _ => tag_end(bytes, behind).ok_or("a tag without `>`")?,
        };
        let is_empty = end > behind && bytes[end - 1] == b'/';
        let content = &rest[1..end - usize::from(is_empty)];
        let next = content.as_bytes().get(name.text.len());
        if !name.is_sound() || next.is_some_and(|byte| !is_blank(*byte)) {
            let shown = content.split([' ', '\t', '\r', '\n']).next().unwrap_or(content);
            return Err(format!("`{shown}` is no name").into());
        }
        if !is_empty {
            self.open.push(name.text);
        }
        self.at += end + 1;
        Ok(Piece::Start(StartTag { name: name.text, local: name.local, content, is_empty }))
    }

    fn end_tag(&mut self, rest: &'d str) -> Result<Piece<'d>, Problem> {
        let Some(open) = self.open.pop() else { return Err("an end tag without its start".into()) };
        // most end as they should, without blanks
        let bytes = rest.as_bytes();
        if bytes.get(2 + open.len()) == Some(&b'>') && bytes[2..].starts_with(open.as_bytes()) {
            self.at += 3 + open.len();
            return Ok(Piece::End);
        }
        let end = memchr(b'>', bytes).ok_or("a tag without `>`")?;
        let name = rest[2..end].trim_end_matches([' ', '\t', '\r', '\n']);
        if name != open {
            return Err(format!("`</{name}>`, expected `</{open}>`").into());
        }
        self.at += end + 1;
        Ok(Piece::End)
    }

    /// A comment, data, or a document type.
    fn declared(&mut self, rest: &'d str) -> Result<Piece<'d>, Problem> {
        if let Some(comment) = rest.strip_prefix("<!--") {
            let end = memmem::find(comment.as_bytes(), b"--").ok_or("a comment without `-->`")?;
            if comment.as_bytes().get(end + 2) != Some(&b'>') {
                return Err("`--` within a comment".into());
            }
            self.at += 4 + end + 3;
            return Ok(Piece::Aside);
        }
        if let Some(data) = rest.strip_prefix("<![CDATA[") {
            let end = memmem::find(data.as_bytes(), b"]]>").ok_or("CDATA without `]]>`")?;
            self.at += 9 + end + 3;
            return Ok(Piece::Data(&data[..end]));
        }
        if rest.starts_with("<!DOCTYPE") {
            return Ok(Piece::Doctype);
        }
        Err("`<!`, which begins neither a comment nor CDATA".into())
    }

    fn instruction(&mut self, rest: &'d str) -> Result<Piece<'d>, Problem> {
        let end = memmem::find(rest.as_bytes(), b"?>").filter(|end| *end >= 2);
        let content = &rest[2..end.ok_or("an instruction without `?>`")?];
        let name = Name::begins(content);
        let behind = content.as_bytes().get(name.text.len());
        if !name.is_sound() {
            return Err("an instruction without a name".into());
        }
        if behind.is_some_and(|byte| !is_blank(*byte)) {
            return Err("an instruction whose name is none".into());
        }
        self.at += 2 + content.len() + 2;
        match name.text {
            "xml" => Ok(Piece::Declaration(content)),
            name if name.eq_ignore_ascii_case("xml") => {
                Err(format!("an instruction for `{name}`, a name that XML keeps").into())
            }
            _ => Ok(Piece::Aside),
        }
    }

    fn reference(&mut self, rest: &'d str) -> Result<Piece<'d>, Problem> {
        let end = memchr3(b';', b'<', b'&', &rest.as_bytes()[1..]).map(|at| at + 1);
        match end.filter(|end| rest.as_bytes()[*end] == b';') {
            Some(end) => {
                self.at += end + 1;
                Ok(Piece::Reference(&rest[1..end]))
            }
            None => Err("`&` without `;`, expected `&amp;`".into()),
        }
    }
}

/// Where the `>` of a tag stands that is in none of its values.
fn tag_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr3(b'>', b'"', b'\'', bytes.get(at..)?)?;
        if bytes[at] == b'>' {
            return Some(at);
        }
        at += 1 + memchr(bytes[at], &bytes[at + 1..])? + 1;
    }
}

/// Whether a space stands behind each value but the last of `attributes`.
pub(super) fn are_apart(attributes: &[u8]) -> bool {
    let mut rest = attributes;
    while let Some(open) = memchr2(b'"', b'\'', rest) {
        let (quote, value) = (rest[open], &rest[open + 1..]);
        // that it has no end is found where it is read
        let Some(close) = memchr(quote, value) else { return true };
        rest = &value[close + 1..];
        if rest.first().is_some_and(|byte| !is_blank(*byte)) {
            return false;
        }
    }
    true
}

/// What stands where a name is expected, gone through once.
struct Name<'d> {
    /// All bytes up to one that stands in no name.
    text: &'d str,
    /// Without its prefix.
    local: &'d str,
    /// It is ASCII.
    is_plain: bool,
}

impl<'d> Name<'d> {
    /// The name that `rest` begins with; an empty one when it begins with none.
    fn begins(rest: &'d str) -> Self {
        let (mut length, mut all, mut colon) = (0, 0, None);
        for byte in rest.bytes().take_while(|byte| IN_NAME[usize::from(*byte)]) {
            all |= byte;
            if byte == b':' && colon.is_none() {
                colon = Some(length);
            }
            length += 1;
        }
        let text = &rest[..length];
        let local = colon.map_or(text, |at| &text[at + 1..]);
        Self { text, local, is_plain: all < 0x80 }
    }

    /// Whether it is one.
    fn is_sound(&self) -> bool {
        match self.text.as_bytes() {
            [first, ..] if self.is_plain => {
                first.is_ascii_alphabetic() || matches!(first, b'_' | b':')
            }
            _ => is_name(self.text),
        }
    }
}

/// Bytes that stand in names, those of characters beyond ASCII among them.
const IN_NAME: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        let plain = byte.is_ascii_alphanumeric();
        table[byte as usize] = plain || matches!(byte, b'_' | b':' | b'-' | b'.');
        byte += 1;
    }
    table
};

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Letters of every language and what XML allows beside them, so that no mark-up passes as a name.
pub(super) fn is_name(name: &str) -> bool {
    let begins = |char: char| char.is_alphabetic() || matches!(char, '_' | ':') || char > '\u{ff}';
    let goes_on = |char: char| begins(char) || char.is_numeric() || matches!(char, '-' | '.' | '·');
    let plain = |byte: u8| byte < 0x80 && IN_NAME[usize::from(byte)];
    match name.as_bytes() {
        [b'a'..=b'z' | b'A'..=b'Z' | b'_' | b':', rest @ ..]
            if rest.iter().all(|it| plain(*it)) =>
        {
            true
        }
        _ => {
            let mut chars = name.chars();
            chars.next().is_some_and(begins) && chars.all(goes_on)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Problem> {
        let mut markup = Markup::new(text);
        let mut pieces = Vec::new();
        loop {
            match markup.next()? {
                Piece::Eof => return Ok(pieces),
                piece => pieces.push(piece),
            }
        }
    }

    fn start<'d>(name: &'d str, content: &'d str, is_empty: bool) -> Piece<'d> {
        let local = name.split_once(':').map_or(name, |(_, local)| local);
        Piece::Start(StartTag { name, local, content, is_empty })
    }

    #[test]
    fn every_kind_of_piece_is_told_apart() {
        let text = "\u{feff}<?xml version='1.0'?><a:b i='>' j=\"'\"><!-- > --><ü/><c \n/>x&lt;\
                    <![CDATA[<&]]]]><?go on?></a:b\t>";
        let expected = [
            Piece::Declaration("xml version='1.0'"),
            start("a:b", "a:b i='>' j=\"'\"", false),
            Piece::Aside,
            start("ü", "ü", true),
            start("c", "c \n", true),
            Piece::Text("x"),
            Piece::Reference("lt"),
            Piece::Data("<&]]"),
            Piece::Aside,
            Piece::End,
        ];
        assert_eq!(pieces(text).unwrap(), expected);
        let names = ["a:b", "b", "a:b:c d", ":", "é:ö>", ""].map(Name::begins);
        let locals = names.each_ref().map(|name| name.local);
        assert_eq!(locals, ["b", "b", "b:c", "", "ö", ""]);
        assert_eq!(names.map(|name| name.is_sound()), [true, true, true, true, true, false]);
    }

    #[test]
    fn what_is_no_piece_is_told() {
        for (text, told) in [
            ("<a", "without `>`"),
            ("<a i='>", "without `>`"),
            ("<a></b>", "`</b>`, expected `</a>`"),
            ("<a></a", "without `>`"),
            ("<a></ab>", "`</ab>`, expected `</a>`"),
            ("</a>", "without its start"),
            ("<>", "`` is no name"),
            ("< a>", "`` is no name"),
            ("<-a>", "`-a` is no name"),
            ("<a/b>", "`a/b` is no name"),
            ("<a=b>", "`a=b` is no name"),
            ("<!-- -- -->", "`--` within a comment"),
            ("<!--->", "without `-->`"),
            ("<!---->x<!-- --->", "`--` within a comment"),
            ("<![CDATA[x]]", "without `]]>`"),
            ("<!ELEMENT a>", "neither a comment nor CDATA"),
            ("<?>", "without `?>`"),
            ("<??>", "without a name"),
            ("<?XML a?>", "a name that XML keeps"),
            ("a & b", "expected `&amp;`"),
            ("&a<b>;", "expected `&amp;`"),
        ] {
            let problem = pieces(text).unwrap_err();
            assert!(problem.contains(told), "{text}: {problem}");
        }
        assert_eq!(pieces("<!---->"), Ok(vec![Piece::Aside]));
    }
}
