//! Our own pipes as a transport of rmcp's.

use std::borrow::Cow;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData, GetExtensions, GetMeta,
    JsonRpcMessage, NumberOrString, ProgressToken, ServerResult,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use crate::server::incoming::Fault;
use crate::server::outbox::SendError;
use crate::server::wire::{Ticket, Wire, WireEnd};

/// What is added to rmcp's ids, which begin at 0: the handshake's ids come first, and no id is 0, which careless servers
/// take for none.
const FIRST_ID: u64 = 10;

pub struct WireTransport {
    wire: Wire,
    end: Arc<OnceLock<WireEnd>>,
}

impl WireTransport {
    /// Writes down in `end` why there are no more answers.
    pub fn new(wire: Wire, end: Arc<OnceLock<WireEnd>>) -> WireTransport {
        WireTransport { wire, end }
    }

    fn send_now(&mut self, mut message: TxJsonRpcMessage<RoleClient>) -> Result<(), SendError> {
        let mut request = None;
        match &mut message {
            JsonRpcMessage::Request(sent) => {
                let id = shift(&mut sent.id);
                sent.request
                    .get_meta_mut()
                    .set_progress_token(ProgressToken(sent.id.clone()));
                request = Some((id, ticket(&mut sent.request)));
            }
            JsonRpcMessage::Notification(sent) => {
                if let ClientNotification::CancelledNotification(cancelled) = &mut sent.notification
                    && let Some(id) = &mut cancelled.params.request_id
                {
                    let id = shift(id);
                    self.wire.forget(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        let Ok(text) = serde_json::to_vec(&message) else {
            return Err(SendError::Unwritable);
        };
        match request {
            Some((id, ticket)) => self.wire.request(id, text, ticket),
            None => self.wire.notify(text),
        }
    }
}

impl Transport<RoleClient> for WireTransport {
    type Error = SendError;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    /// Queues the message before it returns, so that the order is kept and nobody waits for a slow server.
    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        std::future::ready(self.send_now(message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let (id, outcome) = match self.wire.next().await {
                Ok(answer) => answer,
                Err(end) => {
                    let _ = self.end.set(end);
                    return None;
                }
            };
            let Some(id) = id
                .checked_sub(FIRST_ID)
                .and_then(|id| i64::try_from(id).ok())
            else {
                continue;
            };
            let id = NumberOrString::Number(id);
            return Some(match outcome {
                Ok(result) => {
                    let result = ServerResult::CustomResult(CustomResult::new(result));
                    JsonRpcMessage::response(result, id)
                }
                Err(fault) => JsonRpcMessage::error(error(fault), Some(id)),
            });
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        // The pipes close when this is dropped, which is next.
        Ok(())
    }
}

/// Replaces rmcp's id by the one on the wire.
fn shift(id: &mut NumberOrString) -> u64 {
    let number = match id {
        NumberOrString::Number(number) => u64::try_from(*number).unwrap_or_default(),
        NumberOrString::String(_) => 0,
    };
    let number = number + FIRST_ID;
    *id = NumberOrString::Number(i64::try_from(number).unwrap_or(i64::MAX));
    number
}

fn ticket(request: &mut ClientRequest) -> Ticket {
    match request {
        ClientRequest::CustomRequest(request) => request
            .extensions_mut()
            .remove::<Ticket>()
            .unwrap_or_default(),
        _ => Ticket::default(),
    }
}

fn error(fault: Fault) -> ErrorData {
    match i32::try_from(fault.code) {
        Ok(code) => ErrorData::new(ErrorCode(code), fault.message, fault.data),
        Err(_) => {
            let message = format!("{}: {}", fault.code, fault.message);
            ErrorData::new(ErrorCode(0), message, fault.data)
        }
    }
}
