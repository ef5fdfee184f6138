//! Codecs against any bytes, and the bytes of the extension.

#[path = "../cases/mod.rs"]
mod cases;
#[path = "../cases/corpus.rs"]
mod corpus;
mod datagram;
mod document;
mod extension;
mod fuzz_http;
mod fuzz_ni;
mod fuzz_postgres;
mod fuzz_resp;
mod jsonpath;
mod references;
