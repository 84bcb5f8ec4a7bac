//! What the server knows of one editor, and what it does when the editor speaks.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    Diagnostic, DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    InitializeParams, InitializeResult, PublishDiagnosticsParams, ServerCapabilities, ServerInfo,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, Url,
};
use tower_lsp::{LanguageServer, async_trait};
use tracing::warn;

use crate::lsp::Diagnose;
use crate::lsp::diagnostics::diagnostic;
use crate::lsp::documents::Document;
use crate::rpc::peer::Peer;

pub(super) struct Editor {
    peer: Peer,
    diagnose: Diagnose,
    /// The library shares the server between requests; notifications, which alone change this, come one by one.
    documents: Mutex<HashMap<Url, Document>>,
}

impl Editor {
    pub(super) fn new(peer: Peer, diagnose: Diagnose) -> Editor {
        Editor {
            peer,
            diagnose,
            documents: Mutex::default(),
        }
    }

    fn documents(&self) -> MutexGuard<'_, HashMap<Url, Document>> {
        // A panic while a document is looked at leaves the map whole.
        self.documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the editor what is wrong with a document, or that nothing is any more.
    fn publish(&self, uri: Url, document: &Document) {
        if !document.is_config() {
            return;
        }
        let problems = (self.diagnose)(document.text());
        let diagnostics = problems.iter().map(diagnostic).collect();
        self.publish_all(uri, diagnostics, Some(document.version()));
    }

    fn publish_all(&self, uri: Url, diagnostics: Vec<Diagnostic>, version: Option<i32>) {
        let params = PublishDiagnosticsParams::new(uri, diagnostics, version);
        self.peer.notify("textDocument/publishDiagnostics", params);
    }
}

#[async_trait]
impl LanguageServer for Editor {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            ..TextDocumentSyncOptions::default()
        };
        Ok(InitializeResult {
            capabilities: ServerCapabilities {
                text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        })
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let opened = params.text_document;
        let document = Document::new(&opened.uri, opened.version, opened.text);
        let mut documents = self.documents();
        let document = documents.entry(opened.uri.clone()).insert_entry(document);
        self.publish(opened.uri, document.get());
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri;
        let mut documents = self.documents();
        let Some(document) = documents.get_mut(&uri) else {
            warn!(%uri, "a document changed that is not open");
            return;
        };
        document.change(params.text_document.version, params.content_changes);
        self.publish(uri, document);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri;
        let document = self.documents().remove(&uri);
        if document.is_some_and(|document| document.is_config()) {
            self.publish_all(uri, Vec::new(), None);
        }
    }
}
