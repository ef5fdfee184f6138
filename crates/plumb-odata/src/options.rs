//! The query of a URL.

use plumb_wire::percent::form_decoded;

use crate::filter::{Expression, Order};
use crate::format::Format;
use crate::model::EntityType;
use crate::refusal::Refusal;
use crate::version::Version;

/// Navigations that may be followed one behind the other.
const DEPTH_MAX: usize = 4;

/// What the query asks for, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The form that is named.
    pub format: Option<Format>,
    /// So many entities at most.
    pub top: Option<usize>,
    /// Entities that are left out before the first.
    pub skip: usize,
    /// Places of the properties that are wanted; all, if nothing is named.
    pub select: Option<Vec<usize>>,
    /// True when the navigation is named among them.
    pub navigates: bool,
    /// What must be true of an entity.
    pub filter: Option<Expression>,
    /// What entities are ordered by, the first key first.
    pub order: Vec<Order>,
    /// What is wanted of what the navigation leads to; `None`: it is not followed.
    pub expand: Option<Box<Options>>,
    /// True when all that were found are to be counted.
    pub count: bool,
}

/// One option of a query: its name and its value.
type Pair = (String, String);

impl Options {
    /// The options in `query`, for entities of `kind`.
    ///
    /// # Errors
    /// [`Refusal`] names the option.
    pub fn parse(version: Version, kind: &EntityType, query: &str) -> Result<Self, Refusal> {
        let mut pairs: Vec<Pair> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let wrong = || Refusal::bad_request(format!("`{pair}` is badly encoded"));
            let name = form_decoded(name).ok_or_else(wrong)?;
            if !name.starts_with('$') {
                continue; // options of others: sap-client, sap-statistics
            }
            let value = form_decoded(value).ok_or_else(wrong)?;
            pairs.push((name.into_owned(), value.trim().to_owned()));
        }
        Self::of(version, kind, pairs, 0).map_err(Refusal::bad_request)
    }

    /// The options of the query, or of what is expanded when `depth` is above zero.
    fn of(
        version: Version,
        kind: &EntityType,
        mut pairs: Vec<Pair>,
        depth: usize,
    ) -> Result<Self, String> {
        let mut options = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        // what is selected may belong to what is expanded
        pairs.sort_by_key(|(name, _)| name == "$select");
        for (name, value) in &pairs {
            let refused = |problem: String| format!("{name}={value}: {problem}");
            if seen.contains(&name.as_str()) {
                return Err(refused(format!("{name} is given twice")));
            }
            options.read((version, depth), kind, name, value).map_err(refused)?;
            seen.push(name);
        }
        Ok(options)
    }

    fn read(
        &mut self,
        (version, depth): (Version, usize),
        kind: &EntityType,
        name: &str,
        value: &str,
    ) -> Result<(), String> {
        match (name, version) {
            ("$format", _) if depth == 0 => self.format = Some(Format::named(value)?),
            ("$top", _) => self.top = Some(number(value)?),
            ("$skip", _) => self.skip = number(value)?,
            ("$filter", _) => self.filter = Some(Expression::parse(kind, value)?),
            ("$orderby", _) => self.order = Order::parse(kind, value)?,
            ("$select", _) => self.select(kind, value)?,
            ("$expand", Version::Two) => {
                for path in value.split(',') {
                    let path: Vec<&str> = path.trim().split('/').collect();
                    self.expand_path(kind, &path, depth)?;
                }
            }
            ("$expand", Version::Four) => {
                for item in split(value, ',')? {
                    self.expand_item(kind, item, depth)?;
                }
            }
            ("$inlinecount", Version::Two) => {
                self.count = match value {
                    "allpages" => true,
                    "none" => false,
                    _ => return Err("write allpages or none".into()),
                }
            }
            ("$count", Version::Four) if depth == 0 => {
                self.count = match value {
                    "true" => true,
                    "false" => false,
                    _ => return Err("write true or false".into()),
                }
            }
            _ => return Err("this option is not known here".into()),
        }
        Ok(())
    }

    /// True when the property at `place` is wanted.
    pub(crate) fn selects(&self, place: usize) -> bool {
        self.select.as_ref().is_none_or(|places| places.contains(&place))
    }

    /// True when the navigation is wanted, followed or not.
    pub(crate) fn shows_navigation(&self) -> bool {
        self.select.is_none() || self.navigates || self.expand.is_some()
    }

    fn select(&mut self, kind: &EntityType, value: &str) -> Result<(), String> {
        let mut names: Vec<&str> = value.split(',').map(str::trim).collect();
        names.sort_by_key(|name| name.ends_with('*')); // all of them, whatever is named beside
        self.select = Some(Vec::new());
        for name in names {
            let path: Vec<&str> = name.split('/').collect();
            self.select_path(kind, &path)?;
        }
        Ok(())
    }

    fn select_path(&mut self, kind: &EntityType, path: &[&str]) -> Result<(), String> {
        let navigation = &kind.navigation;
        match path {
            ["*"] => self.select = None,
            [name] if *name == navigation.name => self.navigates = true,
            [name, rest @ ..] if *name == navigation.name => {
                self.navigates = true;
                let missing = || format!("`{name}/...` is not expanded: add $expand={name}");
                let inner = self.expand.as_mut().ok_or_else(missing)?;
                inner.select.get_or_insert_default();
                inner.select_path(navigation.to.entity_type(), rest)?;
            }
            [name] => {
                let missing = || format!("`{name}` is no property of {}", kind.name);
                let place = kind.place(name).ok_or_else(missing)?;
                self.select.get_or_insert_default().push(place);
            }
            _ => return Err(format!("`{}` leads nowhere from {}", path.join("/"), kind.name)),
        }
        Ok(())
    }

    /// What is wanted of what the navigation `name` leads to.
    fn followed(
        &mut self,
        kind: &EntityType,
        name: &str,
        depth: usize,
    ) -> Result<&mut Self, String> {
        if name != kind.navigation.name {
            let known = kind.navigation.name;
            return Err(format!("`{name}` leads nowhere from {}: there is {known}", kind.name));
        }
        if depth >= DEPTH_MAX {
            return Err(format!("at most {DEPTH_MAX} navigations follow one another"));
        }
        Ok(self.expand.get_or_insert_default())
    }

    fn expand_path(
        &mut self,
        kind: &EntityType,
        path: &[&str],
        depth: usize,
    ) -> Result<(), String> {
        let [first, rest @ ..] = path else { return Ok(()) };
        let inner = self.followed(kind, first, depth)?;
        inner.expand_path(kind.navigation.to.entity_type(), rest, depth + 1)
    }

    /// A navigation with options of its own in parentheses.
    fn expand_item(&mut self, kind: &EntityType, item: &str, depth: usize) -> Result<(), String> {
        let (name, options) = match item.split_once('(') {
            None => (item, None),
            Some((name, behind)) => {
                let inner = behind.strip_suffix(')');
                (name.trim(), Some(inner.ok_or("nothing stands behind a parenthesis")?))
            }
        };
        if self.expand.is_some() {
            return Err(format!("`{name}` is given twice"));
        }
        let inner = self.followed(kind, name, depth)?;
        let mut pairs = Vec::new();
        for pair in options.map_or_else(|| Ok(Vec::new()), |options| split(options, ';'))? {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let to = kind.navigation.to.entity_type();
        *inner = Self::of(Version::Four, to, pairs, depth + 1)?;
        Ok(())
    }
}

