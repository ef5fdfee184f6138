//! The file of an experiment, and what stands in it.
//!
//! An [`ExperimentFile`] has the keys, [`names`] says what may stand in `${...}` and what it stands
//! for, a [`Fault`] names the place of what is wrong, and [`without_secrets`] is the file as records have it.
//! A [`LadderPlan`] is what a file with a `[ladder]` asks for. [`inputs`] are the files that commands name,
//! [`shell`] runs the commands of the user, and a [`Guard`] ends a server with the experiment. What
//! the commands of plumb mean is not known here.

mod changes;
mod fault;
mod file;
mod guard;
pub mod inputs;
mod ladder;
pub mod names;
mod secrets;
pub mod shell;
mod template;

pub use changes::changes_between;
pub use fault::Fault;
pub use file::{
    ExperimentFile, FactorSection, ProbeSection, Scalar, ServerSection, Start, VariantSection,
    unplaced,
};
pub use guard::Guard;
pub use ladder::{LadderPlan, Until, is_ladder};
pub use secrets::without_secrets;
pub use template::{Template, Unclear};
