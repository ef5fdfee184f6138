//! A program without the library.

use std::convert::Infallible;

use crate::{NegotiateError, Who};

/// Who asks for a service: nobody, in this program.
#[derive(Debug)]
pub struct Initiator(Infallible);

/// One negotiation: none, in this program.
#[derive(Debug)]
pub struct Context(Infallible);

impl Initiator {
    /// Refuses.
    ///
    /// # Errors
    /// [`NegotiateError::NotBuilt`], always.
    pub fn new(_: Who, _: &str, _: Option<&str>) -> Result<Self, NegotiateError> {
        Err(NegotiateError::NotBuilt)
    }

    /// Gets what the negotiations need.
    ///
    /// # Errors
    /// None: there is no initiator.
    pub fn ready(&self) -> Result<(), NegotiateError> {
        match self.0 {}
    }

    /// Begins a negotiation.
    ///
    /// # Errors
    /// None: there is no initiator.
    pub fn begin(&self) -> Result<(Context, Vec<u8>), NegotiateError> {
        match self.0 {}
    }
}

impl Context {
    /// Goes on.
    ///
    /// # Errors
    /// None: there is no context.
    pub fn go_on(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, NegotiateError> {
        match self.0 {}
    }

    /// Whether both sides have proved who they are.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_the_library_says_so() {
        let refused = Initiator::new(Who::Tickets, "erp", None).unwrap_err().to_string();
        assert!(refused.contains("--features kerberos"), "{refused}");
    }
}
