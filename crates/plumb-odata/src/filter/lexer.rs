//! Characters to tokens.

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name or an operator in letters.
    Word(String),
    /// A value.
    Literal(Literal),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `=`
    Equals,
    /// `-` that belongs to no number.
    Minus,
    /// `/`
    Slash,
}

/// A value as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// No value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// `'text'`
    Text(String),
    /// `12`, `12L`; in millionths.
    Integer(i128),
    /// `12.0`, `12.5M`, `12d`; in millionths.
    Number(i128),
    /// `datetime'2011-06-01T00:00:00'`; with seconds.
    DateTime(String),
    /// `time'PT11H00M00S'`, as `11:00:00`.
    Time(String),
}

/// How many of the smallest part a number is made of.
pub(super) const SCALE: i128 = 1_000_000;

/// Reads tokens.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    /// Every token of `text`.
    ///
    /// # Errors
    /// What is wrong, for people.
    pub(crate) fn all(text: &'a str) -> Result<Vec<Token>, String> {
        let mut lexer = Self { rest: text };
        let mut tokens = Vec::new();
        while let Some(token) = lexer.next()? {
            tokens.push(token);
        }
        Ok(tokens)
    }

    fn next(&mut self) -> Result<Option<Token>, String> {
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let single = match first {
            '(' => Some(Token::Open),
            ')' => Some(Token::Close),
            ',' => Some(Token::Comma),
            '=' => Some(Token::Equals),
            '/' => Some(Token::Slash),
            '-' if !self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => Some(Token::Minus),
            _ => None,
        };
        if let Some(token) = single {
            self.rest = &self.rest[1..];
            return Ok(Some(token));
        }
        match first {
            '\'' => self.quoted().map(|text| Some(Token::Literal(Literal::Text(text)))),
            '0'..='9' | '-' => match self.bare_moment()? {
                Some(literal) => Ok(Some(Token::Literal(literal))),
                None => self.number().map(Some),
            },
            'a'..='z' | 'A'..='Z' | '_' | '$' | '*' => self.word().map(Some),
            other => Err(format!("`{}` has no meaning there", other.escape_debug())),
        }
    }

    /// A text in quotes, where two quotes stand for one.
    fn quoted(&mut self) -> Result<String, String> {
        let mut text = String::new();
        let mut rest = &self.rest[1..];
        loop {
            let Some(end) = rest.find('\'') else {
                return Err("a text has no closing quote".into());
            };
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('\'') {
                Some(behind) => {
                    text.push('\'');
                    rest = behind;
                }
                None => break,
            }
        }
        self.rest = rest;
        Ok(text)
    }

    /// A date or a time without quotes, as version 4 writes them: `2011-06-01`, `11:00:00`,
    /// `2011-06-01T00:00:00Z`.
    fn bare_moment(&mut self) -> Result<Option<Literal>, String> {
        let part = |c: char| c.is_ascii_digit() || "-:.TZ".contains(c);
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (text, behind) = self.rest.split_at(end);
        let (is_date, is_time) =
            (text.as_bytes().get(4) == Some(&b'-'), text.as_bytes().get(2) == Some(&b':'));
        let literal = if is_date {
            let text = text.strip_suffix('Z').unwrap_or(text);
            let midnight = format!("{text}T00:00:00");
            datetime(if text.contains('T') { text } else { &midnight }).map(Literal::DateTime)
        } else if is_time {
            let time = text.parse::<jiff::civil::Time>().ok();
            time.map(|time| Literal::Time(time.strftime("%H:%M:%S").to_string()))
        } else {
            return Ok(None);
        };
        let wrong = || format!("`{text}` is no value: write 2011-06-01, or 11:00:00 for a time");
        self.rest = behind;
        literal.map(Some).ok_or_else(wrong)
    }

    fn number(&mut self) -> Result<Token, String> {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let start = usize::from(self.rest.starts_with('-'));
        let end =
            self.rest[start..].find(|c| !digits(c)).map_or(self.rest.len(), |end| start + end);
        let text = &self.rest[..end];
        self.rest = &self.rest[end..];
        let mut is_integer = !text.contains('.');
        if let Some(behind) = self.rest.strip_prefix(['L', 'l']) {
            self.rest = behind;
        } else if let Some(behind) = self.rest.strip_prefix(['M', 'm', 'd', 'D', 'f', 'F']) {
            (self.rest, is_integer) = (behind, false);
        }
        if self.rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("`{text}` is followed by what is no number"));
        }
        let number = millionths(text).ok_or_else(|| format!("`{text}` is no number"))?;
        let literal = if is_integer { Literal::Integer(number) } else { Literal::Number(number) };
        Ok(Token::Literal(literal))
    }

    fn word(&mut self) -> Result<Token, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_$*".contains(c));
        let (word, behind) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = behind;
        if behind.starts_with('\'') {
            let text = self.quoted()?;
            return typed(word, &text).map(Token::Literal);
        }
        Ok(match word {
            "null" => Token::Literal(Literal::Null),
            "true" => Token::Literal(Literal::Bool(true)),
            "false" => Token::Literal(Literal::Bool(false)),
            _ => Token::Word(word.into()),
        })
    }
}

