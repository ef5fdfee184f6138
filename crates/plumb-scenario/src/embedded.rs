//! What a page of HTML embeds: the addresses that a browser asks for when it shows the page.

use crate::html_text::decoded;

/// Elements whose attribute names something that is embedded.
///
/// # Source
/// HTML, sections 4.2, 4.8 and 4.12, and what JMeter's parser takes.
const EMBEDDING: [(&str, &str); 9] = [
    ("img", "src"),
    ("script", "src"),
    ("iframe", "src"),
    ("frame", "src"),
    ("embed", "src"),
    ("bgsound", "src"),
    ("input", "src"),
    ("link", "href"),
    ("object", "data"),
];
/// What a `link` stands for when what it names is asked for to show the page.
const LINKS: [&str; 3] = ["stylesheet", "icon", "shortcut icon"];
/// Elements whose content is no markup up to their own end.
const RAW: [&str; 4] = ["script", "style", "textarea", "title"];

/// The addresses of a page, as they are written in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// What the others are relative to, where the page says that (`base`).
    pub base: Option<String>,
    /// What it embeds, in its order; the same may stand there twice.
    pub links: Vec<String>,
}

/// What `page` embeds, at most `most`. It may be no HTML at all: then nothing is found.
///
/// # Source
/// HTML, section 13.2.5, as far as tags, their attributes, comments and raw text go.
#[must_use]
pub fn embedded(page: &[u8], most: usize) -> Embedded {
    let page = String::from_utf8_lossy(page);
    let mut found = Embedded::default();
    let mut rest = &*page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if found.links.len() >= most {
            break;
        }
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        if !rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
            continue; // an end tag, a declaration, or no tag
        }
        let (tag, behind) = Tag::read(rest);
        rest = behind;
        if tag.name == "base" && found.base.is_none() {
            found.base = tag.value("href").map(str::to_owned);
        }
        found.links.extend(tag.embeds().map(str::to_owned));
        if RAW.contains(&&*tag.name) {
            rest = behind_raw(rest, &tag.name);
        }
    }
    found.links.truncate(most);
    found
}

/// A tag that begins an element.
struct Tag {
    /// In small letters.
    name: String,
    /// Names, in small letters, and values.
    attributes: Vec<(String, String)>,
}

impl Tag {
    /// The tag whose name `text` begins with, and what is behind it.
    fn read(text: &str) -> (Self, &str) {
        let end = text.find(is_no_name).unwrap_or(text.len());
        let name = text[..end].to_ascii_lowercase();
        let (mut attributes, mut rest) = (Vec::new(), &text[end..]);
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            if rest.is_empty() {
                break;
            }
            if let Some(behind) = rest.strip_prefix('>') {
                rest = behind;
                break;
            }
            let first = rest.chars().next().map_or(0, char::len_utf8); // an `=` may begin a name
            let end = rest[first..].find(|c| is_no_name(c) || c == '=');
            let (name, behind) = rest.split_at(end.map_or(rest.len(), |end| first + end));
            let value = behind.trim_start().strip_prefix('=');
            let (value, behind) = value.map_or(("", behind), value_of);
            attributes.push((name.to_ascii_lowercase(), decoded(value.trim()).into_owned()));
            rest = behind;
        }
        (Self { name, attributes }, rest)
    }

    /// The value of an attribute, of two the first; none where it is empty.
    fn value(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(known, _)| known == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// What it embeds.
    fn embeds(&self) -> impl Iterator<Item = &str> {
        let wanted = match &*self.name {
            "link" => self.value("rel").is_some_and(|rel| {
                let named = rel.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
                LINKS.iter().any(|known| named.eq_ignore_ascii_case(known))
            }),
            "input" => self.value("type").is_some_and(|kind| kind.eq_ignore_ascii_case("image")),
            _ => true,
        };
        let known = EMBEDDING.iter().find(|(element, _)| *element == self.name);
        let named = known.filter(|_| wanted).and_then(|(_, attribute)| self.value(attribute));
        let styled = self.value("style").into_iter().flat_map(urls_of_style);
        named.into_iter().chain(self.value("background")).chain(styled)
    }
}

