//! Every form of every check.

#[path = "../../../plumb-report/tests/page/mod.rs"]
mod page;
#[path = "../../../plumb-folder/tests/records/mod.rs"]
mod records;

mod checkup;
mod path_check;
mod pictures;
