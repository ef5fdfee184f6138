//! `plumb-xslt` as the runtime uses it: results beside xsltproc's, and everything that is refused.
//!
//! Without libxslt the program does nothing, and there is nothing to test.
#![cfg(libxslt)]
#![expect(clippy::unwrap_used, reason = "what a test does not expect ends it")]

mod fixture;
mod refused;
mod results;
mod served;
mod survival;
mod verbs;
