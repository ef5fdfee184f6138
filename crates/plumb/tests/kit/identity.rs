//! An application that lets nobody in whom an identity provider does not know: OpenID Connect with
//! PKCE, and SAML. Both servers refuse whatever a browser would not have sent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::http::{Reply, ReplyServer};
use super::message::Message;

/// The user who may log on.
pub(crate) const USER: &str = "anna";
pub(crate) const PASSWORD: &str = "pass&word+1";

/// The two servers.
#[derive(Debug)]
pub(crate) struct LogOn {
    pub(crate) app: ReplyServer,
    /// By another name than the application, so that cookies tell them apart.
    pub(crate) idp: ReplyServer,
}

/// What both know of the sessions that begin.
#[derive(Debug, Default)]
struct Book {
    urls: OnceLock<[String; 2]>,
    drawn: u64,
    /// The secrets of the application by the state that it gave away.
    verifiers: HashMap<String, String>,
    /// The challenge that each code of the provider answers.
    codes: HashMap<String, String>,
    sessions: Vec<String>,
}

impl LogOn {
    pub(crate) fn start() -> Self {
        let book = Arc::new(Mutex::new(Book::default()));
        let of_app = Arc::clone(&book);
        let app = ReplyServer::reading(move |request, _| {
            application(&mut of_app.lock().expect("nobody panics with it"), request)
        });
        let of_idp = Arc::clone(&book);
        let idp = ReplyServer::reading(move |request, _| {
            provider(&mut of_idp.lock().expect("nobody panics with it"), request)
        });
        let urls = [app.url(""), Self::by_name(&idp)];
        book.lock().expect("nobody panics with it").urls.set(urls).expect("once");
        Self { app, idp }
    }

    /// The address of the provider.
    pub(crate) fn idp_url(&self) -> String {
        Self::by_name(&self.idp)
    }

    fn by_name(server: &ReplyServer) -> String {
        format!("http://localhost:{}", server.address.port())
    }
}

impl Book {
    /// A text that nobody else has.
    fn draw(&mut self, of: &str) -> String {
        self.drawn += 1;
        format!("{of}-{}", self.drawn)
    }

    fn urls(&self) -> [String; 2] {
        self.urls.get().expect("they are known").clone()
    }
}

/// A request as these servers look at it.
struct Asked<'a> {
    method: &'a str,
    path: &'a str,
    query: HashMap<String, String>,
    form: HashMap<String, String>,
    cookies: HashMap<String, String>,
}

impl<'a> Asked<'a> {
    fn of(request: &'a Message) -> Self {
        let mut words = request.head.split(' ');
        let (method, target) = (words.next().expect("a method"), words.next().expect("a target"));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let lines = request.head.lines().filter_map(|line| line.split_once(": "));
        let cookies = lines.filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let cookies = cookies.flat_map(|(_, value)| value.split("; "));
        let cookies = cookies.filter_map(|pair| pair.split_once('='));
        let body = String::from_utf8_lossy(&request.body);
        Self {
            method,
            path,
            query: pairs(query),
            form: pairs(&body),
            cookies: cookies.map(|(name, value)| (name.into(), value.into())).collect(),
        }
    }

    fn in_query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    fn in_form(&self, name: &str) -> &str {
        self.form.get(name).map_or("", String::as_str)
    }

    fn cookie(&self, name: &str) -> &str {
        self.cookies.get(name).map_or("", String::as_str)
    }
}

fn pairs(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    plumb_wire::percent::form_decoded_lossy(text)
}

fn encoded(text: &str) -> String {
    plumb_wire::percent::form_encoded(text)
}

fn to(status: u16, location: &str, lines: &str) -> Reply {
    Reply::answer(status, &format!("Location: {location}\r\n{lines}"), "")
}

fn refused(why: &str) -> Reply {
    Reply::answer(400, "", why)
}

