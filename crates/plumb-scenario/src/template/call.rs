//! Built-in values of templates: `${uuid()}`, `${time(%Y-%m-%d, +1d)}`, `${sha256(${text})}`.

mod moment;
mod text;

use std::borrow::Cow;
use std::fmt;

use plumb_wire::document::nearest;

use super::{Missing, Template};
use crate::generator::{Counter, Generator};
use crate::placeholder::arguments;
use crate::variables::{Names, Slot, Variables};

/// Calls within calls.
const DEPTH_MAX: usize = 8;
/// Arguments of a call.
const ARGUMENTS_MAX: usize = 100;
/// Characters of a text that is drawn or padded.
const TEXT_MAX: i64 = 1 << 20;
/// What random texts are made of unless it is said.
const CHARACTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A call with what it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    function: Function,
    arguments: Box<[Template]>,
    counter: Option<Counter>,
}

/// What can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Time,
    Uuid,
    Random,
    RandomText,
    OneOf,
    Counter,
    User,
    Iteration,
    Pad,
    Sum,
    Upper,
    Lower,
    Base64,
    FromBase64,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Hmac,
    Url,
    FromUrl,
    QueryMark,
    Index,
}

/// Its name, the least and the most arguments, and how it is written.
type Signature = (Function, &'static str, usize, usize, &'static str);

const SIGNATURES: [Signature; 23] = [
    (Function::Time, "time", 0, 3, "time(FORMAT, OFFSET, ZONE)"),
    (Function::Uuid, "uuid", 0, 0, "uuid()"),
    (Function::Random, "random", 2, 2, "random(FROM, TO)"),
    (Function::RandomText, "random-text", 1, 2, "random-text(LENGTH, CHARACTERS)"),
    (Function::OneOf, "one-of", 1, ARGUMENTS_MAX, "one-of(TEXT, TEXT, ...)"),
    (Function::Counter, "counter", 0, 5, "counter(NAME, user|load, START, STEP, END)"),
    (Function::User, "user", 0, 0, "user()"),
    (Function::Iteration, "iteration", 0, 0, "iteration()"),
    (Function::Pad, "pad", 2, 3, "pad(TEXT, WIDTH, FILL)"),
    (Function::Sum, "sum", 1, ARGUMENTS_MAX, "sum(NUMBER, NUMBER, ...)"),
    (Function::Upper, "upper", 1, 1, "upper(TEXT)"),
    (Function::Lower, "lower", 1, 1, "lower(TEXT)"),
    (Function::Base64, "base64", 1, 1, "base64(TEXT)"),
    (Function::FromBase64, "from-base64", 1, 1, "from-base64(TEXT)"),
    (Function::Md5, "md5", 1, 2, "md5(TEXT, hex|base64)"),
    (Function::Sha1, "sha1", 1, 2, "sha1(TEXT, hex|base64)"),
    (Function::Sha256, "sha256", 1, 2, "sha256(TEXT, hex|base64)"),
    (Function::Sha512, "sha512", 1, 2, "sha512(TEXT, hex|base64)"),
    (Function::Hmac, "hmac", 3, 4, "hmac(sha1|sha256|sha512, KEY, TEXT, hex|base64)"),
    (Function::Url, "url", 1, 1, "url(TEXT)"),
    (Function::FromUrl, "from-url", 1, 1, "from-url(TEXT)"),
    (Function::QueryMark, "query-mark", 1, 1, "query-mark(PATH)"),
    (Function::Index, "index", 2, 2, "index(TEXT, COUNT)"),
];

/// Why something is no call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCall {
    /// Where nothing is played there are no such values.
    #[error("there are no built-in values here, only variables")]
    NotHere,
    /// A name that nothing has.
    #[error("there is no built-in value `{name}`{meant}")]
    Unknown {
        /// As written.
        name: String,
        /// What was probably meant, in words.
        meant: String,
    },
    /// Too few or too many arguments.
    #[error("it has {count} arguments, expected {form}; put a text that holds a comma into quotes")]
    Arguments {
        /// As many as there are.
        count: usize,
        /// How it is written.
        form: &'static str,
    },
    /// An argument that is no template.
    #[error("argument {number}: {cause}")]
    Argument {
        /// From 1.
        number: usize,
        /// What is wrong, in words.
        cause: String,
    },
    /// Calls within calls within calls.
    #[error("calls stand {DEPTH_MAX} deep at most")]
    Deep,
    /// The name of a counter, or whose it is.
    #[error("the name of a counter and whose it is (user or load) are known before the load")]
    Counter,
    /// A secret that would stand in the file, and in its record.
    #[error("the key of hmac is a variable: a secret does not stand in a template")]
    Key,
    /// It can never be made.
    #[error("{0}")]
    Never(CallError),
}