/// The parts of `text` between separators that stand in no parentheses and in no text.
fn split(text: &str, separator: char) -> Result<Vec<&str>, String> {
    let (mut depth, mut quoted, mut start) = (0_usize, false, 0);
    let mut parts = Vec::new();
    for (at, found) in text.char_indices() {
        match found {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => {
                let before = depth.checked_sub(1);
                depth = before.ok_or("a parenthesis is closed that was not opened")?;
            }
            found if found == separator && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if quoted || depth > 0 {
        return Err("a text or a parenthesis is not closed".into());
    }
    parts.push(text[start..].trim());
    Ok(parts)
}

fn number(value: &str) -> Result<usize, String> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { value.parse().ok() } else { None };
    number.ok_or_else(|| "write a whole number that is not negative".into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{CARRIER, FLIGHT};

    fn problem(query: &str) -> String {
        Options::parse(Version::Two, &FLIGHT, query).unwrap_err().message
    }

    #[test]
    fn every_option_is_read() {
        let query = "$top=5&$skip=2&$select=carrid,PRICE&$filter=PRICE%20gt%20500&\
                     $orderby=PRICE%20desc&$expand=flightCarrier&$inlinecount=allpages&\
                     %24format=json&sap-client=000";
        let options = Options::parse(Version::Two, &FLIGHT, query).unwrap();
        assert_eq!((options.top, options.skip, options.count), (Some(5), 2, true));
        assert_eq!(options.select, Some(vec![0, 3]));
        assert!(options.expand.is_some() && options.filter.is_some());
        assert_eq!((options.order.len(), options.format), (1, Some(Format::Json)));
        assert!(options.selects(3) && !options.selects(1));
    }

    fn four(kind: &EntityType, query: &str) -> Result<Options, String> {
        Options::parse(Version::Four, kind, query).map_err(|refusal| refusal.message)
    }

    #[test]
    fn what_is_selected_may_lie_behind_navigations() {
        let query = "$select=PRICE,flightCarrier/CARRNAME,flightCarrier/carrierFlights/*&\
                     $expand=flightCarrier/carrierFlights";
        let options = Options::parse(Version::Two, &FLIGHT, query).unwrap();
        assert_eq!(options.select, Some(vec![3]));
        let carrier = options.expand.as_ref().unwrap();
        assert_eq!((&carrier.select, carrier.navigates), (&Some(vec![1]), true));
        let flights = carrier.expand.as_ref().unwrap();
        assert_eq!((&flights.select, flights.expand.is_some()), (&None, false));
        let bare = Options::parse(Version::Two, &FLIGHT, "$select=PRICE").unwrap();
        assert!(!bare.shows_navigation());
        let named = Options::parse(Version::Two, &FLIGHT, "$select=flightCarrier").unwrap();
        assert!(named.shows_navigation() && !named.selects(3));
    }

    #[test]
    fn in_version_4_what_is_expanded_has_options_of_its_own() {
        let query = "$expand=carrierFlights($select=PRICE;$top=2;$orderby=PRICE desc,connid;\
                     $filter=contains(cityTo,';)');$expand=flightCarrier)&$count=true";
        let options = four(&CARRIER, query).unwrap();
        assert!(options.count);
        let flights = options.expand.as_ref().unwrap();
        assert_eq!((&flights.select, flights.top), (&Some(vec![3]), Some(2)));
        assert_eq!((flights.order.len(), flights.filter.is_some()), (2, true));
        assert!(flights.expand.is_some());
        assert_eq!(four(&FLIGHT, "$filter=fldate eq 2011-06-01").map(|it| it.count), Ok(false));
    }

    #[test]
    fn navigations_do_not_follow_one_another_without_end() {
        let path = ["flightCarrier", "carrierFlights"].repeat(3).join("/");
        assert!(problem(&format!("$expand={path}")).contains("at most 4"));
        let nested = "flightCarrier($expand=carrierFlights($expand=".repeat(3);
        let query = format!("$expand={nested}flightCarrier{}", ")".repeat(6));
        assert!(four(&FLIGHT, &query).unwrap_err().contains("at most 4"));
    }

    #[test]
    fn each_version_has_options_that_the_other_has_not() {
        for query in ["$count=true", "$expand=flightCarrier($top=1)"] {
            assert!(Options::parse(Version::Two, &FLIGHT, query).is_err(), "{query}");
        }
        for query in [
            "$inlinecount=allpages",
            "$apply=aggregate(PRICE with sum as x)",
            "$expand=flightCarrier/carrierFlights",
            "$expand=flightCarrier,flightCarrier",
            "$expand=flightCarrier($count=true)",
            "$expand=flightCarrier($top=1",
            "$expand=flightCarrier)",
            "$count=yes",
        ] {
            assert!(four(&FLIGHT, query).is_err(), "{query}");
        }
    }

    #[test]
    fn what_is_no_option_is_named() {
        for (query, expected) in [
            ("$top=-1", "$top=-1: write a whole number"),
            ("$top=", "write a whole number"),
            ("$skip=%2B5", "write a whole number"),
            ("$format=yaml", "write atom, xml or json"),
            ("$select=carrier", "`carrier` is no property of Flight"),
            ("$select=flightCarrier/URL", "add $expand=flightCarrier"),
            ("$select=PRICE/x", "leads nowhere"),
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
            let _ = Options::parse(Version::Two, &FLIGHT, &query);
            let _ = Options::parse(Version::Four, &FLIGHT, &query);
        }

        #[test]
        fn any_value_is_read_or_refused(
            name in prop::sample::select(vec![
                "top", "skip", "filter", "orderby", "select", "expand", "format", "inlinecount",
            ]),
            value: String,
        ) {
            let query = format!("${name}={}", plumb_wire::percent::encoded(&value));
            for version in [Version::Two, Version::Four] {
                if let Err(refusal) = Options::parse(version, &FLIGHT, &query) {
                    prop_assert_eq!(refusal.status, hyper::StatusCode::BAD_REQUEST);
                }
            }
        }
    }
}
