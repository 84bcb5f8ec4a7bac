//! Serves editors beside the table of methods: what the Language Server Protocol asks about a configuration.

use tower_lsp::LspService;

use crate::config::Problem;
use crate::lsp::editor::Editor;
use crate::rpc::lane::Lane;
use crate::rpc::peer::Peer;

mod diagnostics;
mod documents;
mod driver;
mod editor;

/// What begins the names of toolcrib's own methods beside those of the Language Server Protocol.
pub const PREFIX: &str = "toolcrib/";

/// Finds everything that is wrong with the text of a configuration.
pub type Diagnose = fn(&str) -> Vec<Problem>;

/// Starts the lane for an endpoint whose methods begin with [`PREFIX`]; needs a running tokio.
///
/// Notifications are dealt with one after the other, in the order in which the editor sent them, and a request sees
/// all that came before it; requests run beside each other.
pub fn lane(peer: Peer, diagnose: Diagnose) -> Lane {
    // tower-lsp's own way to the editor has room for one message and waits for it, so the peer is used instead.
    let (service, _unused) = LspService::new(|_| Editor::new(peer, diagnose));
    Lane::spawn(|messages| driver::Driver::new(service).run(messages))
}
