//! Every form of every record, and the folders they are kept in.

#[path = "../comparisons/mod.rs"]
mod comparisons;
#[path = "../page/mod.rs"]
mod page;
#[path = "../records/mod.rs"]
mod records;

mod any;
mod checkup;
mod collection;
mod folder;
mod golden;
mod path_check;
mod recording;
