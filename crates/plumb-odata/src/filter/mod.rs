//! The language of `$filter` and `$orderby`.

mod evaluate;
mod lexer;
mod parser;

pub use evaluate::Datum;
pub(crate) use lexer::{Lexer, Literal, Token};
pub use parser::{Expression, Order};
