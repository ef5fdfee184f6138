//! What a page embeds: which addresses of it are asked for.

use std::collections::BTreeMap;

use plumb_scenario::Patterns;
use plumb_scenario::answer::Answer;
use plumb_scenario::embedded::embedded;
use plumb_scenario::resources::Wanted;
use plumb_wire::http::{RawHead, Url};

use super::origin::{Origins, Place};

/// Resources of a page that are asked for at most.
pub(crate) const RESOURCES_MAX: usize = 256;
/// Links of a page that are looked at.
const LINKS_MAX: usize = 4_096;
/// Reasons that are told apart.
const REASONS_MAX: usize = 32;
/// Addresses that hold what they stand for, or lead nowhere: nobody asks a server for them.
const NOT_ASKED: [&str; 5] = ["data:", "blob:", "javascript:", "about:", "mailto:"];

/// The resources of the pages of one step.
#[derive(Clone, Debug)]
pub(crate) struct PageResources {
    pub(crate) wanted: Wanted,
    /// Targets that are not asked for.
    pub(crate) exclude: Patterns,
    /// The step that asks for each of them, at the place it is given.
    pub(crate) step: u16,
    /// Requests under way to one host at the same time; `None`: as many as there may be.
    pub(crate) at_once: Option<usize>,
}

/// What a page embeds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What is asked for, each once.
    pub(crate) places: Vec<Place>,
    /// What is not, by why.
    pub(crate) left_out: BTreeMap<String, u64>,
}

impl PageResources {
    /// What the page at `asked` embeds, whose `answer` was right. Only pages of HTML embed something.
    pub(crate) fn of_page(&self, answer: &Answer<'_>, asked: &Url, origins: &Origins) -> Found {
        let mut found = Found::default();
        if !is_html(answer.head) {
            return found;
        }
        let page = embedded(answer.content, LINKS_MAX);
        let base = page.base.as_deref().and_then(|base| asked.join(base).ok());
        let base = base.as_ref().unwrap_or(asked);
        for link in &page.links {
            let scheme = |known: &&str| {
                link.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known))
            };
            if link.starts_with('#') || NOT_ASKED.iter().any(scheme) {
                continue;
            }
            let url = match base.join(link) {
                Ok(url) if !self.wanted.has(&url.to_string()) => continue,
                Ok(url) => url,
                Err(error) => {
                    leave_out(&mut found.left_out, &error.to_string());
                    continue;
                }
            };
            match origins.place_of(&url) {
                None => {
                    let server = url.join("/").map_or_else(|_| url.masked(), |it| it.to_string());
                    let server = server.trim_end_matches('/');
                    let why = format!("on {server}, which is not one of hosts");
                    leave_out(&mut found.left_out, &why);
                }
                Some(place) if found.places.contains(&place) || self.exclude.has(&place.target) => {
                }
                Some(_) if found.places.len() == RESOURCES_MAX => {
                    let why = format!("beyond the {RESOURCES_MAX} of a page");
                    leave_out(&mut found.left_out, &why);
                }
                Some(place) => found.places.push(place),
            }
        }
        found
    }
}

/// Counts one that is left out.
pub(crate) fn leave_out(all: &mut BTreeMap<String, u64>, why: &str) {
    add_left_out(all, why, 1);
}

/// Counts `number` that are left out; of too many reasons, those behind them together.
pub(crate) fn add_left_out(all: &mut BTreeMap<String, u64>, why: &str, number: u64) {
    let why =
        if all.len() < REASONS_MAX || all.contains_key(why) { why } else { "for other reasons" };
    *all.entry(why.to_owned()).or_default() += number;
}

/// True of an answer that is a page.
fn is_html(head: &[u8]) -> bool {
    let kind = RawHead::new(head).values("content-type").next().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml"].iter().any(|known| kind.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use plumb_scenario::ScenarioSource;

    use super::*;

    fn found(kind: &str, page: &str) -> Found {
        let text = "base = \"http://erp\"\nhosts = [\"http://cdn\"]\nscenario = []".into();
        let source = ScenarioSource::parse(Path::new("s"), text).unwrap();
        let origins = Origins::new(&source, None, None).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n");
        let answer = Answer {
            status: 200,
            address: "",
            length: 0,
            took_ns: 0,
            head: head.as_bytes(),
            content: page.as_bytes(),
        };
        let resources = PageResources {
            wanted: Wanted::default(),
            exclude: Patterns::default(),
            step: 1,
            at_once: None,
        };
        resources.of_page(&answer, &Url::parse("http://erp/a/b").unwrap(), &origins)
    }

    #[test]
    fn what_is_embedded_is_asked_for_once_at_the_servers_of_the_file() {
        let page = "<img src=c.png><img src=/a/c.png><img src=http://cdn/d><img src=//ads/e>\
                    <img src='data:image/png;base64,AA'><img src='#x'><img src='http://:0:/'>";
        let found = found("Text/HTML; charset=utf-8", page);
        let places: Vec<_> = found.places.iter().map(|it| (it.route, it.target.as_str())).collect();
        assert_eq!(places, [(0, "/a/c.png"), (1, "/d")]);
        assert_eq!(found.left_out["on http://ads, which is not one of hosts"], 1);
        assert_eq!(found.left_out.len(), 2, "{:?}", found.left_out);
    }

    #[test]
    fn a_page_may_say_what_addresses_are_relative_to() {
        let places = found("text/html", "<base href='http://cdn/x/'><img src=y>").places;
        assert_eq!((places[0].route, places[0].target.as_str()), (1, "/x/y"));
    }

    #[test]
    fn resources_are_bounded_and_only_pages_have_them() {
        let page: String = (0..300).map(|number| format!("<img src=/{number}>")).collect();
        let many = found("text/html", &page);
        assert_eq!(many.places.len(), RESOURCES_MAX);
        assert_eq!(many.left_out["beyond the 256 of a page"], 44);
        assert!(found("application/json", &page).places.is_empty());
    }
}
