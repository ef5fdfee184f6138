//! What stands in a query or a form.

use hyper::StatusCode;
use plumb_wire::percent::form_decoded;
use plumb_wire::secret;

use crate::answer::Failure;
use plumb_transaction::{Mode, Transaction};

/// Names that hold one of these, in small letters and without signs, say who logs on.
const USER: [&str; 3] = ["loginname", "username", "sapuser"];

/// The most parameters of a call. Each takes many times the room that it has in a request, and no
/// transaction has so many.
pub(super) const PARAMETERS_MAX: usize = 1_000;

/// Names and values, in the order in which they were sent.
pub(super) type Pairs = Vec<(String, String)>;

/// Reads what stands behind a question mark.
///
/// # Errors
/// [`Failure`] when it cannot be read, or holds what nobody should write into a URL. The message
/// repeats no value.
pub(super) fn query(text: &str) -> Result<Pairs, Failure> {
    let pairs = form(text)?;
    if let Some((name, _)) = pairs.iter().find(|(name, _)| is_of_log_on(name)) {
        return Err(Failure::bad_request(format!(
            "`{name}` stands in the URL, which logs and proxies keep: send the header \
             Authorization, and change the password if it was a real one"
        )));
    }
    Ok(pairs)
}

/// Reads a form.
///
/// # Errors
/// [`Failure`] when it cannot be read, or has too many parameters.
pub(super) fn form(text: &str) -> Result<Pairs, Failure> {
    let mut pairs = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        has_room(&pairs)?;
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = form_decoded(name).zip(form_decoded(value));
        let Some((name, value)) = decoded else {
            let problem = "a percent sign is not followed by two digits, or makes no UTF-8";
            return Err(Failure::bad_request(format!("the parameters cannot be read: {problem}")));
        };
        pairs.push((name.into_owned(), value.into_owned()));
    }
    Ok(pairs)
}

/// Refuses another parameter beside `pairs` where there are enough.
///
/// # Errors
/// [`Failure`] beside [`PARAMETERS_MAX`].
pub(super) fn has_room(pairs: &Pairs) -> Result<(), Failure> {
    if pairs.len() < PARAMETERS_MAX {
        return Ok(());
    }
    Err(Failure::bad_request(format!("there are more than {PARAMETERS_MAX} parameters")))
}

/// True for a name that belongs to whoever logs on.
pub(super) fn is_of_log_on(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|char| char.to_ascii_lowercase())
        .collect();
    secret::is_of_log_on(name) || USER.iter().any(|part| plain.contains(part))
}

/// Takes the value of `name`, whatever its letters' case, out of `pairs`.
pub(super) fn take(pairs: &mut Pairs, name: &str) -> Option<String> {
    let at = pairs.iter().position(|(of, _)| of.eq_ignore_ascii_case(name))?;
    Some(pairs.remove(at).1)
}

/// Takes the mode out of `pairs`; `None`: as the transaction says.
///
/// # Errors
/// [`Failure`] for a mode that is none.
pub(super) fn take_mode(pairs: &mut Pairs) -> Result<Option<Mode>, Failure> {
    match take(pairs, "mode").as_deref() {
        None => Ok(None),
        Some("sync") => Ok(Some(Mode::Sync)),
        Some("async") => Ok(Some(Mode::Async)),
        Some(other) => {
            Err(Failure::bad_request(format!("mode is `{other}`, expected sync or async")))
        }
    }
}

/// The parameters of `transaction` out of `pairs`, in the order of their names.
///
/// # Errors
/// [`Failure`] for parameters that it has not, that are missing or given twice, and for characters
/// that no document may hold.
pub(super) fn of(transaction: &Transaction, mut pairs: Pairs) -> Result<Pairs, Failure> {
    let name = &transaction.name;
    let known: Vec<(&str, bool)> = transaction.parameters().collect();
    pairs.sort();
    for (number, (given, value)) in pairs.iter().enumerate() {
        if known.iter().all(|(it, _)| it != given) {
            let all: Vec<&str> = known.iter().map(|(it, _)| *it).collect();
            let all = if all.is_empty() { "none".into() } else { all.join(", ") };
            let shown: String = given.chars().take(60).collect();
            let problem = format!("{name} has no parameter `{shown}`; its parameters: {all}");
            return Err(Failure::bad_request(problem));
        }
        if number > 0 && pairs[number - 1].0 == *given {
            return Err(Failure::bad_request(format!("the parameter `{given}` is given twice")));
        }
        if let Some(char) = value.chars().find(|char| is_forbidden(*char)) {
            return Err(Failure::bad_request(format!(
                "the parameter `{given}` holds the character U+{:04X}: leave it out",
                u32::from(char)
            )));
        }
    }
    let missing =
        known.iter().find(|(it, required)| *required && pairs.iter().all(|(of, _)| of != it));
    match missing {
        Some((it, _)) => {
            Err(Failure::new(StatusCode::BAD_REQUEST, format!("{name} needs the parameter `{it}`")))
        }
        None => Ok(pairs),
    }
}

/// True for what no XML document may hold, and no database takes.
pub(super) fn is_forbidden(char: char) -> bool {
    matches!(char, '\u{fffe}' | '\u{ffff}') || char < ' ' && !matches!(char, '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "[parameters]\nplant = \"1\"\nshift = { about = \"early\" }\n\
        [[action]]\nlog = \"${plant}\"\n";

    fn given(text: &str) -> Result<Pairs, String> {
        let transaction = Transaction::parse("t", FILE).unwrap();
        let pairs = query(text).map_err(|it| it.message)?;
        of(&transaction, pairs).map_err(|it| it.message)
    }

    #[test]
    fn parameters_are_those_of_the_transaction() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            given("shift=a+b&plant=%C3%A4").unwrap(),
            [pair("plant", "ä"), pair("shift", "a b")]
        );
        for (text, expected) in [
            ("plant=1", "t needs the parameter `shift`"),
            ("shift=1&line=2", "t has no parameter `line`; its parameters: plant, shift"),
            ("shift=1&shift=2", "given twice"),
            ("shift=%00", "U+0000"),
            ("shift=%zz", "cannot be read"),
        ] {
            let said = given(text).unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn no_more_parameters_are_kept_than_any_call_has() {
        let most = vec!["a"; PARAMETERS_MAX].join("&&");
        assert_eq!(form(&most).unwrap().len(), PARAMETERS_MAX);
        let said = form(&format!("{most}&a")).unwrap_err().message;
        assert_eq!(said, "there are more than 1000 parameters");
    }

    #[test]
    fn what_logs_somebody_on_is_refused_in_a_url_and_not_repeated() {
        for name in ["IllumLoginName", "IllumLoginPassword", "XacuteLoginPassword", "sap-password"]
        {
            let said = given(&format!("shift=1&{name}=hunter2")).unwrap_err();
            assert!(said.contains(name) && !said.contains("hunter2"), "{said}");
        }
        assert!(!is_of_log_on("code") && !is_of_log_on("plant"));
    }

    #[test]
    fn a_mode_is_sync_or_async() {
        let mode = |text: &str| take_mode(&mut query(text).unwrap()).map_err(|it| it.message);
        assert_eq!(mode("mode=async"), Ok(Some(Mode::Async)));
        assert_eq!(mode("plant=1"), Ok(None));
        assert!(mode("mode=later").unwrap_err().contains("expected sync or async"));
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(text: String) {
            let _ = given(&text);
        }
    }
}
