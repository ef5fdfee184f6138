//! Texts with variables in them.

mod call;

use plumb_wire::percent::encoded;

use crate::placeholder::end_of;
use crate::variables::{Names, Slot, Value, Variables};

use call::Call;
pub use call::{CallError, NoCall};

/// A text in which `${NAME}` stands for the value of a variable.
///
/// - `${NAME}`: the text as it is.
/// - `${NAME:url}`: percent-encoded, for paths and queries: everything but letters, digits and
///   `-._~`.
/// - `${NAME:count}`: how many values a list has; 1 for a text.
/// - `${CALL(...)}`, `${CALL(...):url}`: a built-in value, where [`Names`] allow it.
/// - `$${`: the characters `${`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Box<[Segment]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(Box<str>),
    Variable(Slot, Form),
    Call(Box<Call>, Form),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Url,
    Count,
}

/// What is wrong in a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No closing brace.
    #[error("byte {at}: `${{` without `}}`; the characters themselves are written `$${{`")]
    Open {
        /// The byte of the `$`, from 0.
        at: usize,
    },
    /// No name between the braces.
    #[error("byte {at}: `{name}` is no variable: write letters, digits, `_`, `-` and `.`")]
    Name {
        /// The byte of the `$`, from 0.
        at: usize,
        /// What stands there.
        name: String,
    },
    /// A form that is not known.
    #[error("byte {at}: `{form}` is no form of a variable: write `url` or `count`")]
    Form {
        /// The byte of the `$`, from 0.
        at: usize,
        /// What stands there.
        form: String,
    },
    /// A call that cannot be.
    #[error("byte {at}: `{call}`: {cause}")]
    Call {
        /// The byte of the `$`, from 0.
        at: usize,
        /// What stands there.
        call: String,
        /// Why not.
        cause: NoCall,
    },
}

/// Why a template has no text for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A variable has no value.
    NotSet(Slot),
    /// A variable is a list.
    IsList(Slot),
    /// A built-in value cannot be made.
    Call(CallError),
}

impl Missing {
    /// The reason in words.
    #[must_use]
    pub fn words(self, names: &Names) -> String {
        match self {
            Self::NotSet(slot) => format!("${{{}}} has no value", names.name(slot)),
            Self::IsList(slot) => {
                format!("${{{0}}} is a list: walk through it with each = \"{0}\"", names.name(slot))
            }
            Self::Call(error) => error.to_string(),
        }
    }
}

