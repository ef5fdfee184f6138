//! The one server that a load goes to, among those that a file names.

use plumb_scenario::cookies::SITES_MAX;
use plumb_scenario::file::placed;
use plumb_wire::http::Url;

use crate::draft::Draft;
use crate::error::SourceError;

/// What is said above the servers beside the main one.
const ASKED_TOO: &str = "these servers are asked, too: take those out that are not yours, \
                                    with their steps, or import again with --one-server";

/// The servers that a scenario is to ask, of those that a file names.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedServers<'a> {
    /// The main one; that which is asked most unless given.
    pub base: Option<&'a Url>,
    /// What others are asked is left out.
    pub one_server: bool,
}

/// How often the servers of a file are asked, the most often first.
#[derive(Debug, Default)]
pub struct Origins {
    seen: Vec<(Url, usize)>,
}

impl Origins {
    /// Counts a request to `url`.
    pub fn count(&mut self, url: &Url) {
        match self.seen.iter_mut().find(|(known, _)| known.same_origin(url)) {
            Some((_, times)) => *times += 1,
            None => self.seen.push((url.clone(), 1)),
        }
    }

    /// True when nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Makes `base` the main server of `draft` and the others its hosts, those that are asked most
    /// often first, unless one server is `wanted`; which these are.
    pub fn name(&self, base: &Url, wanted: WantedServers<'_>, draft: &mut Draft) -> Vec<Url> {
        let most = if wanted.one_server { 0 } else { SITES_MAX - 1 };
        let mut others: Vec<&(Url, usize)> =
            self.seen.iter().filter(|(url, _)| !url.same_origin(base)).collect();
        others.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let hosts: Vec<Url> = others.into_iter().take(most).map(|(url, _)| url.clone()).collect();
        draft.file.base = Some(placed(base_of(base)));
        draft.file.hosts = hosts.iter().map(|host| placed(base_of(host))).collect();
        if !hosts.is_empty() {
            draft.remark("hosts", ASKED_TOO);
        }
        hosts
    }

    /// The server that is asked most often, of several the first; where a base is `wanted` that one.
    ///
    /// # Errors
    /// [`SourceError::OtherServers`] when the file does not ask it.
    pub fn main(&self, wanted: WantedServers<'_>) -> Result<Option<&Url>, SourceError> {
        let Some(wanted) = wanted.base else {
            let most = self.seen.iter().map(|(_, times)| *times).max();
            let first = self.seen.iter().find(|(_, times)| Some(*times) == most);
            return Ok(first.map(|(url, _)| url));
        };
        match self.seen.iter().find(|(known, _)| known.same_origin(wanted)) {
            Some((known, _)) => Ok(Some(known)),
            None => Err(SourceError::OtherServers {
                wanted: base_of(wanted),
                seen: self.seen.iter().map(|(url, n)| format!("{} ({n})", base_of(url))).collect(),
            }),
        }
    }
}

/// What stands in front of the path of a step to `url`: nothing where it goes to `base`, the server
/// where it goes to one of `hosts`; `None` where it goes to none of them.
#[must_use]
pub fn server_in_step(url: &Url, base: &Url, hosts: &[Url]) -> Option<String> {
    if url.same_origin(base) {
        return Some(String::new());
    }
    hosts.iter().any(|host| url.same_origin(host)).then(|| base_of(url))
}

/// Why a request to `url` is left out.
#[must_use]
pub fn elsewhere(url: &Url) -> String {
    format!("it goes to {}, which is none of the servers that are kept", base_of(url))
}

/// `http://HOST[:PORT]` of a URL.
#[must_use]
pub fn base_of(url: &Url) -> String {
    let whole = url.to_string();
    whole.strip_suffix(url.target()).unwrap_or(&whole).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_that_is_asked_most_is_the_main_one() {
        let mut origins = Origins::default();
        for text in
            ["http://a/1", "https://b:8443/x?y", "https://b:8443/", "http://a/2", "http://c/"]
        {
            origins.count(&Url::parse(text).unwrap());
        }
        let main = |origins: &Origins, base: Option<&str>| {
            let base = base.map(|base| Url::parse(base).unwrap());
            let wanted = WantedServers { base: base.as_ref(), one_server: false };
            origins.main(wanted).map(|found| found.map(base_of))
        };
        assert_eq!(main(&origins, None).unwrap().as_deref(), Some("http://a"));
        let found = main(&origins, Some("https://B:8443")).unwrap();
        assert_eq!(found.as_deref(), Some("https://b:8443"));
        let error = main(&origins, Some("http://d/")).unwrap_err().to_string();
        assert!(error.contains("http://a (2), https://b:8443 (2), http://c (1)"), "{error}");
        assert_eq!(main(&Origins::default(), None).unwrap(), None);
    }
}
