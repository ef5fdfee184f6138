//! What stands around every page.

use maud::{Markup, PreEscaped, html};
use plumb_page::page::{STYLE, bare};

/// The styles of pages and reports, and ours behind them.
pub(crate) const OWN_STYLE: &str = include_str!("../assets/ui.css");
pub(crate) const SCRIPT: &str = include_str!("../assets/ui.js");
pub(crate) const DOOR_SCRIPT: &str = include_str!("../assets/door.js");
/// The bar above a report, whose own page has no other styles of ours.
const BAR_STYLE: &str = include_str!("../assets/bar.css");

/// Where the pages are.
const PLACES: [(&str, &str); 4] =
    [("/", "Runs"), ("/trends", "Trends"), ("/baselines", "Baselines"), ("/work", "Measure")];

/// All styles of our pages.
pub(crate) fn style() -> String {
    [STYLE, BAR_STYLE, OWN_STYLE].concat()
}

/// A whole page of ours.
pub(crate) fn document(title: &str, content: &Markup) -> String {
    let body = html! {
        body {
            a class="skip" href="#main" { "To the content" }
            (navigation(title, &html! {}))
            main id="main" { h1 { (title) } (content) }
        }
    };
    bare(&head(&format!("{title} - plumb"), Some("/ui.js")), &body)
}

/// The title of a page of ours, and what it loads: our styles, and a `script` where it has one.
pub(crate) fn head(title: &str, script: Option<&str>) -> Markup {
    html! {
        title { (title) }
        link rel="stylesheet" href="/ui.css";
        link rel="icon" href="data:,";
        @if let Some(script) = script { script src=(script) defer {} }
    }
}

/// The bar with the places, and with `more` about what is shown.
pub(crate) fn navigation(title: &str, more: &Markup) -> Markup {
    html! {
        nav class="bar" aria-label="plumb" {
            strong { "plumb" }
            @for (place, name) in PLACES {
                a href=(place) aria-current=[(name == title).then_some("page")] { (name) }
            }
            (more)
        }
    }
}

/// Why there is nothing to see.
pub(crate) fn refusal(words: &str) -> Markup {
    html! {
        div class="validity bad" role="alert" { p { (words) } }
        p { a href="/" { "To the list of runs" } }
    }
}

/// The page of a report, with `bar` above it.
pub(crate) fn with_bar(page: &str, bar: &Markup) -> String {
    let style = html! { style { (PreEscaped(BAR_STYLE)) } }.into_string();
    // what a record says is escaped, so that the first of each is the document's own
    let page = page.replacen("</head>", &format!("{style}</head>"), 1);
    let Some(body) = page.find("<body") else { return page };
    let Some(end) = page[body..].find('>').map(|end| body + end + 1) else { return page };
    format!("{}{}{}", &page[..end], bar.clone().into_string(), &page[end..])
}

/// What the page of a report says that it may load and run; quotes of its attribute are no part of
/// a policy.
pub(crate) fn policy_of(page: &str) -> Option<&str> {
    let head = &page[..page.find("</head>")?];
    let (_, rest) = head.split_once("http-equiv=\"Content-Security-Policy\" content=\"")?;
    rest.split_once('"').map(|(policy, _)| policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_keeps_its_policy_and_gets_a_bar() {
        let page = plumb_page::page::document("a</head><body>", "good", &html! { p { "x" } });
        let policy = policy_of(&page).unwrap();
        let own = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-";
        assert!(policy.starts_with(own) && policy.ends_with("='"), "{policy}");
        let with = with_bar(&page, &navigation("", &html! { "<more>" }));
        let (head, body) = with.split_once("<body class=\"good\">").unwrap();
        assert!(head.contains(".bar") && body.starts_with("<nav class=\"bar\""), "{with}");
        assert!(body.contains("&lt;more&gt;"));
        assert_eq!(policy_of("no page"), None);
    }
}
