//! Addresses of servers that come and go.

/// From here on Linux picks ports itself (`ip_local_port_range`): such a port says nothing of a server on
/// this machine.
const PICKED_PORTS: u16 = 32_768;

/// `address` without the port of a server on this machine, where a kernel may have picked it: it is
/// another one each time the server is started.
#[must_use]
pub fn without_picked_port(address: &str) -> String {
    let local = ["127.0.0.1:", "localhost:", "[::1]:"].iter().find_map(|host| {
        let at = address.find(host)? + host.len();
        let digits = address[at..].bytes().take_while(u8::is_ascii_digit).count();
        let port: u16 = address[at..at + digits].parse().ok()?;
        let rest = &address[at + digits..];
        (port >= PICKED_PORTS).then(|| format!("{}{rest}", &address[..at - 1]))
    });
    local.unwrap_or_else(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_a_kernel_picked_is_left_out() {
        assert_eq!(without_picked_port("127.0.0.1:45029"), "127.0.0.1");
        assert_eq!(without_picked_port("http://localhost:45029/a?b"), "http://localhost/a?b");
        for address in
            ["127.0.0.1:3298", "localhost:15432", "db1:45029", "127.0.0.1", "127.0.0.1:", "[::1]:x"]
        {
            assert_eq!(without_picked_port(address), address);
        }
    }
}
