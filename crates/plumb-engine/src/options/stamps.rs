//! Whether messages are taken apart.

use std::num::NonZeroU32;

use clap::Args;
use serde_json::{Map, Value, json};

use super::TransportKind;
use crate::EngineError;

/// Whether single messages are taken apart by time stamps of the kernel.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct StampOptions {
    /// Take one message in N of each connection apart by time stamps of the kernel [default: 64]: what
    /// of a round trip is the client, what the wire, what the server
    ///
    /// Over TCP; without TLS, but for databases. A server that tells how long it had each message (those
    /// of plumb) is asked for it; of any other, what is neither the client nor told by an answer is one
    /// part.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "64"
    )]
    pub timestamps: Option<NonZeroU32>,
}

impl StampOptions {
    /// Checks what no single option can know: how the target is reached, and whether `encrypted`.
    ///
    /// # Errors
    /// [`EngineError::Plan`] names the options and what to write instead.
    pub fn check(self, transport: &TransportKind, encrypted: bool) -> Result<(), EngineError> {
        let why = match transport {
            _ if self.timestamps.is_none() => return Ok(()),
            TransportKind::Tcp if !encrypted => return Ok(()),
            TransportKind::Tcp => {
                "no message of TLS can be found in packets: leave --tls (https) or"
            }
            TransportKind::Udp => "datagrams are not taken apart: leave udp or",
            TransportKind::Smc => "memory that is shared has no packets: leave smc or",
            TransportKind::Unix(_) => "a socket file has no packets: leave unix: or",
        };
        Err(EngineError::Plan(format!("--timestamps: {why} --timestamps out")))
    }

    /// The option with the value in force, for the run record.
    #[must_use]
    pub fn in_force(self) -> Map<String, Value> {
        let value = self.timestamps.map(|every| ("timestamps".to_owned(), json!(every)));
        value.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_stamped_where_there_are_some() {
        let on = StampOptions { timestamps: NonZeroU32::new(64) };
        let unix = TransportKind::Unix("/tmp/x".into());
        assert!(on.check(&TransportKind::Tcp, false).is_ok());
        for (transport, encrypted) in
            [(TransportKind::Tcp, true), (TransportKind::Smc, false), (unix, false)]
        {
            let refused = on.check(&transport, encrypted).unwrap_err().to_string();
            assert!(refused.ends_with("or --timestamps out"), "{refused}");
            assert!(StampOptions::default().check(&transport, encrypted).is_ok());
        }
        assert_eq!(on.in_force()["timestamps"], json!(64));
        assert!(StampOptions::default().in_force().is_empty());
    }
}
