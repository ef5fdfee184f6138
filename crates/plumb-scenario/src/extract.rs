//! Extractions: what becomes a variable from an answer.

mod way;

use plumb_wire::expression::{FindError, MATCHES_MAX, PathError};

use crate::answer::Answer;
use crate::draw::Draw;
use crate::file::{self, Pick};
use crate::html_text;
use crate::pattern::PatternError;
use crate::variables::{Names, NoName, Slot, Value};
use way::Extraction;

/// The header that says where a redirect leads.
const LOCATION: &str = "Location";

/// True when `extract` takes where a redirect leads: whoever does expects one.
#[must_use]
pub fn takes_location(extract: &file::Extract) -> bool {
    extract.header.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(LOCATION))
}

/// An extraction that is ready.
#[derive(Clone, Debug)]
pub struct Extractor {
    slot: Slot,
    way: Extraction,
    pick: Pick,
    html: bool,
    address: Option<Address>,
    default: Option<Value>,
}

/// Which values are addresses, relative to that of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Those that are a whole `Location`.
    Location,
    /// All.
    Any,
}

/// What is wrong in an extraction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// None of the ways, or two.
    #[error(
        "an extraction has one of json, regex, xpath, between and header; regex may follow header"
    )]
    NotOneWay,
    /// The variable.
    #[error(transparent)]
    Name(#[from] NoName),
    /// The `JSONPath`.
    #[error("json: {cause}")]
    Json {
        /// What is wrong, and where.
        cause: PathError,
    },
    /// The `XPath`.
    #[error("xpath: {cause}")]
    Xpath {
        /// What is wrong, and where.
        cause: PathError,
    },
    /// The regular expression.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A template without regular expression.
    #[error("template belongs to regex: it says what becomes of its groups")]
    TemplateAlone,
    /// What a `null` becomes, without a `JSONPath`.
    #[error("null belongs to json: it says what a `null` of the document becomes")]
    NullAlone,
    /// A group that the regular expression does not have.
    #[error("template: the regular expression has no group {group}")]
    Group {
        /// As written.
        group: usize,
    },
    /// A variable where none can stand.
    #[error(
        "`{0}` is no variable here: json, xpath and between are the same for all answers; the \
         characters themselves are written `$${{`"
    )]
    Variable(String),
    /// Nothing before and nothing behind.
    #[error("between needs a text before or behind what is sought")]
    BetweenNothing,
}

/// Why nothing was extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingFound {
    /// Nothing matches.
    #[error("nothing matches")]
    NoMatch,
    /// There are fewer matches than the number that was asked for.
    #[error("number {number} was asked for, and {found} match")]
    TooFew {
        /// As asked for.
        number: u64,
        /// Matches.
        found: usize,
    },
    /// What matches is no text.
    #[error(
        "what matches is not UTF-8, and no charset of the answer says which letters it has: those of \
         ISO-8859-1, ISO-8859-15 and windows-1252 are read"
    )]
    NotUtf8,
    /// The content could not be searched.
    #[error(transparent)]
    NotSearched(#[from] FindError),
}

impl Extractor {
    /// Prepares an extraction; the variable becomes known to `names`.
    ///
    /// # Errors
    /// [`ExtractError`] in words.
    pub fn new(extract: &file::Extract, names: &mut Names) -> Result<Self, ExtractError> {
        let default = extract.default.as_deref().map(|text| match extract.pick {
            Pick::All => Value::list(Some(text).filter(|text| !text.is_empty())),
            Pick::First | Pick::Random | Pick::Number(_) => Value::text(text),
        });
        let slot = names.slot(&extract.name)?;
        let address = match (extract.address, takes_location(extract)) {
            (true, _) => Some(Address::Any),
            (false, true) => Some(Address::Location),
            (false, false) => None,
        };
        let way = Extraction::new(extract)?;
        Ok(Self { slot, way, pick: extract.pick, html: extract.html, address, default })
    }

