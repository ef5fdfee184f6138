//! What holds for a request: the elements beside it, and those beside what it stands in.

use super::element::Element;

/// What an element of a plan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Group,
    /// What is done once before everything else.
    Setup,
    /// What is done once behind everything else.
    Teardown,
    Request,
    Controller,
    Defaults,
    Headers,
    Cookies,
    Logins,
    Data,
    Variables,
    /// Gives variables new values in each turn.
    Configured,
    Timer,
    /// A wait between requests, or the end of a user.
    Action,
    /// Throughput that users keep together.
    Pacing,
    Assertion,
    Extractor,
    /// Takes down or shows results.
    Listener,
    Unknown,
}

/// What `element` is for.
pub(super) fn role(element: &Element<'_>) -> Role {
    match element.kind() {
        "ThreadGroup"
        | "OpenModelThreadGroup"
        | "SteppingThreadGroup"
        | "UltimateThreadGroup"
        | "ConcurrencyThreadGroup"
        | "ArrivalsThreadGroup"
        | "FreeFormArrivalsThreadGroup" => Role::Group,
        "SetupThreadGroup" => Role::Setup,
        "PostThreadGroup" => Role::Teardown,
        "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => Role::Request,
        "LoopController"
        | "ForeachController"
        | "IfController"
        | "TransactionController"
        | "ThroughputController"
        | "GenericController"
        | "RecordingController"
        | "OnceOnlyController"
        | "WhileController"
        | "RandomController"
        | "RandomOrderController"
        | "InterleaveControl"
        | "SwitchController"
        | "CriticalSectionController"
        | "ParallelSampler"
        | "ModuleController"
        | "IncludeController" => Role::Controller,
        "CounterConfig" | "RandomVariableConfig" | "UserParameters" => Role::Configured,
        "TestAction" => Role::Action,
        "ConfigTestElement" if element.gui().ends_with("HttpDefaultsGui") => Role::Defaults,
        "HeaderManager" => Role::Headers,
        "CookieManager" => Role::Cookies,
        "AuthManager" => Role::Logins,
        "CSVDataSet" => Role::Data,
        "Arguments" => Role::Variables,
        "ConstantTimer" | "UniformRandomTimer" | "GaussianRandomTimer" => Role::Timer,
        "ConstantThroughputTimer" | "PreciseThroughputTimer" => Role::Pacing,
        "ResponseAssertion" | "DurationAssertion" | "SizeAssertion" => Role::Assertion,
        "RegexExtractor" | "JSONPostProcessor" | "XPath2Extractor" | "XPathExtractor"
        | "BoundaryExtractor" => Role::Extractor,
        // others end or restart users, and are named
        "ResultAction" if matches!(element.text("OnError.action").trim(), "" | "0") => {
            Role::Listener
        }
        "ResultCollector"
        | "Summariser"
        | "BackendListener"
        | "ResultSaver"
        | "MailerResultCollector"
        | "JSR223Listener"
        | "BeanShellListener"
        | "CorrectedResultCollector"
        | "DebugSampler"
        | "DebugPostProcessor"
        | "ProxyControl"
        | "PropertyControl"
        | "TestFragmentController" => Role::Listener,
        _ => Role::Unknown,
    }
}

/// True of a controller that may do what stands in it more than once in a turn.
pub(super) fn is_loop(element: &Element<'_>) -> bool {
    matches!(element.kind(), "LoopController" | "ForeachController" | "WhileController")
}

/// Everything in scope, the outermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope<'a> {
    pub(super) defaults: Vec<Element<'a>>,
    pub(super) headers: Vec<Element<'a>>,
    pub(super) cookies: Vec<Element<'a>>,
    pub(super) logins: Vec<Element<'a>>,
    pub(super) data: Vec<Element<'a>>,
    pub(super) timers: Vec<Element<'a>>,
    pub(super) pacing: Vec<Element<'a>>,
    pub(super) assertions: Vec<Element<'a>>,
    pub(super) extractors: Vec<Element<'a>>,
}

impl<'a> Scope<'a> {
    /// The scope of what stands beside `elements`.
    pub(super) fn with(&self, elements: &[Element<'a>]) -> Self {
        let mut scope = self.clone();
        for element in elements {
            let list = match role(element) {
                Role::Defaults => &mut scope.defaults,
                Role::Headers => &mut scope.headers,
                Role::Cookies => &mut scope.cookies,
                Role::Logins => &mut scope.logins,
                Role::Data => &mut scope.data,
                Role::Timer => &mut scope.timers,
                Role::Pacing => &mut scope.pacing,
                Role::Assertion => &mut scope.assertions,
                Role::Extractor => &mut scope.extractors,
                Role::Group
                | Role::Setup
                | Role::Teardown
                | Role::Request
                | Role::Controller
                | Role::Action
                | Role::Variables
                | Role::Configured
                | Role::Listener
                | Role::Unknown => continue,
            };
            list.push(*element);
        }
        scope
    }

    /// A property of `request`, or of the nearest defaults that have it.
    pub(super) fn property(&self, request: &Element<'a>, name: &str) -> &'a str {
        self.given(request, name).1
    }

    /// The same with the element that has it: `request` where none does.
    pub(super) fn given(&self, request: &Element<'a>, name: &str) -> (Element<'a>, &'a str) {
        let own = std::iter::once(request);
        own.chain(self.defaults.iter().rev())
            .map(|element| (*element, element.text(name)))
            .find(|(_, text)| !text.trim().is_empty())
            .unwrap_or((*request, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::read;

    #[test]
    fn the_nearest_defaults_count_and_everything_else_adds_up() {
        let tree = read(
            "<hashTree><ConfigTestElement guiclass='HttpDefaultsGui'><stringProp name='d'>outer\
             </stringProp><stringProp name='p'>1</stringProp></ConfigTestElement><hashTree/>\
             <ConstantTimer/><hashTree/><HTTPSamplerProxy/><hashTree><ConfigTestElement \
             guiclass='HttpDefaultsGui'><stringProp name='d'>inner</stringProp></ConfigTestElement>\
             <ConstantTimer/></hashTree></hashTree>",
        )
        .unwrap();
        let outer = Element::of_tree(&tree);
        let request = outer[2];
        let scope = Scope::default().with(&outer).with(&request.below());
        assert_eq!((scope.timers.len(), scope.defaults.len()), (2, 2));
        assert_eq!(scope.property(&request, "d"), "inner");
        assert_eq!(scope.property(&request, "p"), "1");
        assert_eq!(scope.property(&request, "q"), "");
    }
}
