//! Nodes of an OPC UA server, as a file names them.

use super::TagName;

/// Nodes of a server.
#[derive(Clone)]
pub struct OpcUaPlan {
    /// `opc.tcp://HOST:PORT/PATH`.
    pub url: String,
    /// Nodes, and the tags that they are.
    pub nodes: Vec<(String, TagName)>,
    /// The tag whose values count the changes at the machine, one by one.
    #[cfg_attr(not(feature = "opcua"), expect(dead_code, reason = "read by the source alone"))]
    pub(crate) sequence: Option<TagName>,
    /// How often the server tells what has changed, milliseconds.
    pub interval_ms: u64,
    /// Name and password.
    #[cfg_attr(not(feature = "opcua"), expect(dead_code, reason = "read by the source alone"))]
    pub(crate) login: Option<(String, String)>,
}

// derived, it would show the password
impl std::fmt::Debug for OpcUaPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpcUaPlan")
            .field("url", &self.url)
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}