    /// The variable.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// True when the value is a list, for `each`.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.pick == Pick::All
    }

    /// True when the content has to be kept for it; otherwise the head.
    #[must_use]
    pub fn needs_content(&self) -> bool {
        !matches!(self.way, Extraction::Header(..))
    }

    /// True when it takes where a redirect leads.
    #[must_use]
    pub fn takes_location(&self) -> bool {
        matches!(&self.way, Extraction::Header(name, _) if name.eq_ignore_ascii_case(LOCATION))
    }

    /// Which of its values are addresses.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        self.address
    }

    /// The value of the variable: with `pick = "all"` a list, otherwise a text. `draw` is asked
    /// when one of several is picked at random, and then once.
    ///
    /// # Errors
    /// [`NothingFound`] when there is no value and no default, or one that is no text.
    pub fn value(&self, answer: &Answer<'_>, draw: &mut Draw) -> Result<Value, NothingFound> {
        // a part of a list would be taken for all of it, and what is there for what is not
        let kept = [NothingFound::NotSearched(FindError::TooManyMatches), NothingFound::NotUtf8];
        let found = self.way.find(answer, self.most()).map_err(NothingFound::from);
        match found.and_then(|found| self.picked(found, draw)) {
            Err(nothing) if !kept.contains(&nothing) => self.default.clone().ok_or(nothing),
            value => value,
        }
    }

    /// What was found and is taken, as a text.
    fn text(&self, found: Vec<u8>) -> Result<String, NothingFound> {
        let text = String::from_utf8(found).map_err(|_| NothingFound::NotUtf8)?;
        Ok(if self.html { html_text::decoded(&text).into_owned() } else { text })
    }

    /// Matches that have to be found, at most.
    fn most(&self) -> usize {
        let all = MATCHES_MAX + 1;
        match self.pick {
            Pick::First => 1,
            Pick::Number(number) => usize::try_from(number).map_or(all, |number| number.min(all)),
            Pick::All | Pick::Random => all,
        }
    }

    fn picked(&self, found: Vec<Vec<u8>>, draw: &mut Draw) -> Result<Value, NothingFound> {
        let index = match self.pick {
            Pick::First => 0,
            Pick::Number(number) if number > found.len() as u64 && !found.is_empty() => {
                return Err(NothingFound::TooFew { number, found: found.len() });
            }
            Pick::Number(number) => usize::try_from(number - 1).unwrap_or(usize::MAX),
            Pick::All | Pick::Random if found.len() > MATCHES_MAX => {
                return Err(FindError::TooManyMatches.into());
            }
            Pick::All if found.is_empty() => return Err(NothingFound::NoMatch),
            Pick::All => {
                let texts = found.into_iter().map(|it| self.text(it));
                return Ok(Value::list(texts.collect::<Result<Vec<_>, _>>()?));
            }
            Pick::Random => draw.one_of(found.len()),
        };
        let taken = found.into_iter().nth(index).ok_or(NothingFound::NoMatch)?;
        Ok(Value::text(&self.text(taken)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /list?sid=abc&page=2\r\n\
        Set-Cookie: a=1\r\nset-cookie: b=2\r\n\r\n";
    const LATIN_1: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /M\xfcller\r\n\r\n";
    const JSON: &[u8] =
        br#"{"d": {"results": [{"id": "LH 0400", "n": 1}, {"id": "LH 0402", "n": 2}]}}"#;
    const XML: &[u8] = b"<feed><entry id='1'>a</entry><entry id='2'>b</entry></feed>";

    fn extract() -> file::Extract {
        file::Extract { name: "found".into(), ..file::Extract::default() }
    }

    fn json(pick: Pick) -> file::Extract {
        file::Extract { json: Some("$.d.results[*].id".into()), pick, ..extract() }
    }

    fn value(extract: &file::Extract, content: &[u8]) -> Result<Value, NothingFound> {
        let extractor = Extractor::new(extract, &mut Names::default()).unwrap();
        let answer =
            Answer { status: 200, address: "", length: 0, took_ns: 0, head: HEAD, content };
        extractor.value(&answer, &mut Draw::of_user(1, 1))
    }

    #[test]
    fn each_way_finds_its_values() {
        let regex = |regex: &str, template: Option<&str>| file::Extract {
            regex: Some(regex.into()),
            template: template.map(Into::into),
            pick: Pick::All,
            ..extract()
        };
        let between = |before: &str, behind: &str| file::Extract {
            between: Some([before.into(), behind.into()]),
            pick: Pick::All,
            ..extract()
        };
        let xpath =
            file::Extract { xpath: Some("//entry/@id".into()), pick: Pick::All, ..extract() };
        let header =
            file::Extract { header: Some("set-COOKIE".into()), pick: Pick::All, ..extract() };
        let sid = file::Extract { header: Some("Location".into()), ..regex("sid=([^&]*)", None) };
        for (extract, content, expected) in [
            (json(Pick::All), JSON, vec!["LH 0400", "LH 0402"]),
            (xpath, XML, vec!["1", "2"]),
            (regex("id='(.)'>(.)", None), XML, vec!["1", "2"]),
            (regex("id='(.)'>(.)", Some("$2$$1$")), XML, vec!["a1", "b2"]),
            (regex("<.ntry", None), XML, vec!["<entry", "<entry"]),
            (between("id='", "'"), XML, vec!["1", "2"]),
            (between("", "<entry"), XML, vec!["<feed>"]),
            (between("'2'>b", ""), XML, vec!["</entry></feed>"]),
            (header, b"", vec!["a=1", "b=2"]),
            (sid, b"", vec!["abc"]),
        ] {
            assert_eq!(value(&extract, content), Ok(Value::list(expected)), "{extract:?}");
        }
    }

    #[test]
    fn an_address_of_other_letters_is_found_as_it_is_asked_for() {
        let whole = file::Extract { header: Some("location".into()), ..extract() };
        let extractor = Extractor::new(&whole, &mut Names::default()).unwrap();
        let answer =
            Answer { status: 302, address: "", length: 0, took_ns: 0, head: LATIN_1, content: b"" };
        assert_eq!(
            extractor.value(&answer, &mut Draw::of_user(1, 1)),
            Ok(Value::text("/M%FCller"))
        );
    }

    #[test]
    fn one_of_several_is_picked() {
        assert_eq!(value(&json(Pick::First), JSON), Ok(Value::text("LH 0400")));
        assert_eq!(value(&json(Pick::Number(2)), JSON), Ok(Value::text("LH 0402")));
        assert_eq!(
            value(&json(Pick::Number(3)), JSON),
            Err(NothingFound::TooFew { number: 3, found: 2 })
        );
        let extractor = Extractor::new(&json(Pick::Random), &mut Names::default()).unwrap();
        let answer =
            Answer { status: 200, address: "", length: 0, took_ns: 0, head: b"", content: JSON };
        let mut draw = Draw::of_user(1, 1);
        let drawn: Vec<Value> =
            (0..64).map(|_| extractor.value(&answer, &mut draw).unwrap()).collect();
        assert!(["LH 0400", "LH 0402"].iter().all(|id| drawn.contains(&Value::text(id))));
    }

    #[test]
    fn a_default_stands_in() {
        let nothing = file::Extract { json: Some("$.x".into()), ..extract() };
        assert_eq!(value(&nothing, JSON), Err(NothingFound::NoMatch));
        let no_json = value(&nothing, b"<p>").unwrap_err();
        assert!(no_json.to_string().contains("no JSON"), "{no_json}");
        let with = |default: &str, pick| file::Extract {
            default: Some(default.into()),
            pick,
            ..nothing.clone()
        };
        assert_eq!(value(&with("", Pick::First), JSON), Ok(Value::text("")));
        assert_eq!(value(&with("x", Pick::Random), b"<p>"), Ok(Value::text("x")));
        assert_eq!(value(&with("x", Pick::Number(5)), b"<p>"), Ok(Value::text("x")));
        assert_eq!(value(&with("x", Pick::All), JSON), Ok(Value::list(["x"])));
        assert_eq!(value(&with("", Pick::All), JSON), Ok(Value::list(Vec::<String>::new())));
        let nothing = file::Extract { json: Some("$.x".into()), pick: Pick::All, ..extract() };
        assert_eq!(value(&nothing, JSON), Err(NothingFound::NoMatch));
    }

    #[test]
    fn what_is_no_text_is_no_value_and_no_default_stands_in() {
        let content = b"<p>Gr\xf6\xdfe</p><p>ok</p>";
        let with = |extract: file::Extract| file::Extract { default: Some("x".into()), ..extract };
        let between = Some(["<p>".into(), "</p>".into()]);
        for extract in [
            with(file::Extract { between, ..extract() }),
            with(file::Extract { regex: Some("<p>(.*?)</p>".into()), ..extract() }),
        ] {
            assert_eq!(value(&extract, content), Err(NothingFound::NotUtf8), "{extract:?}");
            assert_eq!(value(&extract, &content[12..]), Ok(Value::text("ok")), "{extract:?}");
            let picked = |pick| value(&file::Extract { pick, ..extract.clone() }, content);
            assert_eq!(picked(Pick::Number(2)), Ok(Value::text("ok")), "it alone is taken");
            assert_eq!(picked(Pick::Number(1)), Err(NothingFound::NotUtf8), "{extract:?}");
            assert_eq!(picked(Pick::All), Err(NothingFound::NotUtf8), "{extract:?}");
        }
    }

    #[test]
    fn more_matches_than_are_kept_are_no_list() {
        let content = "x".repeat(MATCHES_MAX + 1);
        let all = |pick| file::Extract {
            regex: Some("x".into()),
            default: Some("y".into()),
            pick,
            ..extract()
        };
        let too_many = NothingFound::NotSearched(FindError::TooManyMatches);
        assert_eq!(value(&all(Pick::All), content.as_bytes()), Err(too_many));
        assert_eq!(value(&all(Pick::First), content.as_bytes()), Ok(Value::text("x")));
    }

    #[test]
    fn what_is_no_extraction_is_refused() {
        let refused = |extract: file::Extract| {
            Extractor::new(&extract, &mut Names::default()).unwrap_err().to_string()
        };
        for (extract, words) in [
            (extract(), "has one of"),
            (file::Extract { xpath: Some("/a".into()), ..json(Pick::First) }, "has one of"),
            (file::Extract { name: "a b".into(), ..json(Pick::First) }, "`a b` is no name"),
            (
                file::Extract { template: Some("$1$".into()), ..json(Pick::First) },
                "belongs to regex",
            ),
            (file::Extract { json: Some("d".into()), ..extract() }, "json: byte 0"),
            (
                file::Extract { json: Some("$[?@.a=='${a}']".into()), ..extract() },
                "`${a}` is no variable here",
            ),
            (file::Extract { xpath: Some("/a[@b='${a}']".into()), ..extract() }, "`$${`"),
            (
                file::Extract { between: Some(["<".into(), "${a}>".into()]), ..extract() },
                "`${a}` is no variable here",
            ),
            (file::Extract { regex: Some("${a}".into()), ..extract() }, "none stands in a regular"),
            (file::Extract { xpath: Some("a".into()), ..extract() }, "xpath: byte 0"),
            (file::Extract { regex: Some("(".into()), ..extract() }, "is not understood"),
            (
                file::Extract {
                    regex: Some("a".into()),
                    template: Some("$1$".into()),
                    ..extract()
                },
                "no group 1",
            ),
            (
                file::Extract { between: Some([String::new(), String::new()]), ..extract() },
                "before or behind",
            ),
        ] {
            let problem = refused(extract);
            assert!(problem.contains(words), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn any_content_is_searched(content: Vec<u8>, before in "\\PC{0,2}", behind in "\\PC{1,2}") {
            let between = [before, behind];
            for pick in [Pick::First, Pick::All, Pick::Random, Pick::Number(2)] {
                let _ = value(&json(pick), &content);
                let _ = value(&file::Extract { between: Some(between.clone()), pick, ..extract() }, &content);
                let regex = Some("(a|.)*?x?".into());
                let _ = value(&file::Extract { regex, pick, ..extract() }, &content);
                let xpath = Some("//*".into());
                let _ = value(&file::Extract { xpath, pick, ..extract() }, &content);
            }
        }
    }
}
