//! `plumb-xslt` as the runtime uses it: results beside xsltproc's, and everything that is refused.
//!
//! Without libxslt the program does nothing, and there is nothing to test.
#![cfg(libxslt)]

mod fixture;
mod refused;
mod results;
mod survival;
mod verbs;
