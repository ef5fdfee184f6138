//! The audit log: a line of JSON for each thing that only few may do.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use plumb_engine::clock;
use serde_json::json;

use crate::ServerError;
use crate::server::Audited;

/// The file.
#[derive(Debug)]
pub(crate) struct AuditLog(File);

impl AuditLog {
    /// Opens the file, which is made if it is not there, behind what it holds.
    pub(crate) fn open(path: &Path) -> Result<Self, ServerError> {
        let file = File::options().create(true).append(true).open(path);
        let path = path.display().to_string();
        file.map(Self).map_err(|cause| ServerError::AuditLog { path, cause })
    }

    /// Appends a line.
    pub(crate) fn note(&mut self, audited: &Audited<'_>) {
        let Audited { user, peer, command, result } = audited;
        let line = json!({
            "time": clock::utc(clock::wall_ns()), "user": user, "peer": peer.to_string(),
            "command": command, "result": result,
        });
        // a full disk keeps nobody from removing a lock; the server's own log has it, too
        let _ = writeln!(self.0, "{line}");
    }
}
