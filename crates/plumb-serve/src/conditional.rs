//! Requests that want an answer only when it is not the one they have.

use hyper::HeaderMap;
use hyper::header::IF_NONE_MATCH;

use crate::negotiation::split;

/// True when `headers` say that the client has what `tag` names: `If-None-Match` is `*`, or lists
/// it. A weak tag is as good as a strong one here.
///
/// # Source
/// RFC 9110, sections 8.8.3.2 and 13.1.2.
#[must_use]
pub fn has_already(headers: &HeaderMap, tag: &str) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| split(line, ',')).map(str::trim);
    tags.any(|listed| listed == "*" || opaque(listed) == opaque(tag))
}

/// A tag without the sign of a weak one.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(lines: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(IF_NONE_MATCH, line.parse().unwrap());
        }
        has_already(&headers, "\"1f\"")
    }

    #[test]
    fn a_tag_is_known_alone_weak_in_a_list_or_by_a_star() {
        for lines in [
            &["\"1f\""][..],
            &["W/\"1f\""],
            &["\"a,b\", W/\"1f\""],
            &["\"a\"", "\"b\" ,\"1f\""],
            &["*"],
        ] {
            assert!(has(lines), "{lines:?}");
        }
        for lines in [&[][..], &["\"2f\""], &["1f"], &["\"a, \\\"1f\""], &["w/\"1f\""], &["\"\""]] {
            assert!(!has(lines), "{lines:?}");
        }
    }
}
