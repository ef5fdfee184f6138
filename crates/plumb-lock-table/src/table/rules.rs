//! The decisions of the table, as one type, so that a checker can be shown a table that decides
//! wrongly.

/// A mistake that a lock table can make. The checker of the tests has to find each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A wildcard of the request is an ordinary character.
    RequestWildcardIgnored,
    /// A wildcard of a lock that is held is an ordinary character.
    HeldWildcardIgnored,
    /// The owner of an X may take it again.
    XCumulates,
    /// Whoever names the lock releases it, whoever owns it.
    ReleaseByStranger,
    /// Fence numbers begin again when the table is empty.
    FenceReset,
    /// A promotion leaves the O locks of others.
    PromotionKeepsOptimistic,
    /// An inherited lock loses its update counter but for one.
    InheritanceForgetsCounter,
    /// A refused request keeps the locks in front of the refused one.
    HalfARequest,
    /// One release ends a lock that was taken twice.
    ReleaseForgetsCounter,
    /// A lock of both owners is counted for the dialog owner only.
    BothCountedOnce,
    /// Check modes are kept as locks.
    CheckIsKept,
    /// The table takes one lock more than it may.
    OneTooMany,
    /// The release of everything leaves what the update inherited.
    ClearKeepsInherited,
    /// S is granted beside a foreign E.
    SharedBesideExclusive,
    /// Clients are told of what the replica does not have.
    AcknowledgesBeforeReplica,
    /// A reply depends on the batches before that of its own changes.
    DependsOnEarlierBatch,
    /// The beginning of a command makes a server forget on what the replies before it depend.
    ForgetsBehindCutCommand,
    /// A replica that lacks something may be promoted.
    PromotesBehind,
    /// A replica that is started again does not know of which epoch its locks are.
    ForgetsItsEpoch,
    /// A server that is started as a primary gives locks out though it has a part of another's.
    ServesAPart,
    /// A server that is started as a replica does not know that it gave locks out.
    ForgetsWhatItGaveOut,
    /// Any one of its witnesses makes a server the primary.
    ElectedByAnyWitness,
}

impl Fault {
    /// Those of one server.
    pub const ALL: [Self; 14] = [
        Self::RequestWildcardIgnored,
        Self::HeldWildcardIgnored,
        Self::XCumulates,
        Self::ReleaseByStranger,
        Self::FenceReset,
        Self::PromotionKeepsOptimistic,
        Self::InheritanceForgetsCounter,
        Self::HalfARequest,
        Self::ReleaseForgetsCounter,
        Self::BothCountedOnce,
        Self::CheckIsKept,
        Self::OneTooMany,
        Self::ClearKeepsInherited,
        Self::SharedBesideExclusive,
    ];

    /// Those of two servers.
    pub const OF_TWO: [Self; 4] = [
        Self::AcknowledgesBeforeReplica,
        Self::DependsOnEarlierBatch,
        Self::ForgetsBehindCutCommand,
        Self::PromotesBehind,
    ];

    /// Those of two servers with journals, of which both may be killed.
    pub const OF_TWO_KEPT: [Self; 3] =
        [Self::ForgetsItsEpoch, Self::ServesAPart, Self::ForgetsWhatItGaveOut];

    /// Those of two servers among witnesses.
    pub const OF_ELECTED: [Self; 2] = [Self::AcknowledgesBeforeReplica, Self::ElectedByAnyWitness];
}

/// How a table decides. [`Sound`] is known to the compiler, so asking it costs nothing.
pub trait Rules: 'static {
    /// True when the table makes this mistake.
    #[inline]
    fn makes(_fault: Fault) -> bool {
        false
    }
}

/// The rules as they are documented.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sound;

impl Rules for Sound {}
