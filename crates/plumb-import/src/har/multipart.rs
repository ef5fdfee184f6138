//! Forms of several parts, as browsers write them into recordings.

/// A form of several parts, none of them a file: names and values that are written as they are.
///
/// # Source
/// RFC 7578; how a name is written in quotation marks: the HTML standard, "multipart/form-data".
pub(super) fn multipart<'p>(
    boundary: &str,
    fields: impl Iterator<Item = (&'p str, &'p str)>,
) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        text += &format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
    }
    text + &format!("--{boundary}--\r\n")
}

/// True when a part of the form `text` is a file of which nothing but its name was kept, as
/// browsers write recordings.
pub(super) fn has_lost_file(text: &str) -> bool {
    let parts = text.split("Content-Disposition:").skip(1);
    parts.filter(|part| part.contains("filename=\"") && !part.contains("filename=\"\"")).any(
        |part| {
            let content = part.split_once("\r\n\r\n").or_else(|| part.split_once("\n\n"));
            content.is_none_or(|(_, content)| {
                content.trim_start().starts_with("--") || content.trim().is_empty()
            })
        },
    )
}

/// The boundary that the type `mime` names.
pub(super) fn boundary(mime: &str) -> Option<&str> {
    let parameters = mime.split(';').skip(1).filter_map(|part| part.trim().split_once('='));
    let mut named = parameters.filter(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    named.next().map(|(_, value)| value.trim_matches('"')).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use plumb_draft::Secrets;
    use plumb_draft::body::masked;

    use super::*;

    #[test]
    fn a_form_of_several_parts_is_made_of_its_fields() {
        let text = multipart("B", [("a\"b", "1"), ("pwd", "2")].into_iter());
        assert_eq!(
            text,
            "--B\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\n1\r\n--B\r\n\
             Content-Disposition: form-data; name=\"pwd\"\r\n\r\n2\r\n--B--\r\n"
        );
        let mime = "multipart/form-data; charset=utf-8; Boundary=\"B\"";
        assert_eq!(boundary(mime), Some("B"));
        assert_eq!(boundary("multipart/form-data"), None);
        assert_eq!(
            masked(mime, &text, &mut Secrets::default()),
            text.replace("\r\n2\r\n", "\r\n${pwd}\r\n")
        );
    }
}
