//! Drives one connection with rmcp. Its types are named here and in `mcp/` alone.
//!
//! Of rmcp, a connection over stdio uses the protocol's model and the service loop behind `serve_directly`, which hands
//! out request ids, pairs requests with answers, cancels, and adds the `_meta` of the stateless revision. The loop is
//! the same for every transport, so that calls and lists need not know which one they run on.
//! What lies below it is ours ([`Wire`]): rmcp's own stdio transport waits for ever behind a full pipe, loses a call
//! whose answer it cannot read, and answers garbage. Timeouts are ours as well, and answers come up as plain JSON, since
//! one odd member would fail a typed answer as a whole.

mod transport;

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientCapabilities, ClientConfig,
    ClientRequest, CustomRequest, ErrorCode, Implementation, InitializeRequestParams,
    ProtocolVersion, RequestMetaObject, ServerCapabilities, ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError, serve_directly,
};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::server::HostSupport;
use crate::server::incoming::Fault;
use crate::server::mcp::transport::WireTransport;
use crate::server::outbox::{SendError, Written};
use crate::server::wire::{Ticket, Wire, WireEnd};

/// Refuses a request because of its protocol version.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0 as i64;
pub const METHOD_NOT_FOUND: i64 = ErrorCode::METHOD_NOT_FOUND.0 as i64;

/// Which of the two protocols that are both called MCP a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, then a session.
    Session,
    /// From 2026-07-28 on: no session, every request carries what the server must know.
    Stateless,
}

/// The versions that we speak, newest first.
pub fn known_versions(era: Era) -> impl Iterator<Item = &'static str> {
    ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .rev()
        .filter(move |version| version.has_initialize() == (era == Era::Session))
        .map(ProtocolVersion::as_str)
}

/// Params of `initialize`, asking for this version.
pub fn initialize_params(support: &HostSupport, version: &str) -> Value {
    let params = InitializeRequestParams::new(capabilities(support), ourselves())
        .with_protocol_version(known(version));
    serde_json::to_value(params).unwrap_or_default()
}

/// Params of `server/discover`, asking in this version.
pub fn discover_params(support: &HostSupport, version: &str) -> Value {
    let mut meta = RequestMetaObject::new();
    meta.set_protocol_version(known(version));
    meta.set_client_info(ourselves());
    meta.set_client_capabilities(capabilities(support));
    json!({ "_meta": meta })
}

fn ourselves() -> Implementation {
    Implementation::new("toolcrib", env!("CARGO_PKG_VERSION"))
}

fn capabilities(support: &HostSupport) -> ClientCapabilities {
    serde_json::from_value(support.capabilities()).unwrap_or_default()
}

fn known(version: &str) -> ProtocolVersion {
    ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .find(|known| known.as_str() == version)
        .cloned()
        .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// How long cancellations may take to be written once the connection closes.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// A connection that has shaken hands. Dropping it closes the server's input.
pub struct Session {
    peer: Peer<RoleClient>,
    closing: CancellationToken,
    /// Cancellations of requests on their way to the server.
    cancelling: TaskTracker,
    end: Arc<OnceLock<WireEnd>>,
    ended: CancellationToken,
    _close: DropGuard,
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The server answered with an error.
    Fault(Fault),
    /// It was certainly not sent.
    NotSent(SendError),
    /// The connection ended before the answer.
    Closed,
}

impl Session {
    /// Takes over a connection after its handshake.
    pub fn start(wire: Wire, era: Era, version: &str, support: &HostSupport) -> Session {
        // With the version of a session, rmcp adds nothing to a request.
        let version = match era {
            Era::Session => ProtocolVersion::LATEST_WITH_INITIALIZE,
            Era::Stateless => known(version),
        };
        let peer = ServerPeerInfo::new(version, ServerCapabilities::default());
        let client = ClientConfig::new(capabilities(support), ourselves());
        let end = Arc::new(OnceLock::new());
        let running = serve_directly(client, WireTransport::new(wire, end.clone()), Some(peer));
        let session_peer = running.peer().clone();
        let closing = CancellationToken::new();
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let closed = closing.clone();
        let cancelling = TaskTracker::new();
        let last_words = cancelling.clone();
        tokio::spawn(async move {
            let _ended = guard;
            let stop = running.cancellation_token();
            let mut waiting = pin!(running.waiting());
            tokio::select! {
                _ = &mut waiting => return,
                () = closed.cancelled() => {}
            }
            // What was cancelled just before is still told: rmcp's loop forgets its queue when it stops.
            last_words.close();
            tokio::select! {
                _ = &mut waiting => return,
                _ = tokio::time::timeout(CLOSE_GRACE, last_words.wait()) => stop.cancel(),
            }
            // A loop that panicked has ended as well.
            let _ = waiting.await;
        });
        Session {
            peer: session_peer,
            _close: closing.clone().drop_guard(),
            closing,
            cancelling,
            end,
            ended,
        }
    }

    /// Sends a request. Dropping what it returns before the answer cancels the request.
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        ticket: Ticket,
    ) -> Result<Request, Failure> {
        let written = ticket.written.clone();
        let mut request = CustomRequest::new(method, Some(params));
        request.extensions.insert(ticket);
        let request = ClientRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        match sent {
            Ok(handle) => Ok(Request {
                handle,
                written,
                is_answered: false,
                cancelling: self.cancelling.clone(),
            }),
            Err(_) => Err(Failure::NotSent(SendError::Closed)),
        }
    }

    /// Closes the server's input.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Ends with the connection; says why, unless it was closed from here.
    pub async fn ended(&self) -> Option<WireEnd> {
        self.ended.cancelled().await;
        self.end.get().cloned()
    }
}

/// A request that waits for its answer.
pub struct Request {
    handle: RequestHandle<RoleClient>,
    written: Written,
    is_answered: bool,
    cancelling: TaskTracker,
}

impl Request {
    /// The result as the server sent it. Dropping the future loses nothing.
    pub async fn answer(&mut self) -> Result<Value, Failure> {
        let answer = (&mut self.handle.rx).await;
        self.is_answered = true;
        match answer {
            Ok(Ok(ServerResult::CustomResult(result))) => Ok(result.0),
            // The transport makes no others.
            Ok(Ok(result)) => Ok(serde_json::to_value(result).unwrap_or_default()),
            Ok(Err(ServiceError::McpError(error))) => Err(Failure::Fault(Fault {
                code: error.code.0.into(),
                message: error.message.into_owned(),
                data: error.data,
            })),
            Ok(Err(ServiceError::TransportSend(error))) => {
                let cause = error.error.downcast::<SendError>();
                let cause = cause.map_or(SendError::Closed, |cause| *cause);
                Err(Failure::NotSent(cause))
            }
            Ok(Err(_)) | Err(_) if !self.written.is_set() => {
                Err(Failure::NotSent(SendError::Closed))
            }
            Ok(Err(_)) | Err(_) => Err(Failure::Closed),
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let reason = Some("no longer wanted".to_owned());
        let params = CancelledNotificationParam::new(Some(self.handle.id.clone()), reason);
        let cancelled = CancelledNotification::new(params);
        let peer = self.handle.peer.clone();
        let mut sending =
            Box::pin(async move { drop(peer.send_notification(cancelled.into()).await) });
        // The first poll puts it into rmcp's queue, behind its request; the waiting for its being written is left to a
        // task. Unconstrained, or a task that has used up its budget would not get that far.
        let first = pin!(tokio::task::unconstrained(sending.as_mut()));
        let queued = first
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending();
        // Without a runtime there is no connection any more either.
        if queued && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.cancelling.spawn_on(sending, &runtime);
        }
    }
}
