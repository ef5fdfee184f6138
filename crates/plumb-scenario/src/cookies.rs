//! The cookies of one user at the servers of a load.

use std::sync::Arc;

use plumb_wire::http::{SetCookie, cookie_date, path_matches};

/// Servers that one jar is for at most.
pub const SITES_MAX: usize = 64;
/// Cookies that a user keeps at most, for each server.
const COOKIES_MAX: usize = 50;
const NS_PER_S: u64 = 1_000_000_000;

/// A server that cookies are for, and when time began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Name or address, in lower case.
    host: Box<str>,
    /// Reached over TLS.
    secure: bool,
    /// The moment 0 ns of [`Jar::take`] in seconds since 1970 (UTC).
    began_unix_s: i64,
}

impl Site {
    /// A server that is reached over plain HTTP.
    #[must_use]
    pub fn plain(host: &str, began_unix_s: i64) -> Self {
        Self { host: host.to_ascii_lowercase().into(), secure: false, began_unix_s }
    }

    /// A server that is reached over TLS.
    #[must_use]
    pub fn secure(host: &str, began_unix_s: i64) -> Self {
        Self { secure: true, ..Self::plain(host, began_unix_s) }
    }

    /// True when a cookie for `domain` goes to this server: it is the host, or the host lies
    /// below it. Nothing belongs to a domain of one label alone, such as `com`: a cookie for it
    /// would go to servers of others.
    ///
    /// # Source
    /// RFC 6265, sections 5.1.3 and 5.3 (5).
    fn belongs_to(&self, domain: &str) -> bool {
        let domain = domain.to_ascii_lowercase();
        let address = self.host.contains(':') || self.host.parse::<std::net::Ipv4Addr>().is_ok();
        *self.host == *domain
            || !address
                && domain.contains('.')
                && self.host.strip_suffix(&*domain).is_some_and(|before| before.ends_with('.'))
    }

    /// When a cookie of an answer with this `Date` ends, in nanoseconds since the beginning; `None`: not
    /// before the run does.
    fn end_ns(&self, set: &SetCookie<'_>, date: Option<&str>, now_ns: u64) -> Option<u64> {
        if let Some(age_s) = set.max_age_s {
            let age_s = u64::try_from(age_s).unwrap_or(0);
            return Some(now_ns.saturating_add(age_s.saturating_mul(NS_PER_S)));
        }
        let expires = cookie_date(set.expires?)?;
        if date.and_then(cookie_date).is_some_and(|answered| expires <= answered) {
            return Some(0); // by the server's own clock, whatever ours says
        }
        let left_s = expires.saturating_sub(self.began_unix_s);
        Some(u64::try_from(left_s).unwrap_or(0).saturating_mul(NS_PER_S))
    }
}

/// The cookies of one user at all its servers, which are numbered from 0. Times are nanoseconds
/// since the beginning of the [`Site`]s. A cookie goes to the host that gave it, whatever the port,
/// or to all servers of the domain that it names.
///
/// # Source
/// RFC 6265, sections 5.3 and 5.4; 8.5 of the port.
#[derive(Clone, Debug)]
pub struct Jar {
    sites: Arc<[Site]>,
    /// Longer paths first, then older cookies: the order in which they are sent.
    cookies: Vec<Cookie>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    name: Box<str>,
    value: Box<str>,
    path: Box<str>,
    /// Where none was named, the host that gave it.
    domain: Box<str>,
    /// The servers it goes to, one a bit, the first lowest.
    goes_to: u64,
    end_ns: Option<u64>,
}

impl Cookie {
    fn lives(&self, now_ns: u64) -> bool {
        self.end_ns.is_none_or(|end_ns| end_ns > now_ns)
    }

    fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.path == other.path && self.domain == other.domain
    }
}

impl Jar {
    /// A user without cookies, of [`SITES_MAX`] servers at most: what is beyond gets none.
    #[must_use]
    pub fn new(sites: Arc<[Site]>) -> Self {
        Self { sites, cookies: Vec::new() }
    }

    /// Takes the value of a `Set-Cookie` line of the answer of server `site`, with that of its `Date`, to a
    /// request for `path` (its query may follow). One that has ended by that date ends at once. False when nothing came of it: no cookie, one for another domain, one
    /// that is only for TLS where there is none, or one more than are kept.
    pub fn take(
        &mut self,
        site: usize,
        (line, date): (&str, Option<&str>),
        path: &str,
        now_ns: u64,
    ) -> bool {
        let (Some(set), Some(from)) = (SetCookie::parse(line), self.sites.get(site)) else {
            return false;
        };
        if set.domain.is_some_and(|domain| !from.belongs_to(domain)) || set.secure && !from.secure {
            return false;
        }
        let takes = |to: &Site| {
            let in_domain = set.domain.map_or(to.host == from.host, |it| to.belongs_to(it));
            in_domain && (to.secure || !set.secure)
        };
        let all = self.sites.iter().take(SITES_MAX).zip(0..);
        let goes_to = all.filter(|(to, _)| takes(to)).fold(0, |bits, (_, bit)| bits | 1 << bit);
        let cookie = Cookie {
            name: set.name.into(),
            value: set.value.into(),
            path: set.path_within(path).into(),
            domain: set.domain.unwrap_or(&from.host).to_ascii_lowercase().into(),
            goes_to,
            end_ns: from.end_ns(&set, date, now_ns),
        };
        self.keep(cookie, now_ns)
    }

