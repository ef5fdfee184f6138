//! Figures against those of others.

mod hdrhistogram;
