//! The steps of a sale, and the paths by which they are called.

use hyper::{Method, StatusCode};

use crate::answer::Failure;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call<'a> {
    /// A run begins.
    BeginRun,
    /// The figures of a run.
    Throughput,
    /// The first screen of a transaction.
    Screen(Transaction),
    /// Who an order is for.
    Customer(&'a str),
    /// The items of an order, priced and not saved.
    CheckOrder,
    CreateOrder,
    ListOrders,
    DisplayOrder(i64),
    /// What of an order is to be delivered.
    ShowDelivery(i64),
    CreateDelivery(i64),
    /// The goods of a delivery leave the stock.
    PostIssue(i64),
    CreateInvoice(i64),
}

/// A transaction, as a clerk calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transaction {
    CreateOrder,
    CreateDelivery,
    DisplayOrder,
    ChangeDelivery,
    ListOrders,
    CreateInvoice,
}

impl Transaction {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "create-order" => Self::CreateOrder,
            "create-delivery" => Self::CreateDelivery,
            "display-order" => Self::DisplayOrder,
            "change-delivery" => Self::ChangeDelivery,
            "list-orders" => Self::ListOrders,
            "create-invoice" => Self::CreateInvoice,
            _ => return None,
        })
    }

    /// The fields of its first screen.
    pub(super) fn fields(self) -> &'static [&'static str] {
        match self {
            Self::CreateOrder | Self::ListOrders => &["customer"],
            Self::CreateDelivery | Self::DisplayOrder | Self::CreateInvoice => &["order"],
            Self::ChangeDelivery => &["delivery"],
        }
    }
}

impl<'a> Call<'a> {
    /// What `method` calls at `below` the root of sales.
    ///
    /// # Errors
    /// [`Failure`] when there is no such step.
    pub(super) fn of(method: &Method, below: &'a str) -> Result<Self, Failure> {
        let post = match *method {
            Method::POST => true,
            Method::GET | Method::HEAD => false,
            _ => return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST")),
        };
        let words: Vec<&str> = below.split('/').collect();
        let nothing = || Failure::not_found(format!("there is no step {below}"));
        Ok(match (post, words.as_slice()) {
            (true, ["runs"]) => Self::BeginRun,
            (false, ["throughput"]) => Self::Throughput,
            (false, ["screens", name]) => Self::Screen(Transaction::of(name).ok_or_else(nothing)?),
            (false, ["customers", name]) => Self::Customer(name),
            (true, ["orders", "check"]) => Self::CheckOrder,
            (true, ["orders"]) => Self::CreateOrder,
            (false, ["orders"]) => Self::ListOrders,
            (false, ["orders", number]) => Self::DisplayOrder(whole(number)?),
            (false, ["orders", number, "delivery"]) => Self::ShowDelivery(whole(number)?),
            (true, ["orders", number, "delivery"]) => Self::CreateDelivery(whole(number)?),
            (true, ["deliveries", number, "issue"]) => Self::PostIssue(whole(number)?),
            (true, ["orders", number, "invoice"]) => Self::CreateInvoice(whole(number)?),
            _ => return Err(nothing()),
        })
    }
}

fn whole(digits: &str) -> Result<i64, Failure> {
    let number = digits.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Failure::bad_request(format!("`{digits}` is no document number")))
}
