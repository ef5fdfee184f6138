//! What batches and the sets of changes in them have in common: boundaries and names of their parts.

/// Characters of a name that a client gives to a request, to find its answer by.
const NAME_MAX: usize = 200;

/// A name that can be repeated in an answer.
pub(super) fn printable(name: &str) -> Option<String> {
    let well = name.len() <= NAME_MAX && name.bytes().all(|byte| (b' '..0x7f).contains(&byte));
    (well && !name.is_empty()).then(|| name.to_owned())
}

/// The boundary that a header `Content-Type` names.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/mixed") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    })?;
    (!boundary.is_empty() && boundary.len() <= 70).then_some(boundary)
}
