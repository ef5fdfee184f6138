//! What the users of a scenario follow, once it is compiled.

use std::sync::Arc;

use plumb_scenario::cookies::Site;
use plumb_scenario::data::Lines;
use plumb_scenario::file::{Cookies, OnFailure, Think};
use plumb_scenario::variables::{Common, Names};

use super::certificate::Identities;
use super::cursor::SharedTurns;
use super::origin::Origins;
use super::program::{Program, Step};
use super::token::Token;
use crate::proof::Proof;
use plumb_scenario::refused::RefusedLogOns;

/// What all users of a scenario have in common.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) steps: Arc<[Step]>,
    pub(crate) names: Arc<Names>,
    pub(crate) origins: Arc<Origins>,
    pub(crate) login: Program,
    pub(crate) program: Program,
    /// What its users do when the load is over.
    pub(crate) finish: Program,
    pub(crate) token: Option<Token>,
    /// What answers challenges.
    pub(crate) proof: Option<Proof>,
    /// Who logs on no more.
    pub(crate) refused: RefusedLogOns,
    /// Each request has a connection of its own.
    pub(crate) close: bool,
    /// The certificates of its users.
    pub(crate) identities: Option<Identities>,
    pub(crate) common: Arc<Common>,
    pub(crate) data: Vec<(String, Lines)>,
    pub(crate) shared: SharedTurns,
    pub(crate) iterations: Option<u64>,
    pub(crate) pause: Option<Think>,
    pub(crate) cookies: Cookies,
    pub(crate) sites: Arc<[Site]>,
    pub(crate) on_failure: OnFailure,
    pub(crate) seed: u64,
    pub(crate) body_bytes_max: u64,
    /// It is done once, for what it extracts.
    pub(crate) prepares: bool,
}
