//! The diagnostic checks as people read them.
//!
//! | module | what it makes |
//! |---|---|
//! | [`checkup`] | terminal, Markdown and page of the checkup of a landscape |
//! | [`path_check`] | the same three of the check of a network path |
//! | [`idle`] | terminal and Markdown of what idle processors cost a round trip |

pub mod checkup;
pub mod idle;
pub mod path_check;
