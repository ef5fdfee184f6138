//! Tokens to expressions, with the precedence of the protocol.

use plumb_wire::expression::Comparison;

use super::lexer::{Lexer, Literal, Token};
use crate::model::{EntityType, Kind};

/// An expression over the properties of one entity type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A value.
    Literal(Literal),
    /// The property at this place.
    Property(usize),
    /// `not x`
    Not(Box<Self>),
    /// `-x`
    Negative(Box<Self>),
    /// `x op y`
    Pair(Box<Self>, Operator, Box<Self>),
    /// A function and its arguments.
    Call(Function, Vec<Self>),
}

/// What stands between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Or,
    And,
    Compare(Comparison),
    Add,
    Subtract,
    Multiply,
    /// With a fraction.
    Divide,
    /// Of two integers: without its fraction.
    DivideIntegers,
    Modulo,
}

/// A function of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    SubstringOf,
    Contains,
    StartsWith,
    EndsWith,
    Length,
    IndexOf,
    Substring,
    ToLower,
    ToUpper,
    Trim,
    Concat,
    Year,
    Month,
    Day,
    Round,
    Floor,
    Ceiling,
}

/// One key of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// What entities are ordered by.
    pub by: Expression,
    /// True when the largest comes first.
    pub descending: bool,
}

/// Weakest first; of one row, the first to come is done first.
const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[("eq", Operator::Compare(Comparison::Equal)), ("ne", Operator::Compare(Comparison::Unequal))],
    &[
        ("lt", Operator::Compare(Comparison::Less)),
        ("le", Operator::Compare(Comparison::LessOrEqual)),
        ("gt", Operator::Compare(Comparison::Greater)),
        ("ge", Operator::Compare(Comparison::GreaterOrEqual)),
    ],
    &[("add", Operator::Add), ("sub", Operator::Subtract)],
    &[
        ("mul", Operator::Multiply),
        ("div", Operator::DivideIntegers),
        ("divby", Operator::Divide),
        ("mod", Operator::Modulo),
    ],
];

