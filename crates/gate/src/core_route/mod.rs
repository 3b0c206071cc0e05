//! Judgement on the route to Core: the guard, the audit of the end goal, and the decision
//! packet. Pure: facts in, documents out.

mod audit;
mod guard;
mod packet;

pub use audit::{AuditFacts, OwnedPassFact, RefreshFact, RungAuditFact, TransportFacts, judge_endgoal};
pub use guard::{CoreFacts, judge_guard};
pub use packet::{PromotionFacts, compose_packet};

/// Version of the three documents.
const VERSION: &str = "1";
