//! Where the time of a step of a user went: what the client measured of each operation and what the
//! server told with its answer, kept together, so that the slow ones can be told from the others.

mod account;
mod names;
mod times;

pub(crate) use account::of_the_slowest;
pub use account::{StepSource, Telling};
pub use names::{is_whole_time, times_that_add_up};
pub use times::StepTimes;
