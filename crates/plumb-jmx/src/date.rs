//! Formats of dates of Java as `strftime` writes them.

/// The format of `SimpleDateFormat` as one of `strftime`; `None` where a letter has no equivalent.
///
/// # Source
/// Java SE, `java.text.SimpleDateFormat`; POSIX, `strftime`.
pub(super) fn strftime(format: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        if first == '\'' {
            let (text, behind) = quoted(&rest[1..])?;
            out += &text.replace('%', "%%");
            rest = behind;
        } else if first.is_ascii_alphabetic() {
            let count = rest.chars().take_while(|c| *c == first).count();
            out += field(first, count)?;
            rest = &rest[count..];
        } else {
            if first == '%' {
                out.push('%');
            }
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(out)
}

/// The text behind a quote, and what follows it; two quotes are one that belongs to the text.
fn quoted(text: &str) -> Option<(String, &str)> {
    if let Some(behind) = text.strip_prefix('\'') {
        return Some(("'".into(), behind));
    }
    let mut out = String::new();
    let mut rest = text;
    loop {
        let (before, behind) = rest.split_once('\'')?;
        out += before;
        match behind.strip_prefix('\'') {
            Some(behind) => {
                out.push('\'');
                rest = behind;
            }
            None => return Some((out, behind)),
        }
    }
}

fn field(letter: char, count: usize) -> Option<&'static str> {
    Some(match (letter, count) {
        ('y', 2) => "%y",
        ('y' | 'u', _) => "%Y",
        ('M', 1) => "%-m",
        ('M', 2) => "%m",
        ('M', 3) => "%b",
        ('M', _) => "%B",
        ('d', 1) => "%-d",
        ('d', 2) => "%d",
        ('D', 3) => "%j",
        ('H', 1) => "%-H",
        ('H', 2) => "%H",
        ('h', 1) => "%-I",
        ('h', 2) => "%I",
        ('m', 1) => "%-M",
        ('m', 2) => "%M",
        ('s', 1) => "%-S",
        ('s', 2) => "%S",
        ('S', 3) => "%3f",
        ('E', 1..=3) => "%a",
        ('E', _) => "%A",
        ('a', _) => "%p",
        ('Z', _) | ('X', 2) => "%z",
        ('X', 3) => "%:z",
        ('z', _) => "%Z",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_and_texts_are_carried_over() {
        for (format, expected) in [
            ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", Some("%Y-%m-%dT%H:%M:%S.%3f%:z")),
            ("d.M.yy, EEEE h 'o''clock' a", Some("%-d.%-m.%y, %A %-I o'clock %p")),
            ("MMM''yy 100%", Some("%b'%y 100%%")),
            ("ww", None),
            ("SS", None),
            ("'open", None),
        ] {
            assert_eq!(strftime(format).as_deref(), expected, "{format}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_format_or_none(text in "(\\PC|'|%|[yMdHmsSEaZX]){0,20}") {
            let _ = strftime(&text);
        }
    }
}