    fn keep(&mut self, cookie: Cookie, now_ns: u64) -> bool {
        self.cookies.retain(|known| known.lives(now_ns));
        let known = self.cookies.iter().position(|known| known.is(&cookie));
        match (known, cookie.lives(now_ns)) {
            (Some(at), true) => self.cookies[at] = cookie,
            (Some(at), false) => {
                self.cookies.remove(at);
            }
            (None, true) if self.cookies.len() < COOKIES_MAX * self.sites.len() => {
                let longer = |known: &Cookie| known.path.len() >= cookie.path.len();
                self.cookies.insert(self.cookies.partition_point(longer), cookie);
            }
            (None, true) => return false,
            (None, false) => {}
        }
        true
    }

    /// Appends the value of the `Cookie` line of a request for `path` (its query may follow) of
    /// server `site` to `out`; false when there is no cookie for it.
    pub fn write(&self, site: usize, path: &str, now_ns: u64, out: &mut Vec<u8>) -> bool {
        let goes = |cookie: &Cookie| site < SITES_MAX && cookie.goes_to >> site & 1 == 1;
        let path = path.split('?').next().unwrap_or_default();
        let mut joint = "";
        for cookie in &self.cookies {
            if goes(cookie) && cookie.lives(now_ns) && path_matches(&cookie.path, path) {
                for part in [joint, &cookie.name, "=", &cookie.value] {
                    out.extend_from_slice(part.as_bytes());
                }
                joint = "; ";
            }
        }
        !joint.is_empty()
    }

    /// Forgets all cookies.
    pub fn clear(&mut self) {
        self.cookies.clear();
    }

    /// The names of the cookies, without their values.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.cookies.iter().map(|cookie| &*cookie.name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BEGAN_UNIX_S: i64 = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT

    fn jar(host: &str) -> Jar {
        Jar::new([Site::plain(host, BEGAN_UNIX_S)].into())
    }

