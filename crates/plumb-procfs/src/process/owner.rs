//! Whose socket is at the other end of a connection of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::Processes;
use super::chosen::numbers_in;
use crate::fields::{Words, hexadecimal, lines, number};
use crate::root::Root;

/// Descriptors that are looked at before the search is given up.
const DESCRIPTORS_MAX: usize = 200_000;
/// Other network namespaces that are looked into before the search is given up.
const NAMESPACES_MAX: usize = 64;
/// `TCP_ESTABLISHED` and `TCP_LISTEN` of the kernel.
const ESTABLISHED: u64 = 1;
const LISTEN: u64 = 10;
/// `__SO_ACCEPTCON` of the kernel: a unix socket that listens.
const ACCEPTS: u64 = 1 << 16;

/// Who owns the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owners {
    /// It is on another machine, or in a network namespace that is not shown to us.
    NotHere,
    /// It is here, but its process does not show its descriptors to us.
    Hidden,
    /// These processes; each stands for its children too.
    Found(Vec<u32>),
}

/// Who owns the other end of the TCP connection that leads from `local` to `peer`: the process that
/// has the connection, and those that listen where it was made. It is looked for in our own network
/// namespace first, then in those of all processes that show theirs.
#[must_use]
pub fn owners_of_tcp(root: &Root, local: SocketAddr, peer: SocketAddr) -> Owners {
    let (local, peer) = (without_zone(local), without_zone(peer));
    first_found(root, |net| sockets_at(net, local, peer))
}

/// Who receives the datagrams that go from `local` to `peer`: the processes whose UDP sockets are bound
/// to `peer`, or to every address where `peer` is this very machine. Looked for as those of TCP are.
#[must_use]
pub fn owners_of_udp(root: &Root, local: SocketAddr, peer: SocketAddr) -> Owners {
    let is_ours = peer.ip().is_loopback() || peer.ip() == local.ip();
    let peer = without_zone(peer);
    first_found(root, |net| {
        let bound = in_tables(net, ["udp", "udp6"]).into_iter().filter(|socket| {
            socket.local == peer || is_ours && socket.remote.port() == 0 && socket.listens_for(peer)
        });
        let sockets: BTreeSet<u64> = bound.map(|socket| socket.inode).collect();
        (!sockets.is_empty()).then_some(sockets)
    })
}

/// As the kernel's tables have it: an address of one link without the link.
fn without_zone(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Who owns the sockets that `find` finds in the `net` folder of the first network namespace that has
/// some: ours, then those of others.
fn first_found(root: &Root, find: impl Fn(&Path) -> Option<BTreeSet<u64>>) -> Owners {
    let found = find(&root.proc("net")).or_else(|| {
        let mut others = other_namespaces(root).into_iter();
        others.find_map(|net| find(&net))
    });
    found.map_or(Owners::NotHere, |sockets| owners(root, &sockets))
}

/// The `net` folder of one process of every network namespace but our own.
fn other_namespaces(root: &Root) -> Vec<PathBuf> {
    let name = |process: &str| fs::read_link(root.proc(&format!("{process}/ns/net"))).ok();
    let mut seen = BTreeSet::from_iter(name("self"));
    let mut others = Vec::new();
    for pid in numbers_in(root, "") {
        if others.len() == NAMESPACES_MAX {
            break;
        }
        if name(&pid.to_string()).is_some_and(|name| seen.insert(name)) {
            others.push(root.proc(&format!("{pid}/net")));
        }
    }
    others
}

/// The sockets at the other end, from the tables in the folder `net`; `None` when the connection is
/// in none of them.
fn sockets_at(net: &Path, local: SocketAddr, peer: SocketAddr) -> Option<BTreeSet<u64>> {
    let mut sockets = BTreeSet::new();
    let mut is_here = false;
    for socket in in_tables(net, ["tcp", "tcp6"]) {
        if socket.state == ESTABLISHED && socket.local == peer && socket.remote == local {
            is_here = true;
            sockets.insert(socket.inode);
        } else if socket.state == LISTEN && socket.listens_for(peer) {
            sockets.insert(socket.inode);
        }
    }
    sockets.remove(&0); // a connection that nobody has accepted yet
    is_here.then_some(sockets)
}

/// The sockets in `tables` of the folder `net`.
fn in_tables(net: &Path, tables: [&str; 2]) -> Vec<InetSocket> {
    let texts = tables.map(|table| fs::read(net.join(table)).unwrap_or_default());
    texts.iter().flat_map(|text| lines(text)).filter_map(InetSocket::parse).collect()
}

/// Who listens on the unix socket at `path`.
#[must_use]
pub fn owners_of_unix(root: &Root, path: &Path) -> Owners {
    let text = fs::read(root.proc("net/unix")).unwrap_or_default();
    let wanted = path.to_string_lossy();
    let sockets: BTreeSet<u64> = lines(&text)
        .filter_map(|line| {
            let mut words = Words::of(line);
            let flags = hexadecimal(words.nth(3)?)?; // Num RefCount Protocol Flags
            let inode = number(words.nth(2)?)?; // Type St Inode
            (flags & ACCEPTS != 0 && words.rest() == wanted.as_bytes()).then_some(inode)
        })
        .collect();
    if sockets.is_empty() { Owners::NotHere } else { owners(root, &sockets) }
}

/// One line of `/proc/net/tcp`, `tcp6`, `udp` or `udp6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InetSocket {
    local: SocketAddr,
    remote: SocketAddr,
    state: u64,
    inode: u64,
}

