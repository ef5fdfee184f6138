//! A proxy that opens tunnels, or refuses to.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::PATIENCE;
use super::message::Message;

/// A proxy on a free port of 127.0.0.1; ends with the process.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Leads every client to `server`, whatever it asks for, unless `refusal` is an answer.
    pub(crate) fn start(
        server: SocketAddr,
        refusal: impl Fn(&str) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let proxy = Self { address, asked: Arc::clone(&asked) };
        let refusal = Arc::new(refusal);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (refusal, asked) = (Arc::clone(&refusal), Arc::clone(&asked));
                // a client or server that goes away ends its tunnel
                thread::spawn(move || lead(stream, server, refusal.as_ref(), &asked));
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What asked for tunnels so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

fn lead(
    mut client: TcpStream,
    server: SocketAddr,
    refusal: &(impl Fn(&str) -> Option<&'static str> + ?Sized),
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    client.set_read_timeout(Some(PATIENCE))?;
    let Some(Message { head, .. }) = Message::read(&mut client)? else {
        return Ok(());
    };
    asked.lock().expect("nobody panics with it").push(head.clone());
    if let Some(answer) = refusal(&head) {
        return client.write_all(answer.as_bytes());
    }
    let mut server = TcpStream::connect(server)?;
    server.set_nodelay(true)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut from_server, &mut to_client));
    io::copy(&mut client, &mut server)?;
    server.shutdown(std::net::Shutdown::Both)
}