/// Why a value cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError {
    /// How it is written.
    form: &'static str,
    /// What is wrong.
    problem: &'static str,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, expected {}", self.problem, self.form)
    }
}

impl Call {
    /// Reads `name(arguments`, which stands within `depth` other calls.
    ///
    /// # Errors
    /// [`NoCall`], also where it is known beforehand that it never has a value.
    pub(crate) fn parse(text: &str, names: &mut Names, depth: usize) -> Result<Self, NoCall> {
        if !names.ask_for_value() {
            return Err(NoCall::NotHere);
        }
        if depth >= DEPTH_MAX {
            return Err(NoCall::Deep);
        }
        let (name, inside) = text.split_once('(').unwrap_or((text, ""));
        let signature = SIGNATURES.iter().find(|signature| signature.1 == name);
        let Some((function, _, least, most, form)) = signature else {
            let known = SIGNATURES.iter().map(|signature| signature.1);
            let meant = nearest(name, known).map(|meant| format!("; did you mean `{meant}`?"));
            return Err(NoCall::Unknown { name: name.into(), meant: meant.unwrap_or_default() });
        };
        let written = arguments(inside);
        if !(*least..=*most).contains(&written.len()) {
            return Err(NoCall::Arguments { count: written.len(), form });
        }
        let mut templates = Vec::new();
        for (number, argument) in (1..).zip(&written) {
            let template = Template::parse_within(argument, names, depth + 1)
                .map_err(|error| NoCall::Argument { number, cause: error.to_string() })?;
            templates.push(template);
        }
        let counter = match function {
            Function::Counter => Some(counter(&templates, names)?),
            Function::Hmac if templates[1].constant().is_some() => return Err(NoCall::Key),
            _ => None,
        };
        let call = Self { function: *function, arguments: templates.into(), counter };
        call.is_possible()?;
        Ok(call)
    }

