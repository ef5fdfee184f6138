//! Where a database is, as whom it is asked, and how the way there is encrypted: what a URL says first, then the
//! environment and the files of its own clients.
//!
//! | module | question |
//! |---|---|
//! | `product` | which kind of database, and what does that kind call things? |
//! | `url` | what does the URL say? |
//! | `login` | what does everything say together, the password included? |
//! | `ssl_mode`, `tls` | how much of TLS, and who is trusted? |
//!
//! No message carries a password, and none shows itself.

mod error;
mod login;
mod product;
mod ssl_mode;
mod tls;
mod url;

pub use error::LoginError;
pub use login::{Login, Secret, ask};
pub use product::Product;
pub use ssl_mode::SslMode;
pub use tls::Tls;
pub use url::Url;
