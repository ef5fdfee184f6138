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
