//! A Redis for the length of a test.

use std::path::Path;
use std::process::Command;

use super::folder::Folder;
use super::local::Server;

/// A Redis that keeps nothing on disk, in a folder that goes with it.
pub(crate) struct Redis {
    server: Server,
    _folder: Folder,
}

impl Redis {
    pub(crate) fn start(program: &Path) -> Self {
        let folder = Folder::new();
        let server = Server::start(|port| {
            let mut command = Command::new(program);
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
            command.args(["--save", "", "--appendonly", "no", "--dir", &folder.path()]);
            command
        });
        Self { server, _folder: folder }
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.port()
    }
}