impl InetSocket {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut words = Words::of(line);
        let local = address(words.nth(1)?)?;
        let remote = address(words.next()?)?;
        let state = hexadecimal(words.next()?)?;
        let inode = number(words.nth(5)?)?; // queues, timer, retransmits, user, timeout, inode
        Some(Self { local, remote, state, inode })
    }

    fn listens_for(&self, peer: SocketAddr) -> bool {
        self.local.port() == peer.port()
            && (self.local.ip().is_unspecified() || self.local.ip() == peer.ip())
    }
}

/// `0100007F:0CE2`: words of 32 bits in the order of this machine, then the port. An IPv4 address
/// within IPv6 is the IPv4 address.
fn address(text: &[u8]) -> Option<SocketAddr> {
    let colon = text.iter().position(|byte| *byte == b':')?;
    let port = u16::try_from(hexadecimal(&text[colon + 1..])?).ok()?;
    let mut octets = [0; 16];
    let (words, rest) = text[..colon].as_chunks::<8>();
    if !rest.is_empty() || words.len() > 4 {
        return None;
    }
    for (octets, word) in octets.chunks_exact_mut(4).zip(words) {
        let word = u32::try_from(hexadecimal(word)?).ok()?;
        octets.copy_from_slice(&word.to_ne_bytes());
    }
    let ip = match words.len() {
        1 => IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])),
        4 => IpAddr::V6(Ipv6Addr::from(octets)).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The processes that hold one of `sockets` open.
fn owners(root: &Root, sockets: &BTreeSet<u64>) -> Owners {
    let mut found = Vec::new();
    let mut left = DESCRIPTORS_MAX;
    for pid in numbers_in(root, "") {
        let Ok(descriptors) = fs::read_dir(root.proc(&format!("{pid}/fd"))) else { continue };
        for descriptor in descriptors.flatten() {
            left = left.saturating_sub(1);
            let held = fs::read_link(descriptor.path()).ok().and_then(|link| socket_of(&link));
            if held.is_some_and(|inode| sockets.contains(&inode)) {
                found.push(pid);
                break;
            }
        }
        if left == 0 {
            break;
        }
    }
    match Processes::read(root).heads(&found) {
        heads if heads.is_empty() => Owners::Hidden,
        heads => Owners::Found(heads),
    }
}

/// 12345 of `socket:[12345]`.
fn socket_of(link: &Path) -> Option<u64> {
    let link = link.to_str()?.as_bytes();
    number(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{SocketAddrV6, TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixListener;

    #[test]
    fn addresses_of_both_families_are_read() {
        let of = |text: &str| address(text.as_bytes()).map(|address| address.to_string());
        if cfg!(target_endian = "little") {
            assert_eq!(of("0100007F:0CE2").as_deref(), Some("127.0.0.1:3298"));
            assert_eq!(of("00000000000000000000000001000000:0050").as_deref(), Some("[::1]:80"));
            assert_eq!(
                of("0000000000000000FFFF00000100007F:0050").as_deref(),
                Some("127.0.0.1:80")
            );
        }
        assert_eq!(of("0100007F:1FFFF"), None);
        assert_eq!(of("0100007F01:0050"), None);
    }

    #[test]
    fn our_own_connection_is_found_to_be_ours() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (local, peer) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        let found = owners_of_tcp(&Root::default(), local, peer);
        assert_eq!(found, Owners::Found(vec![std::process::id()]));
        let on_link = |it: SocketAddr| {
            let IpAddr::V4(ip) = it.ip() else { panic!("{it}") };
            SocketAddr::V6(SocketAddrV6::new(ip.to_ipv6_mapped(), it.port(), 0, 2))
        };
        let found = owners_of_tcp(&Root::default(), on_link(local), on_link(peer));
        assert_eq!(found, Owners::Found(vec![std::process::id()]));
        let elsewhere = "192.0.2.1:80".parse().unwrap();
        assert_eq!(owners_of_tcp(&Root::default(), local, elsewhere), Owners::NotHere);
    }

    #[test]
    fn so_is_the_socket_that_datagrams_go_to() {
        for any in ["127.0.0.1:0", "0.0.0.0:0"] {
            let server = UdpSocket::bind(any).unwrap();
            let client = UdpSocket::bind("127.0.0.1:0").unwrap();
            let peer =
                SocketAddr::new(Ipv4Addr::LOCALHOST.into(), server.local_addr().unwrap().port());
            client.connect(peer).unwrap();
            let local = client.local_addr().unwrap();
            let found = owners_of_udp(&Root::default(), local, peer);
            assert_eq!(found, Owners::Found(vec![std::process::id()]), "{any}");
            // another machine's, although a socket here is bound to the same port of every address
            let elsewhere = SocketAddr::new("192.0.2.1".parse().unwrap(), peer.port());
            assert_eq!(owners_of_udp(&Root::default(), local, elsewhere), Owners::NotHere);
        }
    }

    #[test]
    fn so_is_our_own_unix_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let found = owners_of_unix(&Root::default(), &path);
        assert_eq!(found, Owners::Found(vec![std::process::id()]));
        assert_eq!(owners_of_unix(&Root::default(), Path::new("/no/such")), Owners::NotHere);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = (InetSocket::parse(&bytes), address(&bytes));
        }
    }
}