fn application(book: &mut Book, request: &Message) -> Reply {
    let asked = Asked::of(request);
    let [app, idp] = book.urls();
    if asked.cookies.contains_key("provider") {
        return refused("a cookie of the provider");
    }
    let knows = book.sessions.iter().any(|session| session == asked.cookie("session"));
    match (asked.method, asked.path) {
        ("GET", "/oidc/home" | "/saml/home") if knows => Reply::page("Hello"),
        ("GET", "/oidc/home") => {
            let (state, verifier) = (book.draw("state"), book.draw("verifier"));
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
            book.verifiers.insert(state.clone(), verifier);
            let back = encoded(&format!("{app}/oidc/callback"));
            let target = format!(
                "{idp}/authorize?response_type=code&client_id=app&redirect_uri={back}&state={state}\
                 &code_challenge={challenge}&code_challenge_method=S256"
            );
            to(302, &target, &format!("Set-Cookie: state={state}; Path=/oidc; HttpOnly\r\n"))
        }
        ("GET", "/oidc/callback") => {
            let state = asked.in_query("state").to_owned();
            let challenge = book.codes.remove(asked.in_query("code"));
            let verifier = book.verifiers.remove(&state);
            let Some((challenge, verifier)) = challenge.zip(verifier) else {
                return refused("a code or a state that nobody gave");
            };
            let answers = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
            if state != asked.cookie("state") || challenge != answers {
                return refused("another browser, or another challenge");
            }
            let_in(book, "home")
        }
        ("GET", "/saml/home") => {
            let asks = encoded(&STANDARD.encode("<AuthnRequest/>"));
            to(302, &format!("{idp}/sso?SAMLRequest={asks}&RelayState=home"), "")
        }
        ("POST", "/saml/acs") => {
            let assertion = STANDARD.decode(asked.in_form("SAMLResponse")).unwrap_or_default();
            if assertion != ASSERTION || asked.in_form("RelayState") != "a&b\"c" {
                return refused("an assertion of somebody else");
            }
            let_in(book, "/saml/home")
        }
        _ => Reply::answer(404, "", "no"),
    }
}

/// Its Base64 holds a `+`, which a form must not lose.
const ASSERTION: &[u8] = b"<Response>\xfb\xef\xbe</Response>";

fn let_in(book: &mut Book, home: &str) -> Reply {
    let session = book.draw("session");
    book.sessions.push(session.clone());
    to(303, home, &format!("Set-Cookie: session={session}; Path=/; HttpOnly\r\n"))
}

fn provider(book: &mut Book, request: &Message) -> Reply {
    let asked = Asked::of(request);
    let [app, _] = book.urls();
    if asked.cookies.keys().any(|name| name != "provider") {
        return refused("a cookie of the application");
    }
    let body_is_form = request.head.contains("Content-Type: application/x-www-form-urlencoded");
    match (asked.method, asked.path) {
        ("GET", "/authorize") if asked.in_query("code_challenge_method") == "S256" => {
            let at = format!(
                "/login/form?next=code&state={}&challenge={}",
                asked.in_query("state"),
                asked.in_query("code_challenge")
            );
            to(302, &at, "Set-Cookie: provider=1; Path=/\r\n")
        }
        ("GET", "/sso") if !asked.in_query("SAMLRequest").is_empty() => {
            to(302, "/login/form?next=saml&state=", "Set-Cookie: provider=1; Path=/\r\n")
        }
        ("GET", "/login/form") => form(&asked),
        ("POST", "/login/check") => {
            let known = asked.in_form("user") == USER && asked.in_form("password") == PASSWORD;
            let sound = asked.in_form("csrf") == "c&'1" && asked.cookie("provider") == "1";
            if !body_is_form || !sound {
                return refused("a form that nobody was shown");
            }
            if !known {
                return form(&asked); // as real ones do: 200, and the form again
            }
            match asked.in_query("next") {
                "code" => {
                    let code = book.draw("code");
                    book.codes.insert(code.clone(), asked.in_query("challenge").to_owned());
                    let state = asked.in_query("state");
                    to(302, &format!("{app}/oidc/callback?code={code}&state={state}"), "")
                }
                _ => Reply::page(&format!(
                    "<html><body onload=\"document.forms[0].submit()\"><form method=\"post\" \
                     action=\"{app}/saml/acs\"><input type=\"hidden\" name=\"SAMLResponse\" \
                     value=\"{}\"><input type=\"hidden\" name=\"RelayState\" \
                     value=\"a&amp;b&quot;c\"></form></body></html>",
                    STANDARD.encode(ASSERTION).replace('+', "&#x2b;")
                )),
            }
        }
        _ => Reply::answer(404, "", "no"),
    }
}

fn form(asked: &Asked<'_>) -> Reply {
    let query = ["next", "state", "challenge"]
        .map(|name| format!("{name}={}", encoded(asked.in_query(name))));
    Reply::page(&format!(
        "<html><form method=\"post\" action=\"check?{}\"><input type=\"hidden\" name=\"csrf\" \
         value=\"c&amp;&#39;1\"><input name=\"user\"><input type=\"password\" name=\"password\">\
         </form><br></html>",
        query.join("&amp;")
    ))
}