fn is_no_name(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, '/' | '>')
}

/// The value that stands in `text` behind the `=`, and what is behind it.
fn value_of(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &text[1..];
            inner.split_once(quote).unwrap_or((inner, ""))
        }
        _ => {
            let end = text.find(|c: char| c.is_ascii_whitespace() || c == '>');
            text.split_at(end.unwrap_or(text.len()))
        }
    }
}

/// What `url(...)` names in a style.
fn urls_of_style(style: &str) -> impl Iterator<Item = &str> {
    style.split("url(").skip(1).filter_map(|rest| {
        let (inner, _) = rest.split_once(')')?;
        let plain = inner.trim().trim_matches(['"', '\'']).trim();
        Some(plain).filter(|plain| !plain.is_empty())
    })
}

/// What is behind the end tag of `name`.
fn behind_raw<'t>(text: &'t str, name: &str) -> &'t str {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let behind = &text[from + at + 2..];
        if behind.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return behind;
        }
        from += at + 2;
    }
    ""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn links(page: &str) -> Vec<String> {
        embedded(page.as_bytes(), 100).links
    }

    #[test]
    fn a_page_embeds_what_a_browser_asks_for_to_show_it() {
        let page = r#"<!DOCTYPE html><HTML><head>
            <LINK REL="StyleSheet" HREF='/a.css'><link rel=icon href=/i.png>
            <link rel="shortcut  icon" href="/s.ico"><link rel="next" href="/no">
            <script src="/a.js?x=1&amp;y=2" async></script><script>"<img src='/no'>"</script></head>
            <body background=/b.png><img alt="a > b" src = "/1.png"/><img src=/2.png>
            <input type=IMAGE src=/3.png><input type=text src=/no><iframe src="/f"></iframe>
            <object data="/o.svg"></object><embed src="/e"><!-- <img src="/no"> --><a href="/no">a</a>
            <p style="background: url('/p.png'), url(/q.png)">1 < 2</p><img src=""><img>"#;
        let expected = [
            "/a.css",
            "/i.png",
            "/s.ico",
            "/a.js?x=1&y=2",
            "/b.png",
            "/1.png",
            "/2.png",
            "/3.png",
            "/f",
            "/o.svg",
            "/e",
            "/p.png",
            "/q.png",
        ];
        assert_eq!(links(page), expected);
    }

    #[test]
    fn the_base_of_a_page_is_told_and_so_many_are_found() {
        let page = b"<base href=/x/><base href=/y/><img src=1><img src=2><img src=3>";
        let found = embedded(page, 2);
        assert_eq!(found.base.as_deref(), Some("/x/"));
        assert_eq!(found.links, ["1", "2"]);
    }

    #[test]
    fn what_is_cut_or_no_markup_embeds_what_is_there() {
        for (page, expected) in [
            ("", &[][..]),
            ("<", &[]),
            ("<img src=\"/a", &["/a"]),
            ("<img src=/a", &["/a"]),
            ("<img src", &[]),
            ("<img = src=/a>", &["/a"]),
            ("<script><img src=/a>", &[]),
            ("<!-- <img src=/a>", &[]),
            ("{\"a\": \"<b>\"}", &[]),
            ("<imgs src=/a><img\nsrc=/b>", &["/b"]),
        ] {
            assert_eq!(links(page), expected, "{page}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(page in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = embedded(&page, 10);
        }

        #[test]
        fn any_markup_is_read(page in "(<|/|>|=|\"|'|!--|-->|img|script|style|src|url\\(|\\)| |[a-z]|\\PC){0,40}") {
            prop_assert!(embedded(page.as_bytes(), 3).links.len() <= 3);
        }
    }
}
