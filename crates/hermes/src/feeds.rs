//! Feeds of live runs: one for all viewers of a run, and the body of the stream that each viewer gets.

mod body;
mod feed;
mod hub;

pub(crate) use body::{LiveBody, LiveSender};
pub(crate) use feed::{CountedViewer, FeedEnd, LiveFeed, join_few, keep_alive};
pub(crate) use hub::LiveHub;
