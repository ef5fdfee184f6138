//! The program called by the name of another: it takes that one's options and prints what that one prints.

pub mod enqt;
pub mod niping;
