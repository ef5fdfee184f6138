//! A text of a plan, taken apart: what is written, variables, and calls of functions.

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    Text(&'a str),
    /// `${name}`.
    Variable(&'a str),
    /// `${__name(arguments)}`, with everything between the braces.
    Function(Function<'a>),
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    /// Without the spaces around them.
    pub(super) arguments: Vec<String>,
    /// As it is written, braces and all.
    pub(super) whole: &'a str,
}

/// What `text` consists of. An opening brace without its end is text.
pub(super) fn parts(text: &str) -> Vec<Segment<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let Some(inner) = inside(&rest[at + 2..]) else { break };
        if at > 0 {
            parts.push(Segment::Text(&rest[..at]));
        }
        let end = at + 2 + inner.len() + 1;
        parts.push(match inner.strip_prefix("__") {
            Some(_) => Segment::Function(function(inner, &rest[at..end])),
            None => Segment::Variable(inner),
        });
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        parts.push(Segment::Text(rest));
    }
    parts
}

/// What stands between the braces that were opened just before `text`.
fn inside(text: &str) -> Option<&str> {
    let mut open = 0_usize;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => open += 1,
            '}' if open == 0 => return Some(&text[..at]),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

fn function<'a>(inner: &'a str, whole: &'a str) -> Function<'a> {
    let (name, rest) = inner.split_once('(').unwrap_or((inner, ""));
    let rest = rest.trim_end().strip_suffix(')').unwrap_or(rest);
    let arguments = if rest.is_empty() { Vec::new() } else { arguments(rest) };
    Function { name: name.trim(), arguments, whole }
}

/// Arguments between commas; a comma in braces or behind a backslash belongs to its argument.
fn arguments(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut open = 0_usize;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            ',' if !escaped && open == 0 => {
                all.push(String::new());
                continue;
            }
            '{' if !escaped => open += 1,
            '}' if !escaped => open = open.saturating_sub(1),
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            // only these characters lose their backslash
            if escaped && !matches!(c, ',' | '\\' | '$') {
                last.push('\\');
            }
            last.push(c);
        }
        escaped = false;
    }
    all.into_iter().map(|argument| argument.trim().to_owned()).collect()
}
