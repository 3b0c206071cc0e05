//! Judgement on the way to Core: may a route be asked for, what of the end goal is proven, what does the packet say. Pure: facts
//! in, documents out.

mod audit;
mod guard;
mod packet;

pub use audit::{AuditFacts, OwnedPassFact, RefreshFact, RungAuditFact, TransportFacts, judge_endgoal};
pub use guard::{CoreFacts, judge_guard};
pub use packet::{PromotionFacts, compose_packet};

/// Version of the three documents.
const VERSION: &str = "1";
