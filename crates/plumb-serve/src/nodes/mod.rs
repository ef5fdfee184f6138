//! Several processes of one server behind the same listeners, each with memory of its own.
//!
//! The process that was started listens and serves nothing itself ([`NodePlan::run`]). It starts the
//! nodes, which are the same program with the same words and `--node` behind them, hands each its
//! listeners over the socket that is the node's standard input, and starts another in place of one
//! that ended. A node that reads the end of that socket stops: nodes never outlive who started them.

mod forward;
mod group;
mod handover;
mod member;
mod parent;

use std::fmt;
use std::str::FromStr;

pub use self::forward::forward;
pub use self::group::{MemoryGroup, MemoryGroups, NotEnforced, memory_limit_reached};
pub use self::member::{Member, enter_memory_group};
pub use self::parent::NodePlan;

/// Nodes at most: their number has six bits of an id.
pub const NODES_MAX: u16 = 63;

/// Which of how many nodes, counted from 1; written `2/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeNumber {
    /// This one.
    pub number: u16,
    /// All of them.
    pub count: u16,
}

impl fmt::Display for NodeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for NodeNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no node: it is written as 2/4");
        let (number, count) = text.split_once('/').ok_or_else(wrong)?;
        let number = number.parse().map_err(|_| wrong())?;
        let count = count.parse().map_err(|_| wrong())?;
        let well = (1..=NODES_MAX).contains(&count) && (1..=count).contains(&number);
        well.then_some(Self { number, count }).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_one_of_those_that_there_are() {
        let node: NodeNumber = "2/4".parse().unwrap();
        assert_eq!((node.number, node.count, node.to_string()), (2, 4, "2/4".into()));
        for wrong in ["", "2", "0/4", "5/4", "1/64", "a/b", "1/0", "1/2/3"] {
            assert!(wrong.parse::<NodeNumber>().unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
