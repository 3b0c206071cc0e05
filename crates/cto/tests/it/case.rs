//! The engine `case`, with a stand-in for its program that really speaks to a scripted model through the bridge.

mod ends;
mod gates;
mod health;
mod lives;
mod scene;
mod stages;
