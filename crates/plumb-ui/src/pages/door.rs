//! The page of whoever has not proven yet that they may ask.

use maud::{DOCTYPE, Markup, html};

/// Asks for a password, or takes the token from the address.
pub(crate) fn door(password: bool, trouble: Option<&str>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "plumb" }
                link rel="stylesheet" href="/ui.css";
                link rel="icon" href="data:,";
                @if !password { script src="/door.js" defer {} }
            }
            body {
                main id="door" {
                    h1 { "plumb" }
                    @if let Some(trouble) = trouble {
                        p class="validity bad" role="alert" { (trouble) }
                    }
                    (ask(password))
                }
            }
        }
    };
    page.into_string()
}

fn ask(password: bool) -> Markup {
    html! {
        @if password {
            form method="post" action="/session" class="fields" {
                label { "Password " input type="password" name="secret" autofocus required; }
                button { "Open" }
            }
        } @else {
            p {
                "Open the whole address that " code { "plumb ui" } " has printed, with everything \
                 behind the " code { "#" } "."
            }
        }
    }
}
