//! Keys in parentheses: `(carrid='AA',connid='0017',fldate=datetime'2011-06-01T00:00:00')`.

use crate::filter::{Lexer, Literal, Token};
use crate::model::{EntityType, Kind};
use crate::refusal::Refusal;

/// The values of a key in the order of the type's properties; dates are `YYYY-MM-DD`.
///
/// # Errors
/// [`Refusal`] says what is wrong with it.
pub(crate) fn parse(kind: &EntityType, text: &str) -> Result<Vec<String>, Refusal> {
    let wrong = |problem: &str| Refusal::bad_request(format!("({text}) is no key: {problem}"));
    let mut found: Vec<Option<String>> = vec![None; kind.keys];
    let tokens = Lexer::all(text).map_err(|problem| wrong(&problem))?;
    let parts: Vec<&[Token]> = tokens.split(|token| *token == Token::Comma).collect();
    for part in &parts {
        let (place, literal) = match part {
            [Token::Literal(literal)] if kind.keys == 1 => (0, literal),
            [Token::Word(name), Token::Equals, Token::Literal(literal)] => {
                let place = kind.place(name).filter(|place| *place < kind.keys);
                let place = place.ok_or_else(|| wrong(&format!("`{name}` is not part of it")))?;
                (place, literal)
            }
            _ => return Err(wrong("write NAME='VALUE' for each part, with commas between")),
        };
        let property = &kind.properties[place];
        let value = key_value(property.kind, literal)
            .ok_or_else(|| wrong(&format!("`{}` is a {}", property.name, property.kind.edm())))?;
        if found[place].replace(value).is_some() {
            return Err(wrong(&format!("`{}` is given twice", property.name)));
        }
    }
    let complete: Option<Vec<String>> = found.into_iter().collect();
    complete.ok_or_else(|| {
        let names: Vec<&str> =
            kind.properties[..kind.keys].iter().map(|property| property.name).collect();
        wrong(&format!("it needs {}", names.join(", ")))
    })
}

fn key_value(kind: Kind, literal: &Literal) -> Option<String> {
    match (kind, literal) {
        (Kind::Text(_), Literal::Text(text)) => Some(text.clone()),
        (Kind::Date, Literal::DateTime(moment)) => {
            moment.strip_suffix("T00:00:00").map(str::to_owned).or_else(|| Some(moment.clone()))
        }
        (Kind::Date, Literal::Text(text)) => date(text),
        _ => None,
    }
}

/// `20110601` or `2011-06-01` as the latter.
#[must_use]
pub fn date(text: &str) -> Option<String> {
    let digits: String = match text.len() {
        8 if text.is_ascii() => format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]),
        10 => text.into(),
        _ => return None,
    };
    digits.parse::<jiff::civil::Date>().ok().map(|date| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CARRIER, FLIGHT};

    #[test]
    fn keys_of_both_kinds_are_read() {
        let expected = ["AA", "0017", "2011-06-01"];
        for key in [
            "carrid='AA',connid='0017',fldate='20110601'",
            "fldate='2011-06-01', connid='0017', carrid='AA'",
            "carrid='AA',connid='0017',fldate=datetime'2011-06-01T00:00:00'",
            "carrid='AA',connid='0017',fldate=datetime'2011-06-01T00:00'",
        ] {
            assert_eq!(parse(&FLIGHT, key).unwrap(), expected, "{key}");
        }
        assert_eq!(parse(&CARRIER, "'L''H'").unwrap(), ["L'H"]);
        assert_eq!(parse(&CARRIER, "carrid='LH'").unwrap(), ["LH"]);
    }

    #[test]
    fn what_is_no_key_says_why() {
        let problem = |key: &str| parse(&FLIGHT, key).unwrap_err().message;
        assert!(problem("carrid='AA',connid='0017'").ends_with("it needs carrid, connid, fldate"));
        assert!(problem("'AA'").contains("write NAME='VALUE'"));
        assert!(problem("carrid='AA',carrid='AA',fldate='20110601'").contains("given twice"));
        assert!(problem("carrid=5,connid='0017',fldate='20110601'").contains("Edm.String"));
        assert!(problem("carrid='AA',connid='0017',fldate='20111301'").contains("Edm.DateTime"));
        assert!(problem("PRICE='AA'").contains("not part of it"));
        assert!(problem("").contains("write NAME"));
    }
}
