//! Exported policies, run for real: what nginx and Redis decide by them must be what a replay of the same
//! requests says.

mod accepted;
#[path = "../../it/folder.rs"]
mod folder;
#[path = "../local.rs"]
mod local;
mod nginx;
mod redis;
mod replayed;
mod routes;
#[path = "../limiters/server.rs"]
mod server;
