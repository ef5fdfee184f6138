//! Where a path leads: the one place that knows every path of the server, and the headers that say with
//! which others a message belongs together.

use plumb_wire::percent::decoded;

use crate::answer::ErrorForm;
use plumb_queue::ExecutionId;

/// Header that names a message that must not be accepted twice.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Header: messages of one such key are done one after the other.
pub(crate) const ORDER_KEY: &str = "x-order-key";

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// To the manager.
    Home,
    /// A transaction by its name.
    Runner(String),
    /// A transaction by the classic form.
    Classic,
    /// A transaction as a web service.
    Soap(String),
    /// Whichever transaction accepts the message.
    Messages,
    /// What became of an execution.
    Execution(ExecutionId),
    /// Something of the transaction manager.
    Manager(ManagerPath),
    /// Figures for Prometheus.
    Metrics,
    /// Nowhere.
    Nowhere,
}

/// A path of the transaction manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManagerPath {
    /// Figures, and executions by a filter.
    Overview,
    /// One execution.
    Execution(ExecutionId),
    /// Failed ones are done again.
    Retry,
    /// Executions are forgotten.
    Drop,
}

impl ManagerPath {
    /// The path of what is done with executions.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::Overview | Self::Execution(_) => "/manager",
            Self::Retry => "/manager/retry",
            Self::Drop => "/manager/drop",
        }
    }
}

impl Route {
    /// Where `path` leads.
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "/" => return Self::Home,
            "/XMII/Runner" => return Self::Classic,
            "/messages" => return Self::Messages,
            "/manager" => return Self::Manager(ManagerPath::Overview),
            "/manager/retry" => return Self::Manager(ManagerPath::Retry),
            "/manager/drop" => return Self::Manager(ManagerPath::Drop),
            "/metrics" => return Self::Metrics,
            _ => {}
        }
        let name = |rest: &str| decoded(rest).filter(|name| is_name(name)).map(Into::into);
        let found = if let Some(rest) = path.strip_prefix("/runner/") {
            name(rest).map(Self::Runner)
        } else if let Some(rest) = path.strip_prefix("/soap/") {
            name(rest).map(Self::Soap)
        } else if let Some(rest) = path.strip_prefix("/executions/") {
            id(rest).map(Self::Execution)
        } else if let Some(rest) = path.strip_prefix("/manager/executions/") {
            id(rest).map(|id| Self::Manager(ManagerPath::Execution(id)))
        } else {
            None
        };
        found.unwrap_or(Self::Nowhere)
    }

    /// The form of errors that it always takes; `None`: the one that the client prefers.
    pub(crate) fn error_form(&self) -> Option<ErrorForm> {
        match self {
            Self::Soap(_) => Some(ErrorForm::Soap),
            Self::Home | Self::Metrics => Some(ErrorForm::Text),
            Self::Runner(_)
            | Self::Classic
            | Self::Messages
            | Self::Execution(_)
            | Self::Manager(_)
            | Self::Nowhere => None,
        }
    }
}

/// Why there is nothing at `path`.
pub(crate) fn nothing_at(path: &str) -> String {
    let executions = ["/manager/executions/", "/executions/"];
    match executions.iter().find_map(|folder| path.strip_prefix(folder)) {
        Some(id) => format!("`{id}` is no id of an execution, which has 16 hexadecimal digits"),
        None => "there is nothing at this path".into(),
    }
}

/// What can be the name of a transaction: no path, and nothing that moves a cursor.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && !name.chars().any(char::is_control)
}

/// An id as it is written: 16 hexadecimal digits.
pub(crate) fn id(text: &str) -> Option<ExecutionId> {
    let well = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    well.then(|| u64::from_str_radix(text, 16).ok()).flatten().map(ExecutionId)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_path_leads_where_it_should() {
        assert_eq!(Route::of("/runner/a%20b"), Route::Runner("a b".into()));
        assert_eq!(Route::of("/soap/components"), Route::Soap("components".into()));
        assert_eq!(Route::of("/XMII/Runner"), Route::Classic);
        let id = ExecutionId(0xab);
        assert_eq!(Route::of("/executions/00000000000000ab"), Route::Execution(id));
        assert_eq!(
            Route::of("/manager/executions/00000000000000AB"),
            Route::Manager(ManagerPath::Execution(id))
        );
        for nowhere in [
            "/runner/",
            "/runner/a/b",
            "/runner/a%2Fb",
            "/runner/a%00",
            "/runner/%zz",
            "/executions/ab",
            "/executions/+0000000000000ab",
            "/manager/",
            "/xmii/runner",
            "",
        ] {
            assert_eq!(Route::of(nowhere), Route::Nowhere, "{nowhere}");
        }
    }

    #[test]
    fn what_is_no_id_is_named() {
        for path in ["/executions/1", "/manager/executions/1"] {
            assert_eq!(Route::of(path), Route::Nowhere);
            assert!(nothing_at(path).starts_with("`1` is no id of an execution"), "{path}");
        }
        assert_eq!(nothing_at("/manager/"), "there is nothing at this path");
    }

    proptest! {
        #[test]
        fn any_path_leads_somewhere(path: String) {
            let _ = Route::of(&path);
            let _ = Route::of(&format!("/runner/{path}"));
            let _ = Route::of(&format!("/manager/executions/{path}"));
        }
    }
}
