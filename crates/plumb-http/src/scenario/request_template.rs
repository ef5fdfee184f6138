//! What a step sends: made once as far as it is the same for everybody.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use plumb_scenario::template::{Missing, Template};
use plumb_scenario::variables::{Names, Slot, Variables};
use plumb_wire::http::{Ask, Scheme, Url};

use crate::proxy::Proxy;
use crate::request::{NO_CONTENT, usually_has_content};

/// Where all requests of a load go.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    url: Url,
    /// What stands before the target in the request line, and its header line: a proxy wants the
    /// whole URL, and to know who asks.
    prefix: String,
    proxy_line: String,
}

impl Origin {
    /// The server of `url`, through `proxy`.
    pub(crate) fn new(url: Url, proxy: Option<&Proxy>) -> Self {
        let seen_by = proxy.filter(|_| url.scheme() == Scheme::Http);
        let prefix =
            if seen_by.is_some() { format!("http://{}", url.authority()) } else { String::new() };
        let proxy_line = seen_by.map(Proxy::line).unwrap_or_default();
        Self { url, prefix, proxy_line }
    }

    /// The address of the server.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// What is asked of this server for `text`: a path, or an address of it.
    fn target(&self, text: &str) -> Result<String, Unsent> {
        let url = self.url.join(text).map_err(|error| Unsent::NoUrl(error.to_string()))?;
        if url.same_origin(&self.url) {
            Ok(url.target().into())
        } else {
            Err(Unsent::Elsewhere(url.masked()))
        }
    }
}

/// Why a request cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// A variable has no text.
    Missing(Missing),
    /// The path is no address.
    NoUrl(String),
    /// The path leads to another server.
    Elsewhere(String),
    /// The value of a header would end its line.
    Header(Box<str>),
}

impl Unsent {
    /// The reason in words.
    pub(crate) fn words(&self, names: &Names) -> String {
        match self {
            Self::Missing(missing) => missing.words(names),
            Self::NoUrl(problem) => problem.clone(),
            Self::Elsewhere(url) => format!("{url} is on another server: a load goes to one"),
            Self::Header(name) => format!("the value of {name} holds the end of a line"),
        }
    }
}

/// The content of a request.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// None.
    Nothing,
    /// A template.
    Text(Template),
    /// As it stands in a file.
    Bytes(Arc<[u8]>),
}

/// A request that lacks only what belongs to its user.
#[derive(Clone, Debug)]
pub(crate) struct RequestTemplate {
    method: String,
    target: Target,
    /// Header lines that are the same for everybody.
    lines: String,
    /// Names and values of the others.
    made: Vec<(Box<str>, Template)>,
    content: Content,
}

#[derive(Clone, Debug)]
enum Target {
    /// Begins with a slash and can be sent as it is.
    Fixed(String),
    Made(Template),
}

