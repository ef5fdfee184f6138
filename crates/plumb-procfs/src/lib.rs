//! What the kernel's own files say of a machine, its devices and its processes: /proc and /sys, of
//! this machine or recorded.
//!
//! A [`Source`] is a file that stays open and is read again and again below a [`Root`]; [`fields`]
//! are its bytes as lines, words and numbers. [`kernel`] makes counters of them, [`rdma`] those of
//! ports, [`process`] those of processes; [`counter`] says how far they moved between two readings.
//! What a machine does not have is a [`State`].

pub mod counter;
mod devices;
pub mod fields;
pub mod kernel;
mod label;
mod machine_time;
pub mod process;
pub mod rdma;
mod root;
mod source;
mod state;

pub use devices::{Devices, interface_kind, link_speed};
pub use label::Label;
pub use machine_time::MachineTime;
pub use root::{Root, first_line, names_in};
pub use source::{Buffer, Shape, Source};
pub use state::State;