impl Template {
    /// Reads a template; names that `names` does not know become known.
    ///
    /// # Errors
    /// [`TemplateError`] with the place.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, TemplateError> {
        Self::parse_within(text, names, 0)
    }

    /// The same, for an argument that stands within `depth` calls.
    pub(crate) fn parse_within(
        text: &str,
        names: &mut Names,
        depth: usize,
    ) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(found) = text[at..].find("${") {
            let dollar = at + found;
            if text[at..dollar].ends_with('$') {
                literal.push_str(&text[at..dollar - 1]);
                literal.push_str("${");
                at = dollar + 2;
                continue;
            }
            literal.push_str(&text[at..dollar]);
            let inner = &text[dollar + 2..];
            let end = end_of(inner).ok_or(TemplateError::Open { at: dollar })?;
            let made = segment(&inner[..end], dollar, names, depth)?;
            push_text(&mut parts, &mut literal);
            parts.push(made);
            at = dollar + 2 + end + 1;
        }
        literal.push_str(&text[at..]);
        push_text(&mut parts, &mut literal);
        Ok(Self { parts: parts.into() })
    }

    /// The variables it needs; one that it needs twice comes twice.
    pub fn slots(&self) -> Box<dyn Iterator<Item = Slot> + '_> {
        Box::new(self.parts.iter().flat_map(|part| -> Box<dyn Iterator<Item = Slot> + '_> {
            match part {
                Segment::Variable(slot, _) => Box::new(std::iter::once(*slot)),
                Segment::Call(call, _) => Box::new(call.slots()),
                Segment::Text(_) => Box::new(std::iter::empty()),
            }
        }))
    }

    /// True when a built-in value stands in it, which may be another one each time.
    pub(crate) fn has_values(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Segment::Call(..)))
    }

    /// True when a built-in value stands in it that is drawn, counted or read from the clock each time.
    pub(crate) fn is_drawn(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Segment::Call(call, _) if call.is_drawn()))
    }

    /// What stands between its variables, as it is.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Segment::Text(text) => Some(&**text),
            Segment::Variable(..) | Segment::Call(..) => None,
        })
    }

    /// Its text when it needs no variable.
    #[must_use]
    pub fn constant(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [Segment::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends the text to `out`.
    ///
    /// # Errors
    /// [`Missing`]; `out` is then as it was.
    pub fn write(&self, variables: &Variables, out: &mut Vec<u8>) -> Result<(), Missing> {
        self.write_with(variables, |text, out| out.extend_from_slice(text.as_bytes()), out)
    }

    /// The same, with `plain` writing the values that stand as they are.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_with(
        &self,
        variables: &Variables,
        plain: impl Fn(&str, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Result<(), Missing> {
        let before = out.len();
        for part in &self.parts {
            let written = match part {
                Segment::Text(text) => {
                    out.extend_from_slice(text.as_bytes());
                    Ok(())
                }
                Segment::Variable(slot, form) => {
                    write_variable(*slot, *form, variables, &plain, out)
                }
                Segment::Call(call, form) => write_call(call, *form, variables, &plain, out),
            };
            if let Err(missing) = written {
                out.truncate(before);
                return Err(missing);
            }
        }
        Ok(())
    }
}

fn push_text(parts: &mut Vec<Segment>, literal: &mut String) {
    if !literal.is_empty() {
        parts.push(Segment::Text(std::mem::take(literal).into()));
    }
}

/// What stands between `${` and `}`.
fn segment(
    inner: &str,
    at: usize,
    names: &mut Names,
    depth: usize,
) -> Result<Segment, TemplateError> {
    if let Some((call, form)) = inner.rsplit_once(')').filter(|(call, _)| call.contains('(')) {
        let form = match form {
            "" => Form::Plain,
            ":url" => Form::Url,
            form => {
                return Err(TemplateError::Form { at, form: form.trim_start_matches(':').into() });
            }
        };
        let made = Call::parse(call, names, depth);
        let call = made.map_err(|cause| TemplateError::Call { at, call: inner.into(), cause })?;
        return Ok(Segment::Call(Box::new(call), form));
    }
    let (name, form) = inner.split_once(':').unwrap_or((inner, ""));
    let form = match (form, inner.contains(':')) {
        ("url", _) => Form::Url,
        ("count", _) => Form::Count,
        (_, false) => Form::Plain,
        (form, true) => return Err(TemplateError::Form { at, form: form.into() }),
    };
    let slot = names.slot(name).map_err(|wrong| TemplateError::Name { at, name: wrong.name })?;
    Ok(Segment::Variable(slot, form))
}

fn write_call(
    call: &Call,
    form: Form,
    variables: &Variables,
    plain: impl Fn(&str, &mut Vec<u8>),
    out: &mut Vec<u8>,
) -> Result<(), Missing> {
    let value = call.value(variables)?;
    match (std::str::from_utf8(&value), form) {
        (Ok(text), Form::Url) => {
            encoded(text).for_each(|piece| out.extend_from_slice(piece.as_bytes()));
        }
        (Ok(text), _) => plain(text, out),
        (Err(_), _) => out.extend_from_slice(&value),
    }
    Ok(())
}

fn write_variable(
    slot: Slot,
    form: Form,
    variables: &Variables,
    plain: impl Fn(&str, &mut Vec<u8>),
    out: &mut Vec<u8>,
) -> Result<(), Missing> {
    let value = variables.get(slot).ok_or(Missing::NotSet(slot))?;
    match (value, form) {
        (Value::Text(_), Form::Count) => out.push(b'1'),
        (Value::List(list), Form::Count) => {
            out.extend_from_slice(list.len().to_string().as_bytes());
        }
        (Value::Text(text), Form::Plain) => plain(text, out),
        (Value::Text(text), Form::Url) => {
            encoded(text).for_each(|piece| out.extend_from_slice(piece.as_bytes()));
        }
        (Value::List(_), Form::Plain | Form::Url) => return Err(Missing::IsList(slot)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::variables::Common;

    fn user(names: &mut Names) -> Variables {
        let mut variables = Variables::new(Arc::default());
        for (name, value) in [
            ("id", Value::text("LH 0400/é")),
            ("empty", Value::text("")),
            ("ids", Value::list(["1", "2"])),
        ] {
            variables.set(names.slot(name).unwrap(), value);
        }
        variables
    }

    fn written(text: &str) -> Result<String, String> {
        let mut names = Names::default();
        let variables = user(&mut names);
        let template = Template::parse(text, &mut names).map_err(|error| error.to_string())?;
        let mut out = b"before ".to_vec();
        let done = template.write(&variables, &mut out);
        let text = String::from_utf8(out).unwrap();
        let text = text.strip_prefix("before ").unwrap();
        match done {
            Ok(()) => Ok(text.into()),
            Err(missing) => {
                assert_eq!(text, "");
                Err(missing.words(&names))
            }
        }
    }

    #[test]
    fn variables_stand_where_they_are_named() {
        for (text, expected) in [
            ("", ""),
            ("/a/${id}/${id}", "/a/LH 0400/é/LH 0400/é"),
            ("/a?x=${id:url}&y=${empty}", "/a?x=LH%200400%2F%C3%A9&y="),
            ("${ids:count} of ${id:count}", "2 of 1"),
            ("$${id} $$${id} $ {id} $x }", "${id} $${id} $ {id} $x }"),
        ] {
            assert_eq!(written(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(written("a ${nobody}").unwrap_err(), "${nobody} has no value");
        let list = written("a ${ids}").unwrap_err();
        assert_eq!(list, "${ids} is a list: walk through it with each = \"ids\"");
    }

    #[test]
    fn what_is_no_template_is_refused_with_its_place() {
        let refused = |text| Template::parse(text, &mut Names::default()).unwrap_err();
        assert_eq!(refused("ab${c"), TemplateError::Open { at: 2 });
        assert_eq!(refused("${}"), TemplateError::Name { at: 0, name: String::new() });
        assert_eq!(refused("x${a b}"), TemplateError::Name { at: 1, name: "a b".into() });
        assert_eq!(refused("x${a:URL}"), TemplateError::Form { at: 1, form: "URL".into() });
        assert!(matches!(refused("${a:}"), TemplateError::Form { .. }));
        assert!(refused("ab${c").to_string().contains("`$${`"), "{}", refused("ab${c"));
    }

    #[test]
    fn a_text_without_variables_is_known_beforehand() {
        let mut names = Names::default();
        let constant = Template::parse("/a$${b}", &mut names).unwrap();
        assert_eq!(constant.constant(), Some("/a${b}"));
        let template = Template::parse("/${b}${c}${b}", &mut names).unwrap();
        assert_eq!(template.constant(), None);
        let needed: Vec<&str> = template.slots().map(|slot| names.name(slot)).collect();
        assert_eq!(needed, ["b", "c", "b"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|\\$|\\{|\\}|\\$\\{|\\$\\$\\{|a|:url|:){0,30}") {
            let mut names = Names::default();
            if let Ok(template) = Template::parse(&text, &mut names) {
                let mut common = Common::default();
                template.slots().for_each(|slot| common.set(slot, Value::text("1")));
                let mut out = Vec::new();
                prop_assert!(template.write(&Variables::new(common.share()), &mut out).is_ok());
                prop_assert!(std::str::from_utf8(&out).is_ok());
            }
        }

        #[test]
        fn a_text_whose_marks_are_doubled_stays_itself(text in "[a-z {}$]{0,20}") {
            let doubled = text.replace("${", "$${");
            // a dollar before the mark would be taken for its escape
            prop_assume!(!text.contains("$${"));
            let template = Template::parse(&doubled, &mut Names::default()).unwrap();
            prop_assert_eq!(template.constant(), Some(text.as_str()));
        }
    }
}
