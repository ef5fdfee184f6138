//! Listening and accepting. Nothing here waits.

use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::time::Duration;

use plumb_measure::Span;
use plumb_netlink::smc;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, acceptfrom_with, bind, getsockname, listen, sockopt,
};

use crate::Error;
use crate::address::{Address, Endpoint, Family, show_address};
use crate::connect::Nagle;
use crate::connect::{FLAGS, SocketOptions, start_connect};
use crate::peer::Peer;

/// Connections the kernel queues for a listener; it cuts this to its own limit.
const BACKLOG: i32 = 4096;

/// A socket that takes connections, and the path to remove with it.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    endpoint: Endpoint,
    /// True for the one that made the socket file.
    owner: bool,
}

impl Listener {
    /// Listens on `endpoint`; port 0 lets the kernel choose one. The socket file of a server that
    /// is gone is replaced, that of a living one is not.
    ///
    /// # Errors
    /// What the kernel says: in use, no permission, no such address.
    pub fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        let socket = endpoint.socket(FLAGS)?;
        match endpoint {
            Endpoint::Tcp(address) | Endpoint::Smc(address) => {
                sockopt::set_socket_reuseaddr(&socket, true)?;
                if endpoint.family() == AddressFamily::INET6 {
                    sockopt::set_ipv6_v6only(&socket, true)?;
                }
                bind(&socket, address)?;
            }
            Endpoint::Unix(path) => {
                let address = SocketAddrUnix::new(path)?;
                match bind(&socket, &address) {
                    Err(Errno::ADDRINUSE) if abandoned(path, endpoint) => {
                        std::fs::remove_file(path)?;
                        bind(&socket, &address)?;
                    }
                    bound => bound?,
                }
            }
            Endpoint::Udp(_) | Endpoint::Own => return Err(Errno::OPNOTSUPP.into()),
        }
        listen(&socket, BACKLOG)?;
        Ok(Self { socket, endpoint: endpoint.clone(), owner: true })
    }

    /// A socket that another process made and listens on, too. Its file stays when this is dropped.
    ///
    /// # Errors
    /// When it is no socket of TCP or SMC, and none with a file.
    pub fn inherited(socket: OwnedFd) -> io::Result<Self> {
        let address = getsockname(&socket)?;
        let endpoint = match SocketAddr::try_from(address.clone()) {
            Ok(address) if sockopt::socket_domain(&socket)? == smc::FAMILY => {
                Endpoint::Smc(address)
            }
            Ok(address) => Endpoint::Tcp(address),
            Err(_) => {
                let file = SocketAddrUnix::try_from(address)?;
                let path = file.path_bytes().ok_or(Errno::OPNOTSUPP)?;
                Endpoint::Unix(Path::new(OsStr::from_bytes(path)).into())
            }
        };
        Ok(Self { socket, endpoint, owner: false })
    }

    /// Listens on every address of `listen`, each as a user writes it; a port that is not written
    /// is `default_port`.
    ///
    /// # Errors
    /// [`Error`] names the address that cannot be listened on.
    pub fn bind_all(listen: &[String], default_port: u16) -> Result<Vec<Self>, Error> {
        let mut listeners = Vec::new();
        for text in listen {
            for endpoint in Endpoint::resolve(&Address::parse(text, default_port)?, Family::Any)? {
                let listener = Self::bind(&endpoint)
                    .map_err(|cause| Error::listen(endpoint.to_string(), &cause))?;
                listeners.push(listener);
            }
        }
        Ok(listeners)
    }

    /// From now on a client over TCP whose machine has not answered for `time` is gone: the kernel
    /// asks it when it is silent, and waits no longer for what it sent to be taken. In whole
    /// seconds, at least three; a socket file needs none of that, and SMC asks at the pace of
    /// `net.smc.smcr_testlink_time`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn keep_alive(&self, time: Span) -> io::Result<()> {
        const PROBES: u32 = 2;
        if !matches!(self.endpoint, Endpoint::Tcp(_)) {
            return Ok(());
        }
        // connections have what their listener has
        let seconds = time.ns().div_ceil(1_000_000_000).max(3);
        let between = Duration::from_secs(seconds / 4 + 1);
        let silent = Duration::from_secs(seconds).saturating_sub(PROBES * between);
        sockopt::set_socket_keepalive(&self.socket, true)?;
        sockopt::set_tcp_keepidle(&self.socket, silent.max(Duration::from_secs(1)))?;
        sockopt::set_tcp_keepintvl(&self.socket, between)?;
        sockopt::set_tcp_keepcnt(&self.socket, PROBES)?;
        let most = u32::try_from(seconds.saturating_mul(1_000)).unwrap_or(u32::MAX);
        Ok(sockopt::set_tcp_user_timeout(&self.socket, most)?)
    }

    /// True where only this machine reaches it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.endpoint.is_local()
    }

    /// The address as clients reach it.
    #[must_use]
    pub fn local(&self) -> String {
        match getsockname(&self.socket) {
            Ok(address) if matches!(self.endpoint, Endpoint::Smc(_)) => {
                format!("smc:{}", show_address(address))
            }
            Ok(address) => show_address(address),
            Err(_) => self.endpoint.to_string(),
        }
    }

    /// Where it listens, as asked for.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes one connection that waits.
    pub(crate) fn accept(&self, nagle: Nagle) -> io::Result<(OwnedFd, Peer)> {
        let (socket, address) = acceptfrom_with(&self.socket, FLAGS)?;
        let peer = address.and_then(|address| SocketAddr::try_from(address).ok());
        if peer.is_some() {
            sockopt::set_tcp_nodelay(&socket, nagle == Nagle::Off)?;
        }
        Ok((socket, peer.map_or(Peer::Unix, Peer::Ip)))
    }
}

/// True for a socket file that nobody listens on; never for a file of another kind.
fn abandoned(path: &Path, endpoint: &Endpoint) -> bool {
    let socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    socket
        && start_connect(endpoint, &SocketOptions::default())
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Endpoint::Unix(path) = &self.endpoint
            && self.owner
        {
            // gone already is as good as removed
            let _ = std::fs::remove_file(path);
        }
    }
}