    /// Refuses a call whose arguments are known, and that has no value with them.
    fn is_possible(&self) -> Result<(), NoCall> {
        let known: Option<Vec<Vec<u8>>> =
            self.arguments.iter().map(|it| it.constant().map(|text| text.into())).collect();
        let made = known
            .filter(|_| self.counter.is_none())
            .map(|known| self.made(&known, &mut Generator::default()));
        match made {
            Some(Err(problem)) => Err(NoCall::Never(self.error(problem))),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// The variables it needs.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.arguments.iter().flat_map(Template::slots)
    }

    /// True when it is another one each time that it is asked for.
    pub(crate) fn is_drawn(&self) -> bool {
        use Function::{Counter, OneOf, Random, RandomText, Time, Uuid};
        matches!(self.function, Time | Uuid | Random | RandomText | OneOf | Counter)
            || self.arguments.iter().any(Template::is_drawn)
    }

    /// Its value for a user.
    ///
    /// # Errors
    /// [`Missing`].
    pub(crate) fn value(&self, variables: &Variables) -> Result<Vec<u8>, Missing> {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for template in &self.arguments {
            let mut argument = Vec::new();
            template.write(variables, &mut argument)?;
            arguments.push(argument);
        }
        // the arguments are written by now: calls in them have drawn before
        let made = match variables.generator() {
            Some(mut generator) => self.made(&arguments, &mut generator),
            None => Err("nobody makes built-in values here"),
        };
        made.map_err(|problem| Missing::Call(self.error(problem)))
    }

    fn error(&self, problem: &'static str) -> CallError {
        let signature = SIGNATURES.iter().find(|signature| signature.0 == self.function);
        CallError { form: signature.map_or("", |signature| signature.4), problem }
    }

    fn made(&self, given: &[Vec<u8>], from: &mut Generator) -> Result<Vec<u8>, &'static str> {
        let bytes = |at: usize| given.get(at).map_or(&[][..], |argument| argument);
        let text = |at: usize| std::str::from_utf8(bytes(at)).map_err(|_| "that is no UTF-8");
        let number = |at: usize| number(text(at)?);
        Ok(match self.function {
            Function::Time => {
                moment::written((from.wall_ns)(), text(0)?, text(1)?, text(2)?)?.into()
            }
            Function::Uuid => text::uuid(from.draw.bits()).into(),
            Function::Random => {
                let (least, most) = (number(0)?, number(1)?);
                if least > most {
                    return Err("the first number is above the second");
                }
                from.draw.number(least, most).to_string().into()
            }
            Function::RandomText => {
                let characters = if given.len() > 1 { text(1)? } else { CHARACTERS };
                let characters: Vec<char> = characters.chars().collect();
                if characters.is_empty() {
                    return Err("there is no character to draw");
                }
                let length = 0..up_to_limit(number(0)?)?;
                let drawn: String =
                    length.map(|_| characters[from.draw.one_of(characters.len())]).collect();
                drawn.into()
            }
            Function::OneOf => given[from.draw.one_of(given.len())].clone(),
            Function::Counter => {
                let or = |at: usize, usual| if given.len() > at { number(at) } else { Ok(usual) };
                let (start, step, end) = (or(2, 1)?, or(3, 1)?, or(4, i64::MAX)?);
                let count = self.counter.as_ref().map_or(0, |counter| from.count(counter));
                counted(count, start, step, end)?.to_string().into()
            }
            Function::User | Function::Iteration if from.user == 0 => {
                return Err("nobody asks here: use it in a step");
            }
            Function::User => from.user.to_string().into(),
            Function::Iteration => from.iteration.to_string().into(),
            Function::Pad => {
                let fill = if given.len() > 2 { text(2)? } else { "0" };
                text::padded(text(0)?, up_to_limit(number(1)?)?, fill)?.into()
            }
            Function::Sum => {
                let add = |sum: i64, at| sum.checked_add(number(at)?).ok_or("the sum is too large");
                (0..given.len()).try_fold(0, add)?.to_string().into()
            }
            Function::Upper => text(0)?.to_uppercase().into(),
            Function::Lower => text(0)?.to_lowercase().into(),
            Function::Base64 => text::base64(bytes(0)).into(),
            Function::FromBase64 => text::from_base64(text(0)?)?,
            Function::Md5 => text::md5(bytes(0), text(1)?)?.into(),
            Function::Sha1 => text::digest("sha1", bytes(0), text(1)?)?.into(),
            Function::Sha256 => text::digest("sha256", bytes(0), text(1)?)?.into(),
            Function::Sha512 => text::digest("sha512", bytes(0), text(1)?)?.into(),
            Function::Hmac => text::hmac(text(0)?, bytes(1), bytes(2), text(3)?)?.into(),
            Function::Url => text::percent_encoded(bytes(0)).into(),
            Function::FromUrl => text::percent_decoded(text(0)?)?.into(),
            Function::QueryMark if text(0)?.contains('?') => "&".into(),
            Function::QueryMark => "?".into(),
            Function::Index => index(text(0)?, number(1)?).into_owned().into(),
        })
    }
}

/// The counter that the arguments name.
fn counter(arguments: &[Template], names: &mut Names) -> Result<Counter, NoCall> {
    let known = |at: usize| arguments.get(at).map_or(Some(""), Template::constant);
    let (name, whose) = (known(0).ok_or(NoCall::Counter)?, known(1));
    let of_load = match whose {
        Some("" | "user") => false,
        Some("load") => true,
        _ => return Err(NoCall::Counter),
    };
    names.counter(name, of_load).ok_or(NoCall::NotHere)
}

/// The number that a counter gives after it was asked `count` times; behind `end` it begins again.
fn counted(count: u64, start: i64, step: i64, end: i64) -> Result<i64, &'static str> {
    let (start, step, end) = (i128::from(start), i128::from(step), i128::from(end));
    if step < 1 || end < start {
        return Err("a counter goes up, from START to END");
    }
    let turns = (end - start) / step + 1;
    i64::try_from(start + i128::from(count) % turns * step).map_err(|_| "the number is too large")
}

/// Which of `count` elements, from 0, is meant by `text`: the first by the number of none of them, and by
/// nothing. What is no number from 0 on stays.
fn index(text: &str, count: i64) -> Cow<'_, str> {
    match text.parse::<i64>() {
        Ok(number) if (0..count).contains(&number) => number.to_string().into(),
        Ok(0..) => "0".into(),
        Err(_) if text.is_empty() => "0".into(),
        Ok(_) | Err(_) => text.into(),
    }
}

fn number(text: &str) -> Result<i64, &'static str> {
    text.trim().parse().map_err(|_| "a whole number is none")
}

fn up_to_limit(length: i64) -> Result<usize, &'static str> {
    let length = Some(length).filter(|length| (0..=TEXT_MAX).contains(length));
    length.and_then(|length| usize::try_from(length).ok()).ok_or("the length is not 0 to 1048576")
}

#[cfg(test)]
mod tests;
