//! What a step sends: made once as far as it is the same for everybody.

use std::ops::Range;

use plumb_scenario::template::Template;
use plumb_scenario::variables::{Slot, Variables};
use plumb_wire::http::Ask;

use super::content::Content;
use super::origin::{Origins, Place};
use super::unsent::Unsent;

/// A header line of a request.
#[derive(Clone, Debug)]
pub(crate) struct HeaderLine {
    pub(crate) name: Box<str>,
    pub(crate) value: Template,
    pub(crate) goes_to: GoesTo,
}

/// To which servers a header line goes: one that is secret only to the one it was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoesTo {
    /// All.
    Any,
    /// The base.
    Base,
    /// The one that the step names, and not the one that a redirect leads to.
    First,
}

/// A request that lacks only what belongs to its user.
#[derive(Clone, Debug)]
pub(crate) struct RequestTemplate {
    method: String,
    target: Target,
    /// Header lines that are the same for everybody and everywhere.
    lines: String,
    /// The same of those that say what the content is.
    content_lines: String,
    /// The others.
    made: Vec<HeaderLine>,
    content: Content,
}

#[derive(Clone, Debug)]
enum Target {
    /// Can be sent as it is.
    Fixed(Place),
    Made(Template),
}

/// What a redirect makes of a request.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    /// Where it leads.
    pub(crate) place: Place,
    /// The server that the step asked first.
    pub(crate) first: u16,
    /// It is a GET without content, whatever the step is.
    pub(crate) gets: bool,
}

/// Where a request went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) route: u16,
    /// Where its target stands.
    pub(crate) target: Range<usize>,
    /// Where the value of its `Authorization` stands.
    pub(crate) authorization: Option<Range<usize>>,
}

