//! Expressions to values.

use std::cmp::Ordering;

use plumb_serve::database::Value;
use plumb_wire::expression::Comparison;

use super::lexer::{Literal, SCALE};
use super::parser::{Expression, Function, Operator};
use crate::entity::Entity;
use crate::model::Kind;

/// What is said of a result that has no room.
const TOO_LARGE: &str = "a number becomes too large";

/// A value while it is computed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datum {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A text.
    Text(String),
    /// In millionths.
    Number(i128),
    /// `2011-06-01T00:00:00`, which sorts as text.
    Moment(String),
    /// `11:00:00`, which sorts as text.
    Time(String),
}

impl Expression {
    /// The value for `entity`.
    ///
    /// # Errors
    /// What does not fit together, for people.
    pub fn evaluate(&self, entity: &Entity) -> Result<Datum, String> {
        Ok(match self {
            Self::Literal(literal) => literal.into(),
            Self::Property(place) => property(entity, *place),
            Self::Not(inner) => match inner.evaluate(entity)? {
                Datum::Bool(value) => Datum::Bool(!value),
                Datum::Null => Datum::Null,
                other => return Err(format!("`not` takes true or false, not {}", other.kind())),
            },
            Self::Negative(inner) => match inner.evaluate(entity)? {
                Datum::Number(value) => Datum::Number(value.checked_neg().ok_or(TOO_LARGE)?),
                Datum::Null => Datum::Null,
                other => return Err(format!("`-` takes a number, not {}", other.kind())),
            },
            Self::Pair(left, operator, right) => pair(entity, left, *operator, right)?,
            Self::Call(function, arguments) => {
                let arguments: Result<Vec<_>, _> =
                    arguments.iter().map(|argument| argument.evaluate(entity)).collect();
                call(*function, &arguments?)?
            }
        })
    }

    /// Whether `entity` is meant.
    ///
    /// # Errors
    /// What does not fit together, for people.
    pub fn accepts(&self, entity: &Entity) -> Result<bool, String> {
        match self.evaluate(entity)? {
            Datum::Bool(value) => Ok(value),
            Datum::Null => Ok(false),
            other => Err(format!("a filter is true or false, not {}", other.kind())),
        }
    }
}

impl Datum {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Text(_) => "a text",
            Self::Number(_) => "a number",
            Self::Moment(_) => "a date",
            Self::Time(_) => "a time",
        }
    }

    /// The order of two values of one kind; null comes first.
    ///
    /// # Errors
    /// When they are of different kinds.
    pub fn order(&self, other: &Self) -> Result<Ordering, String> {
        Ok(match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Less,
            (_, Self::Null) => Ordering::Greater,
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b))
            | (Self::Moment(a), Self::Moment(b))
            | (Self::Time(a), Self::Time(b)) => a.cmp(b),
            _ => return Err(format!("{} and {} have no order", self.kind(), other.kind())),
        })
    }
}

impl From<&Literal> for Datum {
    fn from(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Text(text) => Self::Text(text.clone()),
            Literal::Integer(number) | Literal::Number(number) => Self::Number(*number),
            Literal::DateTime(moment) => Self::Moment(moment.clone()),
            Literal::Time(time) => Self::Time(time.clone()),
        }
    }
}

fn property(entity: &Entity, place: usize) -> Datum {
    match (entity.kind.properties[place].kind, entity.value(place)) {
        (Kind::Text(_), Value::Text(text)) => Datum::Text(text.clone()),
        (Kind::Int, Value::Int(number)) => Datum::Number(i128::from(*number) * SCALE),
        (Kind::Decimal, Value::Int(number)) => Datum::Number(i128::from(*number) * (SCALE / 100)),
        (Kind::Date, Value::Text(date)) => Datum::Moment(format!("{date}T00:00:00")),
        (Kind::Time, Value::Text(time)) => Datum::Time(time.clone()),
        _ => Datum::Null,
    }
}

fn pair(
    entity: &Entity,
    left: &Expression,
    operator: Operator,
    right: &Expression,
) -> Result<Datum, String> {
    let left = left.evaluate(entity)?;
    // the right side of a decided `and` or `or` is still checked for its kind
    let right = right.evaluate(entity)?;
    match operator {
        Operator::And | Operator::Or => logical(&left, operator, &right),
        Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::DivideIntegers
        | Operator::Modulo => arithmetic(&left, operator, &right),
        Operator::Compare(comparison) => compared(&left, comparison, &right),
    }
}

fn logical(left: &Datum, operator: Operator, right: &Datum) -> Result<Datum, String> {
    let decided = operator == Operator::Or; // what one side alone decides
    Ok(match (left, right) {
        (Datum::Bool(a), Datum::Bool(b)) => Datum::Bool(if decided { *a || *b } else { *a && *b }),
        (Datum::Bool(value), Datum::Null) | (Datum::Null, Datum::Bool(value)) => {
            if *value == decided { Datum::Bool(decided) } else { Datum::Null }
        }
        (Datum::Null, Datum::Null) => Datum::Null,
        _ => {
            let word = if decided { "or" } else { "and" };
            let kinds = format!("{} and {}", left.kind(), right.kind());
            return Err(format!("`{word}` takes true or false, not {kinds}"));
        }
    })
}

