//! Pages and those who ask for them: single requests, scenarios, imports, recordings.

#[path = "../kit/mod.rs"]
mod kit;

mod http;
mod http2;
mod http2_parallel;
mod http_answers;
mod http_finish;
mod http_import;
mod http_import_plans;
#[cfg(feature = "kerberos")]
mod http_kerberos;
mod http_load;
mod http_load_examples;
mod http_load_parts;
mod http_load_users;
mod http_load_values;
mod http_load_words;
mod http_logon;
mod http_parallel;
mod http_record;
mod http_record_http2;
mod http_record_limits;
mod http_redirects;
mod http_replay;
mod http_resources;
mod http_schemes;
mod http_secrets;
mod http_spans;
mod http_tls;
