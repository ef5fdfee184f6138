//! Every form of every record, and the folders they are kept in.

#[path = "../../../plumb-folder/tests/comparisons/mod.rs"]
mod comparisons;
#[path = "../page/mod.rs"]
mod page;
#[path = "../../../plumb-folder/tests/records/mod.rs"]
mod records;

mod any;
mod collection;
mod contrast;
mod golden;
mod niping;
mod pictures;
mod verdict;
