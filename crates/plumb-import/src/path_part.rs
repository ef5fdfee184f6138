//! Parts of paths that are other ones each time: the number or the key of a thing.

/// A part of a path; `*` stands for what looks like the number or the key of a thing.
pub(crate) fn shape(text: &str) -> String {
    // keys of OData: Flights('LH') and Flights(carrid='LH',connid='0400')
    if let Some((set, _)) = text.split_once('(').filter(|_| text.ends_with(')')) {
        return format!("{set}(*)");
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = text.len() >= 16 && text.bytes().all(|it| it.is_ascii_hexdigit() || it == b'-');
    let is_version = text.strip_prefix('v').is_some_and(|it| it.len() <= 2);
    let is_key = digits > 0 && !is_version && (digits * 2 >= text.len() || text.len() >= 24);
    if is_hex || is_key || text.len() > 64 { "*".into() } else { text.into() }
}

/// A part of a path that may name what was just made, with `*` for what may be another one the next time.
/// Words in front of that stay. A word with one digit (`step2`, `v1`) is a name: too narrow a pattern fails
/// at once, too wide a one lets wrong pages pass.
pub(crate) fn opened(text: &str) -> String {
    let (stem, ending) = text.split_at(text.find('.').unwrap_or(text.len()));
    // digits of encoded letters are none
    let digit = stem.find(|it: char| it.is_ascii_digit()).filter(|_| !text.contains('%'));
    let Some(digit) = digit else { return text.into() };
    let before = &stem[..digit];
    if stem.len() == digit + 1 && before.bytes().all(|it| it.is_ascii_alphabetic()) {
        return text.into();
    }
    let words = &before[..before.rfind(['-', '_']).map_or(0, |at| at + 1)];
    // random keys have short ones, and capitals
    let is_words = words.len() > 3 && !words.bytes().any(|it| it.is_ascii_uppercase());
    format!("{}*{ending}", if is_words { words } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_and_what_was_made_is_open() {
        for name in
            ["home", "step2", "v1", "Default2.aspx", "WorkItemList", "jquery.v3x4", "%C3%BCber", ""]
        {
            assert_eq!(opened(name), name);
        }
        for key in
            ["V1StGXR8_Z5jdHi6B-myT", "Xk3fQyZpLmNoBcDeFgHi", "dQw4w9WgXcQ", "ab-12cd", "Ab-c4d5"]
        {
            assert_eq!(opened(key), "*");
        }
        for (text, expected) in [
            ("order-4711", "order-*"),
            ("invoice-2041.pdf", "invoice-*.pdf"),
            ("my-post-2", "my-post-*"),
            ("user_ab12cd", "user_*"),
        ] {
            assert_eq!(opened(text), expected);
        }
    }
}
