//! The engine's program: found, copied, known by digest, asked who it is.

pub(crate) mod admit;
pub(crate) mod equip;
pub(crate) mod identity;
pub(crate) mod kept;
pub(crate) mod locate;
