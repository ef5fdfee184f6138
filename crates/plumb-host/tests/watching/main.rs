//! What is said of machines, and shown of them.

#[path = "../kit/mod.rs"]
mod kit;

mod machines;
mod screen;