impl RequestTemplate {
    /// A request for `target` with header lines, each a name and a value.
    ///
    /// # Errors
    /// [`Unsent`] when its path is the same for everybody and cannot be asked for.
    pub(crate) fn new(
        method: &str,
        target: Template,
        headers: Vec<(Box<str>, Template)>,
        content: Content,
        origin: &Origin,
    ) -> Result<Self, Unsent> {
        let target = match target.constant() {
            Some(text) => Target::Fixed(origin.target(text)?),
            None => Target::Made(target),
        };
        let mut lines = format!("Host: {}\r\n{}", origin.url.authority(), origin.proxy_line);
        let named = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !named("user-agent") {
            lines += concat!("User-Agent: plumb/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        if !named("accept") {
            lines += "Accept: */*\r\n";
        }
        let mut made = Vec::new();
        for (name, value) in headers {
            match value.constant() {
                Some(text) if text.contains(['\r', '\n']) => return Err(Unsent::Header(name)),
                Some(text) => lines += &format!("{name}: {text}\r\n"),
                None => made.push((name, value)),
            }
        }
        Ok(Self { method: method.into(), target, lines, made, content })
    }

    /// What decides whether a body comes back.
    pub(crate) fn ask(&self) -> Ask {
        if self.method == "HEAD" { Ask::Head } else { Ask::Content }
    }

    /// The variables it needs.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let target = match &self.target {
            Target::Fixed(_) => None,
            Target::Made(template) => Some(template),
        };
        let content = match &self.content {
            Content::Text(template) => Some(template),
            Content::Nothing | Content::Bytes(_) => None,
        };
        let made = self.made.iter().map(|(_, value)| value);
        target.into_iter().chain(content).chain(made).flat_map(Template::slots)
    }

    /// Appends the request of a user to `out`, and says where in it the target stands; `cookies`
    /// appends the cookies for a target, and says whether there are any. `spare` is written over.
    ///
    /// # Errors
    /// [`Unsent`]; what was appended is then to be thrown away.
    pub(crate) fn write(
        &self,
        origin: &Origin,
        variables: &Variables,
        cookies: impl Fn(&str, &mut Vec<u8>) -> bool,
        (out, spare): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<Range<usize>, Unsent> {
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(origin.prefix.as_bytes());
        let from = out.len();
        match &self.target {
            Target::Fixed(target) => out.extend_from_slice(target.as_bytes()),
            Target::Made(template) => write_target(template, origin, variables, (out, spare))?,
        }
        let target = from..out.len();
        spare.clear();
        let path = std::str::from_utf8(&out[target.clone()]).unwrap_or("/");
        let remembered = cookies(path, spare);
        out.extend_from_slice(b" HTTP/1.1\r\n");
        if remembered {
            out.extend_from_slice(b"Cookie: ");
            out.extend_from_slice(spare);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(self.lines.as_bytes());
        for (name, value) in &self.made {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            let at = out.len();
            value.write(variables, out).map_err(Unsent::Missing)?;
            if out[at..].iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
                return Err(Unsent::Header(name.clone()));
            }
            out.extend_from_slice(b"\r\n");
        }
        self.write_content(variables, (out, spare))?;
        Ok(target)
    }

    fn write_content(
        &self,
        variables: &Variables,
        (out, spare): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<(), Unsent> {
        let content: &[u8] = match &self.content {
            Content::Nothing => {
                if usually_has_content(&self.method) {
                    out.extend_from_slice(NO_CONTENT.as_bytes());
                }
                out.extend_from_slice(b"\r\n");
                return Ok(());
            }
            Content::Bytes(bytes) => bytes,
            Content::Text(template) => {
                spare.clear();
                template.write(variables, spare).map_err(Unsent::Missing)?;
                spare
            }
        };
        let mut length = String::new();
        let _ = write!(length, "Content-Length: {}\r\n\r\n", content.len()); // cannot fail
        out.extend_from_slice(length.as_bytes());
        out.extend_from_slice(content);
        Ok(())
    }
}

/// Appends a target that is made anew each time.
fn write_target(
    template: &Template,
    origin: &Origin,
    variables: &Variables,
    (out, spare): (&mut Vec<u8>, &mut Vec<u8>),
) -> Result<(), Unsent> {
    spare.clear();
    template.write(variables, spare).map_err(Unsent::Missing)?;
    let ready = |byte: &u8| byte.is_ascii_graphic() && *byte != b'#';
    if spare.starts_with(b"/") && !spare.starts_with(b"//") && spare.iter().all(ready) {
        out.extend_from_slice(spare);
        return Ok(());
    }
    let text = String::from_utf8_lossy(spare);
    out.extend_from_slice(origin.target(&text)?.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use plumb_scenario::variables::{Common, Value};

    use super::*;

    fn origin() -> Origin {
        Origin::new(Url::parse("http://db1:8000").unwrap(), None)
    }

    fn request_template(target: &str, names: &mut Names) -> Result<RequestTemplate, Unsent> {
        let headers = vec![
            ("Accept".into(), Template::parse("text/html", names).unwrap()),
            ("X-Id".into(), Template::parse("${id}", names).unwrap()),
        ];
        let target = Template::parse(target, names).unwrap();
        let content = Content::Text(Template::parse("<a>${id}</a>", names).unwrap());
        RequestTemplate::new("POST", target, headers, content, &origin())
    }

    fn sent(target: &str, id: &str) -> Result<String, Unsent> {
        let mut names = Names::default();
        let request_template = request_template(target, &mut names)?;
        let mut variables = Variables::new(Common::default().share());
        variables.set(names.slot("id").unwrap(), Value::text(id));
        let (mut out, mut spare) = (Vec::new(), Vec::new());
        let cookies = |path: &str, line: &mut Vec<u8>| {
            line.extend_from_slice(b"at=");
            line.extend_from_slice(path.as_bytes());
            true
        };
        let at = request_template.write(&origin(), &variables, cookies, (&mut out, &mut spare))?;
        assert!(out[at].starts_with(b"/"));
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_request_has_what_is_the_same_and_what_is_not() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            sent("/a/${id}?b", "7").unwrap(),
            format!(
                "POST /a/7?b HTTP/1.1\r\nCookie: at=/a/7?b\r\nHost: db1:8000\r\n\
                 User-Agent: plumb/{version}\r\nAccept: text/html\r\nX-Id: 7\r\nContent-Length: 8\r\n\r\n\
                 <a>7</a>"
            )
        );
    }

    #[test]
    fn an_address_of_the_same_server_is_a_path_and_any_other_is_refused() {
        for target in ["http://db1:8000/x", "http://DB1:8000/x#top", "x", "/x"] {
            assert!(sent(target, "7").unwrap().starts_with("POST /x HTTP"), "{target}");
        }
        assert!(sent("${id}", "http://db1:8000/deep").unwrap().starts_with("POST /deep HTTP"));
        assert!(sent("/${id}", "a b").unwrap().starts_with("POST /a%20b HTTP"));
        for (target, id) in
            [("http://other/x", "7"), ("${id}", "//other/x"), ("${id}", "https://db1:8000/")]
        {
            assert!(matches!(sent(target, id), Err(Unsent::Elsewhere(_))), "{target} {id}");
        }
    }

    #[test]
    fn what_would_end_a_line_is_not_sent() {
        assert_eq!(sent("/", "7\r\nEvil: 1"), Err(Unsent::Header("X-Id".into())));
        assert!(matches!(sent("/${id}", "7\r\n"), Err(Unsent::NoUrl(_) | Unsent::Header(_))));
    }
}
