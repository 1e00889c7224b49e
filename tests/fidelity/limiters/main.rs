//! Real limiters in real processes, and the engine's models of them: each decision of the one must be
//! that of the other at the time the real one saw.

mod decisions;
#[path = "../../it/folder.rs"]
mod folder;
mod haproxy;
mod judge;
mod limits;
#[path = "../local.rs"]
mod local;
mod npm;
mod redis;
mod server;
