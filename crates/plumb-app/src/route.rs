//! Where a path leads: the one place that knows every path of the server.

use hyper::HeaderMap;
use plumb_odata::{Change, Format, Refusal, Resource, SapPath, Service};

use crate::answer::{Answer, Failure};
use crate::flights;
use crate::url::{Segment, is_image, page_name};

/// Where a path leads. What the front answers itself comes first.
#[derive(Debug)]
pub(crate) enum Route {
    /// To the status.
    Home,
    /// What an administrator looks at.
    Status(View),
    /// The buffers are emptied.
    ResetBuffers,
    /// An image of the repository, by its name, for everybody.
    Image(String),
    /// A page by its name; without a segment the request is sent where it has one.
    Page { segment: Option<Segment>, rest: String, name: String },
    /// Something of the flight service.
    Flights(Service, Result<Resource, Refusal>),
    /// Several requests for the flight service in one.
    Batch(Service),
    /// Changes of the flights that are done together; no path leads to them.
    Changes(Service, Vec<Change>),
    /// The same flights without a protocol around them, behind this path.
    Compact(String),
    /// A step of a sale, by what stands behind the root of sales.
    Sales(String),
    /// Confirmations of production.
    Confirmations,
    /// A session ends.
    LogOff,
    /// Nowhere.
    Nowhere,
}

/// A form of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A page for people.
    Page,
    /// The same for programs.
    Json,
    /// For Prometheus.
    Metrics,
}

impl Route {
    /// Where `path` leads.
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/" => return Self::Home,
            "/status" => return Self::Status(View::Page),
            "/status.json" => return Self::Status(View::Json),
            "/metrics" => return Self::Status(View::Metrics),
            "/programs/reset" => return Self::ResetBuffers,
            _ => {}
        }
        if let Some(path) = SapPath::parse(path) {
            return Self::of_sap(path);
        }
        match path.strip_prefix("/rest/flights") {
            Some(below) if below.is_empty() || below.starts_with('/') => {
                Self::Compact(below.into())
            }
            _ => Self::Nowhere,
        }
    }

    fn of_sap(path: SapPath<'_>) -> Self {
        let rest = path.rest;
        if let Some(below) = rest.strip_prefix("/bc/bsp/") {
            let name = page_name(below);
            if is_image(&name) {
                return Self::Image(name);
            }
            return Self::Page { segment: path.segment.map(Segment::of), rest: rest.into(), name };
        }
        if let Some((service, below)) = Service::at(rest) {
            return match Resource::parse(service.version(), below) {
                Ok(Resource::Batch) => Self::Batch(service),
                resource => Self::Flights(service, resource),
            };
        }
        if let Some(below) = rest.strip_prefix("/bc/sd/") {
            return Self::Sales(below.into());
        }
        match rest {
            "/bc/production/confirmations" => Self::Confirmations,
            "/public/bc/icf/logoff" => Self::LogOff,
            _ => Self::Nowhere,
        }
    }
}

/// The form of an answer that says what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorForm {
    /// A line of text.
    Plain,
    /// A small document in JSON.
    Json,
    /// The document of the flight service's protocol.
    Flights(Format),
}

impl ErrorForm {
    /// The form in which a request with these `headers` and this `query` wants to hear it.
    pub(crate) fn of(route: &Route, headers: &HeaderMap, query: &str) -> Self {
        match route {
            Route::Flights(Service::Version4, _) | Route::Batch(Service::Version4) => {
                Self::Flights(Format::Json4)
            }
            Route::Flights(..) | Route::Batch(_) | Route::Changes(..) => {
                Self::Flights(Format::of_errors(headers, query))
            }
            Route::Compact(_) | Route::Sales(_) | Route::Confirmations => Self::Json,
            Route::Home
            | Route::Status(_)
            | Route::ResetBuffers
            | Route::Image(_)
            | Route::Page { .. }
            | Route::LogOff
            | Route::Nowhere => Self::Plain,
        }
    }

    /// The answer that says `failure`.
    pub(crate) fn answer(self, failure: &Failure) -> Answer {
        match self {
            Self::Plain => failure.plain(),
            Self::Json => failure.json(),
            Self::Flights(format) => flights::failure(failure, format),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leads(path: &str) -> String {
        format!("{:?}", Route::of(path))
    }

    #[test]
    fn every_path_leads_where_it_should() {
        assert_eq!(leads("/metrics"), "Status(Metrics)");
        assert_eq!(
            leads("/sap(bD1lbg==)/bc/bsp/sap/it03/image4KB.gif"),
            "Image(\"it03/image4kb.gif\")"
        );
        assert!(leads("/sap(bD1lbg==)/bc/bsp/it03/text1kb.htm").contains("language: Some(\"en\")"));
        assert!(leads("/sap/bc/bsp/it03/text1kb.htm").starts_with("Page { segment: None"));
        let service = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT";
        assert_eq!(leads(&format!("{service}/%24batch")), "Batch(Standard)");
        assert!(
            leads(&format!("{service}/FlightCollection")).starts_with("Flights(Standard, Ok(Set")
        );
        assert!(leads(&service.replace("odata", "sdata")).starts_with("Flights(Compatibility"));
        assert!(leads(&service.replace("odata", "odata4")).starts_with("Flights(Version4"));
        assert_eq!(leads("/rest/flights/AA"), "Compact(\"/AA\")");
        assert_eq!(leads("/sap/bc/sd/orders/1"), "Sales(\"orders/1\")");
        for nowhere in ["/nothing", "/sapling", "/rest/flightsandmore", "/sap/bc", "/status/"] {
            assert_eq!(leads(nowhere), "Nowhere", "{nowhere}");
        }
    }

    proptest! {
        #[test]
        fn any_path_leads_somewhere(path: String) {
            let _ = Route::of(&path);
            let _ = Route::of(&format!("/sap{path}"));
        }
    }
}
