//! The engine's program: found, copied, identified by digest and by its own output.

pub(crate) mod admit;
pub(crate) mod equip;
pub(crate) mod identity;
pub(crate) mod kept;
pub(crate) mod locate;
