//! Charts as inline SVG: one size, one look, no script.
//!
//! What is drawn, and of which record, is the report's; here is what every chart shares.
//!
//! | what | where |
//! |---|---|
//! | [`Chart`], [`Key`], [`line()`], [`mark()`] | the sheet with its legend, and what is drawn on it |
//! | [`Axis`], [`Tick`] | from figures to coordinates, and the round figures that are named |
//! | [`Effect`], [`Effects`] | an axis on which better lies ahead |
//! | [`Slots`], [`Place`] | fewer places than figures, peaks and gaps kept |
//! | [`day`], [`time_of_day`] | moments by a calendar and a clock |

mod axis;
mod clock;
mod effect;
mod scale;
mod sheet;
mod thin;
mod tick;

pub use axis::Axis;
pub use clock::{day, time_of_day};
pub use effect::{Effect, Effects};
pub use sheet::{BOTTOM, Chart, Key, LEFT, LINES_MAX, Mark, RIGHT, TOP, coordinate, line, mark};
pub use thin::{Place, Slots};
pub use tick::Tick;
