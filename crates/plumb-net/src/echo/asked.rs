//! What clients are served that ask for more than an echo.

use plumb_engine::{ClientStamps, Served};
use plumb_measure::Clock;
use plumb_wire::extension::{self, Answer, EYE_CATCHER, Exchange, Request, Traffic};
use plumb_wire::ni::{HEADER_BYTES, ReturnCode};

use super::EchoServer;
use crate::client::{Client, Manner};

/// What a connection is served from its first message on.
impl<C: Clock> EchoServer<'_, C> {
    /// The first message of a client.
    fn first(&mut self, client: &mut Client, payload: &[u8], out: &mut Vec<u8>) -> Served {
        let asked = match &self.extension {
            Some(_) if payload.starts_with(EYE_CATCHER) => Request::parse(payload),
            _ => Ok(None),
        };
        match asked {
            Ok(None) => {
                client.manner = Manner::Echo;
                Served::default()
            }
            Ok(Some(request)) => self.open_with(client, request, payload, out),
            Err(error) => Self::refuse(client, ReturnCode::INVAL, error.to_string(), out),
        }
    }

    /// The first message of a client asks for the extension.
    fn open_with(
        &mut self,
        client: &mut Client,
        request: Request,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Served {
        let Some(extension) = &mut self.extension else {
            return Served::default();
        };
        let served = Served { consumed: HEADER_BYTES + payload.len(), echo: 0, close: false };
        match request {
            Request::Exchange(terms) => {
                if terms.bytes() > self.limits.message_bytes_max as u64 {
                    let text = format!(
                        "{} replies of {} bytes to one request are more than this server's limit \
                         of {} bytes",
                        terms.replies, terms.response_bytes, self.limits.message_bytes_max
                    );
                    return Self::refuse(client, ReturnCode::TOO_BIG, text, out);
                }
                extension.replies.reserve(usize::try_from(terms.response_bytes).unwrap_or(0));
                client.manner = Manner::Exchange(terms);
                Answer::Exchange(terms).push(out);
                served
            }
            Request::Stream(stream) => match extension.streams.admit(stream.token) {
                Ok(()) => {
                    client.manner = Manner::Stream(stream);
                    Answer::Stream(stream).push(out);
                    served
                }
                Err(text) => Self::refuse(client, ReturnCode::CONN_REFUSED, text, out),
            },
            Request::Stamps(terms) => {
                client.stamps = Some(Box::new(ClientStamps::new(terms)));
                Answer::Stamps(terms).push(out);
                served
            }
            Request::Totals | Request::Carried(_) | Request::Tick => {
                client.manner = Manner::Figures;
                self.tell_figures(client, payload, out)
            }
        }
    }

    /// Totals, what streams have carried, or the tick, as often as the client asks.
    fn tell_figures(&mut self, client: &mut Client, payload: &[u8], out: &mut Vec<u8>) -> Served {
        let Some(extension) = &self.extension else {
            return Served::default();
        };
        match Request::parse(payload) {
            Ok(Some(Request::Totals)) => {
                extension.ledger.served(std::mem::take(&mut self.served));
                Answer::Totals(extension.ledger.totals()).push(out);
            }
            Ok(Some(Request::Carried(token))) => {
                let now_ns = self.clock.now_ns();
                Answer::Carried(extension.streams.carried(token, now_ns)).push(out);
            }
            Ok(Some(Request::Tick)) => Answer::Tick(extension.tick).push(out),
            Ok(_) => {
                let text = "this connection is for figures of the server";
                return Self::refuse(client, ReturnCode::INVAL, text.into(), out);
            }
            Err(error) => {
                return Self::refuse(client, ReturnCode::INVAL, error.to_string(), out);
            }
        }
        Served { consumed: HEADER_BYTES + payload.len(), echo: 0, close: false }
    }

    /// Answers one request of an exchange.
    fn exchange(
        &mut self,
        client: &mut Client,
        terms: Exchange,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Served {
        if let Some(extension) = &self.extension {
            extension.replies.push(terms, extension::stamp_of(payload), out);
        }
        if let Some(stamps) = &mut client.stamps {
            stamps.serve(client.messages, 1);
            stamps.take_due().into_iter().for_each(|told| Answer::Stamped(told).push(out));
        }
        client.messages += 1;
        client.bytes += payload.len() as u64;
        self.served.add(Traffic {
            messages_in: 1,
            bytes_in: payload.len() as u64,
            messages_out: terms.replies.into(),
            bytes_out: u64::from(terms.replies) * u64::from(terms.response_bytes),
        });
        if self.limits.service_ns > 0 {
            self.work(1);
        }
        Served { consumed: HEADER_BYTES + payload.len(), echo: 0, close: false }
    }

    /// The message at the front of a client whose messages do not simply go back.
    pub(super) fn otherwise(
        &mut self,
        client: &mut Client,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Served {
        match client.manner {
            Manner::Open => self.first(client, payload, out),
            Manner::Exchange(terms) => self.exchange(client, terms, payload, out),
            Manner::Figures => self.tell_figures(client, payload, out),
            Manner::Echo | Manner::Stream(_) => Served::default(),
        }
    }
}
