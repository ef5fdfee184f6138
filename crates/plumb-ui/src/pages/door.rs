//! The page of whoever has not proven yet that they may ask.

use maud::{Markup, html};
use plumb_page::page::bare;

use super::frame::head;

/// Asks for a password, or takes the token from the address.
pub(crate) fn door(password: bool, trouble: Option<&str>) -> String {
    let script = (!password).then_some("/door.js");
    let body = html! {
        body {
            main id="door" {
                h1 { "plumb" }
                @if let Some(trouble) = trouble {
                    p class="validity bad" role="alert" { (trouble) }
                }
                (ask(password))
            }
        }
    };
    bare(&head("plumb", script), &body)
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
