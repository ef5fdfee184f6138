//! Figures against those of others, and what the design of an experiment promises.

mod design;
mod hdrhistogram;
mod scipy;
