//! HAR 1.2: what browsers and recording proxies save.

pub mod model;
