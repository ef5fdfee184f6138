//! Scenarios as they are played: what a file says is compiled once, then a cursor of each user goes through it.

mod certificate;
mod coding;
mod compile;
mod constants;
mod content;
mod cursor;
mod load;
mod options;
mod origin;
mod player;
mod program;
mod request_template;
mod resources;
mod script;
mod threshold;
mod timeline;
mod token;
mod unsent;
mod user_script;

pub(crate) use certificate::CertificateFiles;
pub use load::{DryRun, ScenarioLoad};
pub use options::ScenarioOptions;
