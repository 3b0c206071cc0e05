//! Documents of approvals: what is digested, compared, read and refused.

mod documents;
mod packet;
mod plan;
mod sample;

pub(crate) use sample::plan;
