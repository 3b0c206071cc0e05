//! The bridge between real sockets: a scripted model server behind it, plain or hostile clients in front of it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set its scene up must stop")]

mod clients;
mod deny;
mod endings;
mod limits;
mod pass;
mod probe;
mod replay;
mod sdk;
mod stop;
mod streams;
mod tls;
mod translate;
mod upstreams;
mod world;