    fn sent(jar: &Jar, path: &str, now_s: u64) -> String {
        let mut out = Vec::new();
        assert_eq!(jar.write(0, path, now_s * NS_PER_S, &mut out), !out.is_empty());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cookies_go_back_longer_paths_first() {
        let mut jar = jar("a.org");
        assert!(jar.take(0, ("root=1; Path=/", None), "/x/y", 0));
        assert!(jar.take(0, ("folder=2", None), "/x/y?q", 0));
        assert!(jar.take(0, ("other=3; Path=/", None), "/", 0));
        assert_eq!(sent(&jar, "/x/z?q=/y", 0), "folder=2; root=1; other=3");
        assert_eq!(sent(&jar, "/xy", 0), "root=1; other=3");
        assert!(jar.take(0, ("root=4; Path=/", None), "/", 0));
        assert_eq!(sent(&jar, "/", 0), "root=4; other=3");
        assert_eq!(jar.names().collect::<Vec<_>>(), ["folder", "root", "other"]);
        jar.clear();
        assert_eq!(sent(&jar, "/x/z", 0), "");
    }

    #[test]
    fn cookies_end_when_they_should() {
        let mut jar = jar("a.org");
        assert!(jar.take(
            0,
            ("age=1; Max-Age=10; Expires=Sun, 06 Nov 1994 08:49:38 GMT", None),
            "/",
            5 * NS_PER_S
        ));
        assert!(jar.take(
            0,
            ("date=1; Expires=Sun, 06 Nov 1994 08:49:57 GMT", None),
            "/",
            5 * NS_PER_S
        ));
        assert!(jar.take(0, ("stays=1; Expires=someday", None), "/", 0));
        assert_eq!(sent(&jar, "/", 14), "age=1; date=1; stays=1");
        assert_eq!(sent(&jar, "/", 15), "date=1; stays=1");
        assert_eq!(sent(&jar, "/", 20), "stays=1");
        assert!(jar.take(0, ("stays=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None), "/", 0));
        assert!(jar.take(0, ("date=; Max-Age=0", None), "/", 0));
        assert!(jar.take(0, ("never=; Max-Age=-1", None), "/", 0));
        assert_eq!(jar.names().collect::<Vec<_>>(), ["age"]);
        assert!(jar.take(0, ("long=1; Max-Age=99999999999999999999", None), "/", 20 * NS_PER_S));
        assert_eq!(sent(&jar, "/", u64::MAX / NS_PER_S - 1), "long=1");
    }

    #[test]
    fn what_has_ended_by_the_date_of_its_answer_ends_at_once() {
        let (mut jar, date) = (jar("a.org"), Some("Sun, 06 Nov 1994 09:49:37 GMT"));
        assert!(jar.take(0, ("sid=1", date), "/", 0));
        assert!(jar.take(0, ("kept=1; Expires=Sun, 06 Nov 1994 09:49:38 GMT", date), "/", 0));
        assert_eq!(sent(&jar, "/", 0), "sid=1; kept=1");
        // an hour after the beginning
        assert!(jar.take(0, ("sid=; Expires=Sun, 06 Nov 1994 09:49:36 GMT", date), "/", 0));
        assert_eq!(sent(&jar, "/", 0), "kept=1");
        assert!(jar.take(0, ("kept=; Expires=Sun, 06 Nov 1994 09:49:37 GMT", date), "/", 0));
        assert_eq!(sent(&jar, "/", 0), "");
        let age = "age=1; Max-Age=9; Expires=Sun, 06 Nov 1994 09:49:36 GMT";
        assert!(jar.take(0, (age, date), "/", 0), "its age counts first");
        assert_eq!(sent(&jar, "/", 0), "age=1");
    }

    #[test]
    fn cookies_of_others_are_not_kept() {
        let mut name = jar("App.Example.org");
        assert!(name.take(0, ("a=1; Domain=example.org", None), "/", 0));
        assert!(name.take(0, ("b=2; Domain=.APP.example.org", None), "/", 0));
        assert!(name.take(0, ("a=3", None), "/", 0));
        for domain in ["other.org", "ample.org", "x.app.example.org"] {
            assert!(!name.take(0, (&format!("c=4; Domain={domain}"), None), "/", 0), "{domain}");
        }
        assert_eq!(sent(&name, "/", 0), "a=1; b=2; a=3");
        for domain in ["org", ".org", "com"] {
            assert!(!name.take(0, (&format!("d=5; Domain={domain}"), None), "/", 0), "{domain}");
        }
        assert!(
            jar("localhost").take(0, ("a=1; Domain=localhost", None), "/", 0),
            "the host itself"
        );
        let mut address = jar("10.0.0.1");
        assert!(address.take(0, ("a=1; Domain=10.0.0.1", None), "/", 0));
        assert!(!address.take(0, ("a=1; Domain=0.0.1", None), "/", 0));
    }

    #[test]
    fn secure_cookies_need_tls() {
        assert!(!jar("a").take(0, ("a=1; Secure", None), "/", 0));
        let mut jar = Jar::new([Site::secure("a", BEGAN_UNIX_S)].into());
        assert!(jar.take(0, ("a=1; Secure", None), "/", 0));
        assert_eq!(sent(&jar, "/", 0), "a=1");
        let mut plain = self::jar("a");
        assert!(!plain.take(0, ("a=1; secure; Path=/", None), "/", 0));
        assert_eq!(sent(&plain, "/", 0), "");
    }

    #[test]
    fn cookies_go_to_their_host_whatever_the_port_or_to_all_of_a_domain() {
        let sites = [
            Site::plain("app.example.org", BEGAN_UNIX_S),
            Site::secure("id.example.org", BEGAN_UNIX_S),
            Site::plain("other.net", BEGAN_UNIX_S),
            Site::plain("app.example.org", BEGAN_UNIX_S), // at another port
        ];
        let mut jar = Jar::new(sites.into());
        assert!(jar.take(0, ("own=1", None), "/", 0));
        assert!(jar.take(1, ("all=2; Domain=example.org", None), "/", 0));
        assert!(jar.take(1, ("tls=3; Domain=example.org; Secure", None), "/", 0));
        assert!(!jar.take(2, ("not=4; Domain=example.org", None), "/", 0));
        assert!(!jar.take(9, ("no=5", None), "/", 0), "no such server");
        let at = |site: usize| {
            let mut out = Vec::new();
            jar.write(site, "/", 0, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            [0, 1, 2, 3, 9].map(at),
            ["own=1; all=2", "all=2; tls=3", "", "own=1; all=2", ""]
        );
        assert!(jar.take(3, ("own=6; Domain=app.example.org", None), "/", 0), "the same cookie");
        assert_eq!(jar.names().count(), 3);
    }

    #[test]
    fn a_server_cannot_fill_the_jar() {
        let mut jar = jar("a");
        let kept =
            (0..100).filter(|n| jar.take(0, (&format!("c{n}=1; Max-Age=9"), None), "/", 0)).count();
        assert_eq!(kept, COOKIES_MAX);
        assert!(jar.take(0, ("c0=2; Max-Age=9", None), "/", 0), "one that is known is replaced");
        assert!(jar.take(0, ("new=1", None), "/", 9 * NS_PER_S), "what ended makes room");
        assert_eq!(jar.names().collect::<Vec<_>>(), ["new"]);
    }

    proptest! {
        #[test]
        fn any_lines_are_taken_or_not(
            lines in prop::collection::vec(
                "(\\PC|=|;|a|; Path=|; Domain=a|; Max-Age=|; Expires=|[0-9]{1,4}|jan|:){0,12}", 0..8
            ),
            path in "/?\\PC{0,6}",
            now_ns: u64,
        ) {
            let mut jar = jar("b.a");
            for line in &lines {
                jar.take(0, (line, None), &path, now_ns);
            }
            let mut out = Vec::new();
            jar.write(0, &path, now_ns, &mut out);
            prop_assert!(!out.contains(&b'\n') && std::str::from_utf8(&out).is_ok());
        }
    }
}