impl RequestTemplate {
    /// A request for `target` with header lines.
    ///
    /// # Errors
    /// [`Unsent`] when its path is the same for everybody and cannot be asked for.
    pub(crate) fn new(
        method: &str,
        target: Template,
        headers: Vec<HeaderLine>,
        content: Content,
        origins: &Origins,
    ) -> Result<Self, Unsent> {
        let target = match target.constant() {
            Some(text) => Target::Fixed(origins.place(text)?),
            None => Target::Made(target),
        };
        let mut lines = String::new();
        let named = |name: &str| headers.iter().any(|known| known.name.eq_ignore_ascii_case(name));
        if !named("user-agent") {
            lines += concat!("User-Agent: plumb/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        if !named("accept") {
            lines += "Accept: */*\r\n";
        }
        let (mut content_lines, mut made) = (String::new(), Vec::new());
        for line in headers {
            let of_content = line.is_of_content();
            match line.value.constant() {
                Some(text) if text.contains(['\r', '\n']) => return Err(Unsent::Header(line.name)),
                Some(text) if line.goes_to == GoesTo::Any => {
                    let place = if of_content { &mut content_lines } else { &mut lines };
                    *place += &format!("{}: {text}\r\n", line.name);
                }
                _ => made.push(line),
            }
        }
        Ok(Self { method: method.into(), target, lines, content_lines, made, content })
    }

    /// What decides whether a body comes back.
    pub(crate) fn ask(&self) -> Ask {
        if self.method == "HEAD" { Ask::Head } else { Ask::Content }
    }

    /// The server that it is asked for at; `None` where each user makes its address.
    pub(crate) fn route(&self) -> Option<u16> {
        match &self.target {
            Target::Fixed(place) => Some(place.route),
            Target::Made(_) => None,
        }
    }

    /// Its method, where a redirect made it `gets` that of a GET.
    pub(crate) fn method(&self, gets: bool) -> &str {
        if gets { "GET" } else { &self.method }
    }

    /// Whether a redirect with `status` turns it into a GET without content.
    ///
    /// # Source
    /// RFC 9110, sections 15.4.2 to 15.4.4, and what browsers do (Fetch, HTTP-redirect fetch).
    pub(crate) fn is_turned_by(&self, status: u16) -> bool {
        match status {
            301 | 302 => self.method == "POST",
            303 => !matches!(self.method.as_str(), "GET" | "HEAD"),
            _ => false,
        }
    }

    /// The value of its `Authorization` line at the server `route`, of a step that asked `first` first;
    /// `None` where that has none.
    pub(crate) fn authorization(
        &self,
        (route, first): (u16, u16),
        variables: &Variables,
    ) -> Option<String> {
        let goes =
            |line: &&HeaderLine| line.is_authorization() && line.goes_to.includes(route, first);
        let mut value = Vec::new();
        self.made.iter().find(goes)?.value.write(variables, &mut value).ok()?;
        String::from_utf8(value).ok()
    }

    /// The variables it needs.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let target = match &self.target {
            Target::Fixed(_) => None,
            Target::Made(template) => Some(template),
        };
        let made = self.made.iter().map(|line| &line.value);
        target.into_iter().chain(made).flat_map(Template::slots).chain(self.content.slots())
    }

    /// Appends the request of a user to `out`, or what `hop` makes of it, and says where it goes;
    /// `cookies` appends the cookies for a target of a server, and says whether there are any.
    /// `spare` is written over.
    ///
    /// # Errors
    /// [`Unsent`]; what was appended is then to be thrown away.
    pub(crate) fn write(
        &self,
        origins: &Origins,
        hop: Option<&Hop>,
        variables: &Variables,
        cookies: impl Fn(u16, &str, &mut Vec<u8>) -> bool,
        (out, spare): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<Sent, Unsent> {
        let gets = hop.is_some_and(|hop| hop.gets);
        out.extend_from_slice(self.method(gets).as_bytes());
        out.push(b' ');
        let (route, target) = self.write_target(origins, hop, variables, (out, spare))?;
        spare.clear();
        let path = std::str::from_utf8(&out[target.clone()]).unwrap_or("/");
        let remembered = cookies(route, path, spare);
        out.extend_from_slice(b" HTTP/1.1\r\n");
        if remembered {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(spare);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(origins.of(route).lines.as_bytes());
        out.extend_from_slice(self.lines.as_bytes());
        if !gets {
            out.extend_from_slice(self.content_lines.as_bytes());
        }
        let first = hop.map_or(route, |hop| hop.first);
        let mut authorization = None;
        for line in &self.made {
            if line.goes_to.includes(route, first) && !(gets && line.is_of_content()) {
                let value = line.write(variables, out)?;
                if line.is_authorization() {
                    authorization = Some(value);
                }
            }
        }
        match gets {
            true => out.extend_from_slice(b"\r\n"),
            false => {
                let content = self.content.write(&self.method, variables, (out, spare));
                content.map_err(Unsent::Missing)?;
            }
        }
        Ok(Sent { route, target, authorization })
    }

    /// Appends the target, and says where it leads and where it stands.
    fn write_target(
        &self,
        origins: &Origins,
        hop: Option<&Hop>,
        variables: &Variables,
        (out, spare): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(u16, Range<usize>), Unsent> {
        let made;
        let (route, target) = match (hop, &self.target) {
            (Some(hop), _) => (hop.place.route, hop.place.target.as_bytes()),
            (None, Target::Fixed(place)) => (place.route, place.target.as_bytes()),
            (None, Target::Made(template)) => {
                spare.clear();
                template.write(variables, spare).map_err(Unsent::Missing)?;
                let ready = |byte: &u8| byte.is_ascii_graphic() && *byte != b'#';
                let path = spare.starts_with(b"/") && !spare.starts_with(b"//");
                if path && spare.iter().all(ready) {
                    (0, spare.as_slice())
                } else {
                    made = origins.place(&String::from_utf8_lossy(spare))?;
                    (made.route, made.target.as_bytes())
                }
            }
        };
        out.extend_from_slice(origins.of(route).prefix.as_bytes());
        let from = out.len();
        out.extend_from_slice(target);
        Ok((route, from..out.len()))
    }
}

impl HeaderLine {
    /// True when it says what the content is, and goes with it.
    fn is_of_content(&self) -> bool {
        let names = ["content-type", "content-encoding", "content-language", "content-location"];
        names.iter().any(|name| self.name.eq_ignore_ascii_case(name))
    }

    /// True when it says who asks.
    fn is_authorization(&self) -> bool {
        self.name.eq_ignore_ascii_case("authorization")
    }

    /// Appends it, and says where its value stands.
    fn write(&self, variables: &Variables, out: &mut Vec<u8>) -> Result<Range<usize>, Unsent> {
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(b": ");
        let at = out.len();
        self.value.write(variables, out).map_err(Unsent::Missing)?;
        if out[at..].iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(Unsent::Header(self.name.clone()));
        }
        let value = at..out.len();
        out.extend_from_slice(b"\r\n");
        Ok(value)
    }
}

impl GoesTo {
    /// Whether `route` is one of them, of a step that asked `first` first.
    fn includes(self, route: u16, first: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Base => route == 0,
            Self::First => route == first,
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_scenario::variables::{Common, Names, Value};

    use super::*;

    fn origins() -> Origins {
        let text = "base = \"http://db1:8000\"\nhosts = [\"https://id\"]\nscenario = []".into();
        let source =
            plumb_scenario::ScenarioSource::parse(std::path::Path::new("s"), text).unwrap();
        Origins::new(&source, None, None).unwrap()
    }

    fn request_template(target: &str, names: &mut Names) -> Result<RequestTemplate, Unsent> {
        let mut line = |name: &str, value: &str, goes_to| {
            let value = Template::parse(value, names).unwrap();
            HeaderLine { name: name.into(), value, goes_to }
        };
        let headers = vec![
            line("Accept", "text/html", GoesTo::Any),
            line("X-Id", "${id}", GoesTo::Any),
            line("Content-Type", "text/xml", GoesTo::Any),
            line("Authorization", "Basic b", GoesTo::Base),
            line("X-Token", "t", GoesTo::First),
        ];
        let target = Template::parse(target, names).unwrap();
        let content = Content::Text(Template::parse("<a>${id}</a>", names).unwrap());
        RequestTemplate::new("POST", target, headers, content, &origins())
    }

    fn sent(target: &str, id: &str) -> Result<String, Unsent> {
        hopped(target, id, None)
    }

    fn hopped(target: &str, id: &str, hop: Option<&Hop>) -> Result<String, Unsent> {
        let mut names = Names::default();
        let request_template = request_template(target, &mut names)?;
        let mut variables = Variables::new(Common::default().share());
        variables.set(names.slot("id").unwrap(), Value::text(id));
        let (mut out, mut spare) = (Vec::new(), Vec::new());
        let cookies = |route: u16, path: &str, line: &mut Vec<u8>| {
            line.extend_from_slice(format!("at{route}={path}").as_bytes());
            true
        };
        let buffers = (&mut out, &mut spare);
        let sent = request_template.write(&origins(), hop, &variables, cookies, buffers)?;
        assert!(out[sent.target].starts_with(b"/"));
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_request_has_what_is_the_same_and_what_is_not() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            sent("/a/${id}?b", "7").unwrap(),
            format!(
                "POST /a/7?b HTTP/1.1\r\nCookie: at0=/a/7?b\r\nHost: db1:8000\r\n\
                 User-Agent: plumb/{version}\r\nAccept: text/html\r\nContent-Type: text/xml\r\n\
                 X-Id: 7\r\nAuthorization: Basic b\r\nX-Token: t\r\nContent-Length: 8\r\n\r\n\
                 <a>7</a>"
            )
        );
    }

    #[test]
    fn a_redirect_takes_the_content_or_leaves_it_and_no_credentials_to_another_server() {
        let version = env!("CARGO_PKG_VERSION");
        let place = Place { route: 1, target: "/in?x=y".into() };
        let mut hop = Hop { place, first: 0, gets: true };
        assert_eq!(
            hopped("/a", "7", Some(&hop)).unwrap(),
            format!(
                "GET /in?x=y HTTP/1.1\r\nCookie: at1=/in?x=y\r\nHost: id\r\n\
                 User-Agent: plumb/{version}\r\nAccept: text/html\r\nX-Id: 7\r\n\r\n"
            )
        );
        hop.gets = false;
        let kept = hopped("/a", "7", Some(&hop)).unwrap();
        assert!(kept.starts_with("POST /in?x=y HTTP") && kept.ends_with("\r\n\r\n<a>7</a>"));
        assert!(
            kept.contains("Content-Type") && !kept.contains("Basic") && !kept.contains("X-Tok")
        );
        // what the step itself gives belongs to the server it asks first, the rest to the base
        let first = sent("https://id/in", "7").unwrap();
        assert!(first.contains("X-Token: t") && !first.contains("Basic"), "{first}");
        (hop.first, hop.place.route) = (1, 0);
        let back = hopped("https://id/in", "7", Some(&hop)).unwrap();
        assert!(!back.contains("X-Token") && back.contains("Basic b"), "{back}");
    }

    #[test]
    fn methods_change_as_browsers_change_them() {
        let turned = |method: &str| {
            let target = Template::parse("/", &mut Names::default()).unwrap();
            let request =
                RequestTemplate::new(method, target, vec![], Content::Nothing, &origins());
            let request = request.unwrap();
            [301, 302, 303, 307, 308].map(|status| request.is_turned_by(status))
        };
        assert_eq!(turned("GET"), [false; 5]);
        assert_eq!(turned("HEAD"), [false; 5]);
        assert_eq!(turned("POST"), [true, true, true, false, false]);
        assert_eq!(turned("PUT"), [false, false, true, false, false]);
    }

    #[test]
    fn an_address_of_a_named_server_is_asked_there_and_any_other_is_refused() {
        for target in ["http://db1:8000/x", "http://DB1:8000/x#top", "x", "/x"] {
            assert!(sent(target, "7").unwrap().starts_with("POST /x HTTP"), "{target}");
        }
        assert!(sent("${id}", "http://db1:8000/deep").unwrap().starts_with("POST /deep HTTP"));
        assert!(sent("${id}", "https://id/deep").unwrap().contains("\r\nHost: id\r\n"));
        assert!(sent("/${id}", "a b").unwrap().starts_with("POST /a%20b HTTP"));
        for (target, id) in
            [("http://other/x", "7"), ("${id}", "//other/x"), ("${id}", "https://db1:8000/")]
        {
            let Err(unsent) = sent(target, id) else { panic!("{target} {id}") };
            let words = unsent.words(&Names::default());
            assert!(
                words.contains("another server") && words.contains("write hosts = ["),
                "{words}"
            );
        }
    }

    #[test]
    fn what_would_end_a_line_is_not_sent() {
        assert_eq!(sent("/", "7\r\nEvil: 1"), Err(Unsent::Header("X-Id".into())));
        assert!(matches!(sent("/${id}", "7\r\n"), Err(Unsent::NoUrl(_) | Unsent::Header(_))));
    }
}
