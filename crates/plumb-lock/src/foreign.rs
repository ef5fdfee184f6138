//! What is said of a server that does not speak RESP.

/// How an alert of TLS begins, which is what a server that speaks it answers.
const TLS_ALERT: &[u8] = b"\x15\x03";
/// What is said of such a server.
pub(crate) const SPEAKS_TLS: &str = "speaks TLS: add --tls";

/// What is said of a server that answered with `bytes`, which are no RESP; otherwise `foreign`.
pub(crate) fn no_resp(bytes: &[u8], foreign: impl FnOnce() -> String) -> String {
    if bytes.starts_with(TLS_ALERT) { SPEAKS_TLS.into() } else { foreign() }
}