fn compared(left: &Datum, comparison: Comparison, right: &Datum) -> Result<Datum, String> {
    let order = left.order(right)?;
    let null = *left == Datum::Null || *right == Datum::Null;
    Ok(Datum::Bool(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::Unequal => order.is_ne(),
        _ if null => false,
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }))
}

fn arithmetic(left: &Datum, operator: Operator, right: &Datum) -> Result<Datum, String> {
    let (a, b) = match (left, right) {
        (Datum::Number(a), Datum::Number(b)) => (*a, *b),
        (Datum::Null, Datum::Null | Datum::Number(_)) | (Datum::Number(_), Datum::Null) => {
            return Ok(Datum::Null);
        }
        _ => return Err(format!("{} and {} are no numbers", left.kind(), right.kind())),
    };
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b).map(|product| product / SCALE),
        _ if b == 0 => return Err("it divides by zero".into()),
        Operator::Divide => a.checked_mul(SCALE).and_then(|a| a.checked_div(b)),
        Operator::DivideIntegers => {
            a.checked_div(b).and_then(|quotient| quotient.checked_mul(SCALE))
        }
        _ => a.checked_rem(b),
    };
    Ok(Datum::Number(result.ok_or(TOO_LARGE)?))
}

fn call(function: Function, arguments: &[Datum]) -> Result<Datum, String> {
    if arguments.contains(&Datum::Null) {
        return Ok(Datum::Null);
    }
    let text = |place: usize| match arguments.get(place) {
        Some(Datum::Text(text)) => Ok(text.as_str()),
        other => Err(format!("a function takes a text, not {}", other.map_or("", Datum::kind))),
    };
    let number = |place: usize| match arguments.get(place) {
        Some(Datum::Number(number)) => Ok(*number),
        other => Err(format!("a function takes a number, not {}", other.map_or("", Datum::kind))),
    };
    let count = |count: usize| Datum::Number(i128::try_from(count).unwrap_or(0) * SCALE);
    Ok(match function {
        Function::SubstringOf => Datum::Bool(text(1)?.contains(text(0)?)),
        Function::Contains => Datum::Bool(text(0)?.contains(text(1)?)),
        Function::StartsWith => Datum::Bool(text(0)?.starts_with(text(1)?)),
        Function::EndsWith => Datum::Bool(text(0)?.ends_with(text(1)?)),
        Function::Length => count(text(0)?.chars().count()),
        Function::IndexOf => {
            let (whole, part) = (text(0)?, text(1)?);
            match whole.find(part) {
                Some(at) => count(whole[..at].chars().count()),
                None => Datum::Number(-SCALE),
            }
        }
        Function::Substring => {
            let from = usize::try_from(number(1)? / SCALE).unwrap_or(0);
            let most = match arguments.len() {
                3 => usize::try_from(number(2)? / SCALE).unwrap_or(0),
                _ => usize::MAX,
            };
            Datum::Text(text(0)?.chars().skip(from).take(most).collect())
        }
        Function::ToLower => Datum::Text(text(0)?.to_lowercase()),
        Function::ToUpper => Datum::Text(text(0)?.to_uppercase()),
        Function::Trim => Datum::Text(text(0)?.trim().into()),
        Function::Concat => Datum::Text(format!("{}{}", text(0)?, text(1)?)),
        Function::Year => part_of_date(&arguments[0], 0..4)?,
        Function::Month => part_of_date(&arguments[0], 5..7)?,
        Function::Day => part_of_date(&arguments[0], 8..10)?,
        Function::Floor => Datum::Number(floor(number(0)?).ok_or(TOO_LARGE)?),
        Function::Ceiling => {
            let up = number(0)?.checked_neg().and_then(floor).and_then(i128::checked_neg);
            Datum::Number(up.ok_or(TOO_LARGE)?)
        }
        Function::Round => {
            let number = number(0)?;
            let half = if number < 0 { -SCALE / 2 } else { SCALE / 2 };
            Datum::Number(number.checked_add(half).ok_or(TOO_LARGE)? / SCALE * SCALE)
        }
    })
}

/// The largest whole number that is no larger; `None` where there is no room for it.
fn floor(number: i128) -> Option<i128> {
    number.div_euclid(SCALE).checked_mul(SCALE)
}

