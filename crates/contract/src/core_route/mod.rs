//! Documents on the way to Core: the guard's report, the end goal's audit, the decision
//! packet. Each is computed and asserts nothing; asking for a route is never a promotion.

mod audit;
mod guard;
mod packet;

pub use audit::{AuditGap, AuditRequirement, AuditStatus, CompletionStatus, EndgoalAudit, RequirementStatus};
pub use guard::{
    CoreProcess, CoreWorktree, GuardReason, GuardReport, GuardStatus, NextRouteAction, RouteAdmission, SequenceRoute,
    WorktreeState,
};
pub use packet::{
    CorePromotionDecision, DecisionPacket, EvidenceRef, PromotionState, ReadinessFact, RecommendationStatus,
    RecommendedDecision, StateConsequence,
};
