//! The statistics against those of others, and what the design of an experiment promises.

mod design;
mod scipy;