/// A value with its type in front.
fn typed(kind: &str, text: &str) -> Result<Literal, String> {
    let wrong = || format!("`{kind}'{text}'` is no value: write {kind}'{}'", example(kind));
    match kind {
        "datetime" => datetime(text).map(Literal::DateTime).ok_or_else(wrong),
        "time" => time(text).map(Literal::Time).ok_or_else(wrong),
        _ => Err(format!("`{kind}'...'` is a kind of value that is not known here")),
    }
}

fn example(kind: &str) -> &'static str {
    if kind == "time" { "PT11H00M00S" } else { "2011-06-01T00:00:00" }
}

fn datetime(text: &str) -> Option<String> {
    let (date, _) = text.split_once('T')?;
    date.parse::<jiff::civil::Date>().ok()?;
    let moment: jiff::civil::DateTime = text.parse().ok()?;
    Some(moment.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

/// `PT11H5M` as `11:05:00`.
fn time(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix("PT")?;
    let mut parts = [0_u32; 3];
    for (part, unit) in parts.iter_mut().zip(['H', 'M', 'S']) {
        if let Some((digits, behind)) = rest.split_once(unit) {
            *part = digits.parse().ok()?;
            rest = behind;
        }
    }
    let [hours, minutes, seconds] = parts;
    let real = rest.is_empty() && text.len() > 2 && hours < 24 && minutes < 60 && seconds < 60;
    real.then(|| format!("{hours:02}:{minutes:02}:{seconds:02}"))
}

fn millionths(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    if whole.is_empty() || whole.len() > 18 || fraction.is_empty() || fraction.len() > 6 {
        return None;
    }
    let fraction: i128 = format!("{fraction:0<6}").parse().ok()?;
    Some(sign * (whole.parse::<i128>().ok()? * SCALE + fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Literal {
        match Lexer::all(text).unwrap().as_slice() {
            [Token::Literal(literal)] => literal.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn values_of_every_kind_are_read() {
        assert_eq!(literal("'O''Neil'"), Literal::Text("O'Neil".into()));
        assert_eq!(literal("12.5M"), Literal::Number(12_500_000));
        assert_eq!(literal("-3"), Literal::Integer(-3_000_000));
        assert_eq!(literal("3L"), Literal::Integer(3_000_000));
        for decimal in ["3.0", "3d", "3M"] {
            assert_eq!(literal(decimal), Literal::Number(3_000_000));
        }
        assert_eq!(literal("null"), Literal::Null);
        let moment = Literal::DateTime("2011-06-01T00:00:00".into());
        assert_eq!(literal("datetime'2011-06-01T00:00'"), moment);
        assert_eq!(literal("time'PT9H5M'"), Literal::Time("09:05:00".into()));
        assert_eq!(literal("2011-06-01"), moment);
        assert_eq!(literal("2011-06-01T00:00:00Z"), moment);
        assert_eq!(literal("09:05:00"), Literal::Time("09:05:00".into()));
    }

    #[test]
    fn what_is_no_token_says_why() {
        for (text, expected) in [
            ("'open", "no closing quote"),
            ("1.2.3", "no number"),
            ("5abc", "followed by"),
            ("datetime'yesterday'", "2011-06-01T00:00:00"),
            ("time'PT25H'", "PT11H00M00S"),
            ("guid'1'", "not known"),
            ("2011-13-01", "write 2011-06-01"),
            ("25:00", "11:00:00 for a time"),
            ("a # b", "`#` has no meaning"),
            ("1234567890123456789", "no number"),
        ] {
            let problem = Lexer::all(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