/// Name, function, fewest and most arguments.
const FUNCTIONS: [(&str, Function, usize, usize); 17] = [
    ("contains", Function::Contains, 2, 2),
    ("substringof", Function::SubstringOf, 2, 2),
    ("startswith", Function::StartsWith, 2, 2),
    ("endswith", Function::EndsWith, 2, 2),
    ("length", Function::Length, 1, 1),
    ("indexof", Function::IndexOf, 2, 2),
    ("substring", Function::Substring, 2, 3),
    ("tolower", Function::ToLower, 1, 1),
    ("toupper", Function::ToUpper, 1, 1),
    ("trim", Function::Trim, 1, 1),
    ("concat", Function::Concat, 2, 2),
    ("year", Function::Year, 1, 1),
    ("month", Function::Month, 1, 1),
    ("day", Function::Day, 1, 1),
    ("round", Function::Round, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
];

/// Parentheses, calls and signs inside each other.
const DEPTH_MAX: usize = 50;
/// Tokens of one expression.
const TOKENS_MAX: usize = 1_000;

impl Expression {
    /// The expression that `text` writes.
    ///
    /// # Errors
    /// What is wrong, for people.
    pub fn parse(kind: &EntityType, text: &str) -> Result<Self, String> {
        let mut parser = Parser::new(kind, text)?;
        let expression = parser.level(0)?;
        parser.end()?;
        Ok(expression)
    }
}

impl Order {
    /// The keys that `text` writes, with commas between.
    ///
    /// # Errors
    /// What is wrong, for people.
    pub fn parse(kind: &EntityType, text: &str) -> Result<Vec<Self>, String> {
        let mut parser = Parser::new(kind, text)?;
        let mut orders = Vec::new();
        loop {
            let by = parser.level(0)?;
            let descending = parser.takes_word("desc");
            if !descending {
                parser.takes_word("asc");
            }
            orders.push(Self { by, descending });
            if !parser.takes(&Token::Comma) {
                parser.end()?;
                return Ok(orders);
            }
        }
    }
}

struct Parser<'a> {
    kind: &'a EntityType,
    tokens: std::vec::IntoIter<Token>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(kind: &'a EntityType, text: &str) -> Result<Self, String> {
        let tokens = Lexer::all(text)?;
        if tokens.len() > TOKENS_MAX {
            return Err(format!("it has more than {TOKENS_MAX} parts"));
        }
        Ok(Self { kind, tokens: tokens.into_iter(), depth: 0 })
    }

    fn level(&mut self, level: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else { return self.signed() };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let right = self.level(level + 1)?;
            let operator = match operator {
                Operator::DivideIntegers if !self.is_integer(&left) || !self.is_integer(&right) => {
                    Operator::Divide
                }
                other => other,
            };
            left = Expression::Pair(Box::new(left), operator, Box::new(right));
        }
        Ok(left)
    }

    /// Whether a value is of an integer type, as far as it has one.
    ///
    /// # Source
    /// OData 4.01, URL conventions, 5.1.1.2: `div` of two integers is an integer, `divby` is not.
    fn is_integer(&self, of: &Expression) -> bool {
        match of {
            Expression::Literal(literal) => matches!(literal, Literal::Integer(_)),
            Expression::Property(place) => matches!(self.kind.properties[*place].kind, Kind::Int),
            Expression::Negative(inner) => self.is_integer(inner),
            Expression::Pair(left, operator, right) => match operator {
                Operator::DivideIntegers => true,
                Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Modulo => {
                    self.is_integer(left) && self.is_integer(right)
                }
                Operator::Divide | Operator::And | Operator::Or | Operator::Compare(_) => false,
            },
            Expression::Call(function, _) => matches!(
                function,
                Function::Length
                    | Function::IndexOf
                    | Function::Year
                    | Function::Month
                    | Function::Day
            ),
            Expression::Not(_) => false,
        }
    }

    fn operator(&mut self, of: &[(&str, Operator)]) -> Option<Operator> {
        let Some(Token::Word(word)) = self.tokens.as_slice().first() else { return None };
        let found = of.iter().find(|(name, _)| name == word).map(|(_, operator)| *operator);
        if found.is_some() {
            self.tokens.next();
        }
        found
    }

    fn signed(&mut self) -> Result<Expression, String> {
        if self.takes_word("not") {
            return self.deeper(|parser| parser.signed()).map(|it| Expression::Not(Box::new(it)));
        }
        if self.takes(&Token::Minus) {
            let inner = self.deeper(|parser| parser.signed())?;
            return Ok(Expression::Negative(Box::new(inner)));
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Expression, String> {
        match self.tokens.next() {
            Some(Token::Literal(literal)) => Ok(Expression::Literal(literal)),
            Some(Token::Open) => {
                let inner = self.deeper(|parser| parser.level(0))?;
                self.close()?;
                Ok(inner)
            }
            Some(Token::Word(name)) if self.takes(&Token::Open) => self.call(&name),
            Some(Token::Word(name)) => match self.kind.place(&name) {
                Some(place) => Ok(Expression::Property(place)),
                None => Err(format!("`{name}` is no property of {}", self.kind.name)),
            },
            Some(_) => Err("a value or a property is missing".into()),
            None => Err("it ends where a value or a property is missing".into()),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expression, String> {
        let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let (_, function, fewest, most) =
            *known.ok_or_else(|| format!("`{name}` is no function that is known here"))?;
        let mut arguments = Vec::new();
        if !self.takes(&Token::Close) {
            loop {
                arguments.push(self.deeper(|parser| parser.level(0))?);
                if !self.takes(&Token::Comma) {
                    break;
                }
            }
            self.close()?;
        }
        if arguments.len() < fewest || arguments.len() > most {
            return Err(format!("`{name}` takes {fewest} values, not {}", arguments.len()));
        }
        Ok(Expression::Call(function, arguments))
    }

    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if self.depth == DEPTH_MAX {
            return Err(format!("it is nested more than {DEPTH_MAX} deep"));
        }
        self.depth += 1;
        let done = inner(self);
        self.depth -= 1;
        done
    }

    fn takes(&mut self, token: &Token) -> bool {
        let there = self.tokens.as_slice().first() == Some(token);
        if there {
            self.tokens.next();
        }
        there
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let there = matches!(self.tokens.as_slice().first(), Some(Token::Word(it)) if it == word);
        if there {
            self.tokens.next();
        }
        there
    }

    fn close(&mut self) -> Result<(), String> {
        if self.takes(&Token::Close) {
            Ok(())
        } else {
            Err("a closing parenthesis is missing".into())
        }
    }

    fn end(&self) -> Result<(), String> {
        match self.tokens.as_slice().first() {
            None => Ok(()),
            Some(Token::Word(word)) => Err(format!("`{word}` is no operator")),
            Some(_) => Err("an operator is missing".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::FLIGHT;

    fn problem(text: &str) -> String {
        Expression::parse(&FLIGHT, text).unwrap_err()
    }

    #[test]
    fn what_is_no_expression_says_why() {
        assert_eq!(problem("carrid eq"), "it ends where a value or a property is missing");
        assert_eq!(problem("carrier eq 'AA'"), "`carrier` is no property of Flight");
        assert_eq!(problem("carrid is 'AA'"), "`is` is no operator");
        assert_eq!(problem("(carrid eq 'AA'"), "a closing parenthesis is missing");
        assert_eq!(problem("carrid 'AA'"), "an operator is missing");
        assert_eq!(problem("sin(1) eq 1"), "`sin` is no function that is known here");
        assert_eq!(problem("length() eq 1"), "`length` takes 1 values, not 0");
        assert_eq!(problem(""), "it ends where a value or a property is missing");
        assert!(problem(&"(".repeat(60)).contains("nested"));
        assert!(problem(&"not ".repeat(60)).contains("nested"));
        assert!(problem(&"1 add ".repeat(600)).contains("more than 1000 parts"));
    }

    #[test]
    fn an_order_has_keys_and_directions() {
        let orders = Order::parse(&FLIGHT, "PRICE desc, length(cityTo) asc,carrid").unwrap();
        let directions: Vec<bool> = orders.iter().map(|order| order.descending).collect();
        assert_eq!(directions, [true, false, false]);
        assert!(Order::parse(&FLIGHT, "PRICE down").is_err());
        assert!(Order::parse(&FLIGHT, "PRICE,").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text: String) {
            let _ = Expression::parse(&FLIGHT, &text);
            let _ = Order::parse(&FLIGHT, &text);
        }

        #[test]
        fn any_words_are_parsed_or_refused(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "carrid", "PRICE", "eq", "and", "or", "not", "(", ")", ",", "'AA'", "12.5",
                    "-", "add", "div", "0", "length", "substring", "startswith", "null", "true",
                    "fldate", "datetime'2011-06-01T00:00:00'", "year", "desc",
                ]),
                0..40,
            )
        ) {
            let _ = Expression::parse(&FLIGHT, &words.join(" "));
            let _ = Order::parse(&FLIGHT, &words.join(" "));
        }
    }
}
