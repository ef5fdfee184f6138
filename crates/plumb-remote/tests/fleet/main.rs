//! A controller and its remotes: what they say to each other, and what comes of it.

mod handed_over;
mod messages;
mod simulated;
mod simulation;
