//! The language of `$filter` and `$orderby`.

mod evaluate;
mod lexer;
mod parser;

pub(crate) use evaluate::Datum;
pub(crate) use lexer::{Lexer, Literal, Token};
pub(crate) use parser::{Expression, Order};
