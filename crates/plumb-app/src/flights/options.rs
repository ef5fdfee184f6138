//! The query of a URL.

use plumb_wire::percent::form_decoded;

use super::filter::{Expression, Order};
use super::format::Format;
use super::model::EntityType;
use crate::answer::Failure;

/// What the query asks for, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) format: Option<Format>,
    pub(crate) top: Option<usize>,
    pub(crate) skip: usize,
    /// Places of the properties that are wanted; all, if none are named.
    pub(crate) select: Option<Vec<usize>>,
    pub(crate) filter: Option<Expression>,
    pub(crate) order: Vec<Order>,
    /// True when the navigation is to be followed.
    pub(crate) expand: bool,
    /// True when all that were found are to be counted.
    pub(crate) count: bool,
}

impl Options {
    /// The options in `query`, for entities of `kind`.
    ///
    /// # Errors
    /// [`Failure`] names the option.
    pub(crate) fn parse(kind: &EntityType, query: &str) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut seen: Vec<String> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let wrong = || Failure::bad_request(format!("`{pair}` is badly encoded"));
            let name = form_decoded(name).ok_or_else(wrong)?;
            if !name.starts_with('$') {
                continue; // options of others: sap-client, sap-statistics
            }
            let value = form_decoded(value).ok_or_else(wrong)?;
            let refused =
                |problem: String| Failure::bad_request(format!("{name}={value}: {problem}"));
            if seen.iter().any(|seen| *seen == *name) {
                return Err(refused(format!("{name} is given twice")));
            }
            options.read(kind, &name, value.trim()).map_err(refused)?;
            seen.push(name.into_owned());
        }
        Ok(options)
    }

    fn read(&mut self, kind: &EntityType, name: &str, value: &str) -> Result<(), String> {
        match name {
            "$format" => self.format = Some(Format::named(value)?),
            "$top" => self.top = Some(number(value)?),
            "$skip" => self.skip = number(value)?,
            "$filter" => self.filter = Some(Expression::parse(kind, value)?),
            "$orderby" => self.order = Order::parse(kind, value)?,
            "$select" => self.select = select(kind, value)?,
            "$expand" => self.expand = expand(kind, value)?,
            "$inlinecount" => {
                self.count = match value {
                    "allpages" => true,
                    "none" => false,
                    _ => return Err("write allpages or none".into()),
                }
            }
            _ => return Err("this option is not known here".into()),
        }
        Ok(())
    }

    /// True when the property at `place` is wanted.
    pub(crate) fn selects(&self, place: usize) -> bool {
        self.select.as_ref().is_none_or(|select| select.contains(&place))
    }
}

fn number(value: &str) -> Result<usize, String> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { value.parse().ok() } else { None };
    number.ok_or_else(|| "write a whole number that is not negative".into())
}

fn select(kind: &EntityType, value: &str) -> Result<Option<Vec<usize>>, String> {
    let mut places = Vec::new();
    for name in value.split(',').map(str::trim) {
        if name == "*" {
            return Ok(None);
        }
        if name == kind.navigation.name || name.starts_with(&format!("{}/", kind.navigation.name)) {
            continue; // what is expanded comes as a whole
        }
        let place = kind.place(name);
        places.push(place.ok_or_else(|| format!("`{name}` is no property of {}", kind.name))?);
    }
    Ok(Some(places))
}

fn expand(kind: &EntityType, value: &str) -> Result<bool, String> {
    for name in value.split(',').map(str::trim) {
        if name != kind.navigation.name {
            let known = kind.navigation.name;
            return Err(format!("`{name}` leads nowhere from {}: there is {known}", kind.name));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::model::FLIGHT;
    use super::*;

    fn problem(query: &str) -> String {
        Options::parse(&FLIGHT, query).unwrap_err().message
    }

    #[test]
    fn every_option_is_read() {
        let query = "$top=5&$skip=2&$select=carrid,PRICE&$filter=PRICE%20gt%20500&\
                     $orderby=PRICE%20desc&$expand=flightCarrier&$inlinecount=allpages&\
                     %24format=json&sap-client=000";
        let options = Options::parse(&FLIGHT, query).unwrap();
        assert_eq!((options.top, options.skip, options.count), (Some(5), 2, true));
        assert_eq!(options.select, Some(vec![0, 3]));
        assert!(options.expand && options.filter.is_some());
        assert_eq!((options.order.len(), options.format), (1, Some(Format::Json)));
        assert!(options.selects(3) && !options.selects(1));
    }

    #[test]
    fn what_is_no_option_is_named() {
        for (query, expected) in [
            ("$top=-1", "$top=-1: write a whole number"),
            ("$top=", "write a whole number"),
            ("$skip=%2B5", "write a whole number"),
            ("$format=yaml", "write atom, xml or json"),
            ("$select=carrier", "`carrier` is no property of Flight"),
            ("$expand=bookings", "leads nowhere"),
            ("$inlinecount=yes", "allpages"),
            ("$apply=x", "not known here"),
            ("$top=1&$top=2", "given twice"),
            ("$filter=%zz", "badly encoded"),
            ("$filter=", "it ends where"),
        ] {
            assert!(problem(query).contains(expected), "{query}: {}", problem(query));
        }
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(query: String) {
            let _ = Options::parse(&FLIGHT, &query);
        }

        #[test]
        fn any_value_is_read_or_refused(
            name in prop::sample::select(vec![
                "top", "skip", "filter", "orderby", "select", "expand", "format", "inlinecount",
            ]),
            value: String,
        ) {
            let query = format!("${name}={}", plumb_wire::percent::encoded(&value));
            if let Err(failure) = Options::parse(&FLIGHT, &query) {
                prop_assert_eq!(failure.status, hyper::StatusCode::BAD_REQUEST);
            }
        }
    }
}