fn part_of_date(moment: &Datum, digits: std::ops::Range<usize>) -> Result<Datum, String> {
    let Datum::Moment(moment) = moment else {
        return Err(format!("a function takes a date, not {}", moment.kind()));
    };
    let part = moment.get(digits).and_then(|digits| digits.parse::<i128>().ok());
    Ok(Datum::Number(part.unwrap_or(0) * SCALE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::FLIGHT;
    use plumb_serve::database::Row;

    fn flight() -> Entity {
        let text = |text: &str| Value::Text(text.into());
        let numbers =
            |numbers: &[i64]| numbers.iter().map(|it| Value::Int(*it)).collect::<Vec<_>>();
        let row = [
            vec![text("AA"), text("0017"), text("2011-06-01"), Value::Int(42_294), text("USD")],
            vec![text("747-400")],
            numbers(&[385, 373, 19_265_418, 31, 31, 21, 21]),
            ["US", "NEW YORK", "JFK", "US", "SAN FRANCISCO", "SFO"].map(text).to_vec(),
            vec![Value::Int(361), text("11:00:00"), text("14:01:00"), Value::Null],
            vec![text("KM"), text(""), Value::Int(0)],
        ];
        Entity::new(&FLIGHT, Row(row.concat()))
    }

    /// Nearly the largest number that there is.
    const MOST: &str =
        "(1701411834.604692 mul 100000000000000000 add 31731687303.715884) div 0.000001";

    fn says(text: &str) -> Result<bool, String> {
        Expression::parse(&FLIGHT, text)?.accepts(&flight())
    }

    #[test]
    fn what_is_true_is_found() {
        for text in [
            "carrid eq 'AA'",
            "carrid eq 'AA' and connid eq '0017' or false",
            "not (PRICE gt 422.94M) and PRICE ge 422.94",
            "PRICE add 1 eq 423.94 and PRICE mul 2 eq 845.88",
            "10 div 4 eq 2 and 10 mod 4 eq 2 and 2 add 3 mul 4 eq 14",
            "10.0 div 4 eq 2.5 and 10 div 4d eq 2.5 and 10 divby 4 eq 2.5 and -7 div 2 eq -3",
            "SEATSOCC div 10 eq 37 and flightTime div 60 eq 6 and PRICE div 2 eq 211.47",
            "(length(cityFrom) add 1) div 2 eq 4 and -(day(fldate)) div 2 eq 0",
            "floor(PRICE) div 4 eq 105.5 and null div 2 eq null",
            "SEATSMAX sub SEATSOCC eq 12",
            "fldate eq datetime'2011-06-01T00:00:00' and year(fldate) eq 2011",
            "month(fldate) eq 6 and day(fldate) eq 1",
            "departureTime lt time'PT12H' and arrivalTime ge time'PT14H1M0S'",
            "substringof('YORK', cityFrom) and startswith(cityTo,'SAN') and endswith(cityTo,'CO')",
            "tolower(carrid) eq 'aa' and toupper('a') eq 'A' and length(cityFrom) eq 8",
            "indexof(cityFrom,'YORK') eq 4 and indexof(cityFrom,'X') eq -1",
            "substring(cityFrom,4) eq 'YORK' and substring(cityFrom, 0, 3) eq 'NEW'",
            "concat(trim(' a '),'b') eq 'ab'",
            "round(PRICE) eq 423 and floor(PRICE) eq 422 and ceiling(PRICE) eq 423",
            "distance eq null and not (distance ne null)",
            "distance add 1 eq null",
            "-5 lt 0 and -(5) lt 0",
        ] {
            assert_eq!(says(text), Ok(true), "{text}");
        }
    }

    #[test]
    fn what_is_false_is_not_found() {
        for text in ["carrid ne 'AA'", "distance gt 1", "not true", "null", "PRICE lt 0"] {
            assert_eq!(says(text), Ok(false), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_together_says_so() {
        for (text, expected) in [
            ("carrid eq 5", "a text and a number have no order"),
            ("PRICE", "a filter is true or false, not a number"),
            ("carrid and true", "`and` takes true or false"),
            ("not carrid", "`not` takes true or false, not a text"),
            ("carrid add 1 eq 2", "a text and a number are no numbers"),
            ("PRICE div 0 eq 1", "it divides by zero"),
            ("length(PRICE) eq 1", "takes a text, not a number"),
            ("year(carrid) eq 1", "takes a date, not a text"),
            // every step up to the last has room
            (&format!("round({MOST}) gt 0"), TOO_LARGE),
            (&format!("ceiling({MOST} add 0.1) gt 0"), TOO_LARGE),
            (&format!("floor(-({MOST}) sub 0.1) lt 0"), TOO_LARGE),
            (&format!("-(-({MOST}) sub 0.105728) gt 0"), TOO_LARGE),
        ] {
            let problem = says(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn any_expression_has_a_value_or_a_complaint(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "carrid", "PRICE", "eq", "and", "or", "not", "(", ")", ",", "'AA'", "12.5",
                    "-", "add", "sub", "mul", "div", "mod", "0", "999999999999999999", "length(",
                    "substring(", "round(", "null", "true", "fldate", "year(", "ceiling(",
                ]),
                0..20,
            )
        ) {
            let _ = says(&words.join(" "));
        }
    }
}
