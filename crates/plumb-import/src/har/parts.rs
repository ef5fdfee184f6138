//! What a page loads at the same time: the resources that it embeds, and what its scripts ask for
//! beside them.

use super::read::Seen;

/// Kinds of resources that a document embeds, as Chromium calls them.
const EMBEDDED: [&str; 7] =
    ["stylesheet", "script", "image", "font", "media", "texttrack", "manifest"];

/// Endings of such files, for answers without a type.
const STATIC_ENDINGS: [&str; 16] = [
    ".css", ".js", ".mjs", ".map", ".png", ".gif", ".jpg", ".jpeg", ".svg", ".webp", ".avif",
    ".ico", ".woff", ".woff2", ".ttf", ".otf",
];
/// Kinds of content that a browser's cache usually holds.
const STATIC_TYPES: [&str; 8] = [
    "image/",
    "font/",
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/font",
    "video/",
];

/// How many of `seen`, from its first on, are asked for at the same time; one where the first is asked
/// for alone. They stand in the order of their beginnings.
///
/// Resources that are embedded do not depend on each other. Other requests do unless they were under
/// way at the same time.
pub(super) fn at_once(seen: &[Seen<'_>]) -> usize {
    let Some(first) = seen.first().filter(|first| !is_document(first)) else { return 1 };
    let mut all = Together::of(first);
    let mut count = 1;
    for pair in seen.windows(2) {
        let (before, next) = (&pair[0], &pair[1]);
        let same_page = next.entry.pageref == first.entry.pageref;
        if before.think_ms > 0 || !same_page || is_document(next) || !all.takes(next) {
            break;
        }
        count += 1;
    }
    count
}

/// Requests that were made together so far.
struct Together {
    /// All of them are embedded.
    embedded: bool,
    /// The end of the last.
    ends: i128,
    /// The first end of one that is not embedded.
    answered: Option<i128>,
}

impl Together {
    fn of(first: &Seen<'_>) -> Self {
        let embedded = is_embedded(first);
        let answered = (!embedded).then_some(first.end_ns);
        Self { embedded, ends: first.end_ns, answered }
    }

    /// Adds `next` where it belongs to them.
    fn takes(&mut self, next: &Seen<'_>) -> bool {
        let embedded = is_embedded(next);
        let beside = next.start_ns < self.ends;
        let takes = match embedded {
            true => beside || self.embedded,
            false => beside && self.answered.is_none_or(|end| next.start_ns < end),
        };
        if takes {
            self.embedded &= embedded;
            self.ends = self.ends.max(next.end_ns);
            if !embedded {
                let end = self.answered.map_or(next.end_ns, |end| end.min(next.end_ns));
                self.answered = Some(end);
            }
        }
        takes
    }
}

/// True of what a person sees as a page: others are asked for when it has come.
pub(super) fn is_document(one: &Seen<'_>) -> bool {
    match kind(one) {
        Some(kind) => kind == "document",
        None => one.last().response.content.mime_type.to_ascii_lowercase().contains("html"),
    }
}

fn is_embedded(one: &Seen<'_>) -> bool {
    one.entry.request.method == "GET"
        && match kind(one) {
            Some(kind) => EMBEDDED.contains(&kind),
            None => is_static(one),
        }
}

fn kind<'a>(one: &Seen<'a>) -> Option<&'a str> {
    one.entry.resource_type.as_deref()
}

/// True of what a browser's cache usually holds.
pub(super) fn is_static(one: &Seen<'_>) -> bool {
    let kind = one.last().response.content.mime_type.to_ascii_lowercase();
    let path = one.url.target().split('?').next().unwrap_or_default().to_ascii_lowercase();
    let named = || STATIC_ENDINGS.iter().any(|ending| path.ends_with(ending));
    STATIC_TYPES.iter().any(|known| kind.starts_with(known))
        || (!kind.contains("html") && !kind.contains("json") && named())
}
