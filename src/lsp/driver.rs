//! Feeds tower-lsp's service, which knows the protocol's methods and states, without its transport.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tower::Service;
use tower_lsp::jsonrpc::{Id, Request, Response};
use tower_lsp::{ExitedError, LanguageServer, LspService};
use tracing::{error, warn};

use crate::api::error::{INTERNAL_ERROR, METHOD_NOT_FOUND, PARSE_ERROR};
use crate::rpc::lane::LaneMessage;
use crate::rpc::message::Failure;

type Outcome = Result<Box<RawValue>, Failure>;

pub(super) struct Driver<Server> {
    service: LspService<Server>,
    running: JoinSet<()>,
    last_id: i64,
    /// Hears the ids of requests whose answers nobody wants any more.
    unwanted: mpsc::UnboundedReceiver<i64>,
    unwanted_sender: mpsc::UnboundedSender<i64>,
}

enum Event {
    Message(Option<LaneMessage>),
    Unwanted(i64),
    Finished,
}

impl<Server: LanguageServer> Driver<Server> {
    pub(super) fn new(service: LspService<Server>) -> Driver<Server> {
        let (unwanted_sender, unwanted) = mpsc::unbounded_channel();
        Driver {
            service,
            running: JoinSet::new(),
            last_id: 0,
            unwanted,
            unwanted_sender,
        }
    }

    /// Deals with messages until none can come any more and every request is answered.
    pub(super) async fn run(mut self, mut messages: mpsc::UnboundedReceiver<LaneMessage>) {
        let mut is_ended = false;
        while !is_ended || !self.running.is_empty() {
            let event = tokio::select! {
                biased;
                Some(id) = self.unwanted.recv() => Event::Unwanted(id),
                Some(_) = self.running.join_next() => Event::Finished,
                message = messages.recv(), if !is_ended => Event::Message(message),
            };
            match event {
                Event::Message(Some(message)) => self.take(message).await,
                Event::Message(None) => is_ended = true,
                Event::Unwanted(id) => self.cancel(id).await,
                Event::Finished => {}
            }
        }
    }

    async fn take(&mut self, message: LaneMessage) {
        match message {
            LaneMessage::Notification { method, params } => match read(params) {
                Ok(params) => {
                    self.notify(request(method, None, params)).await;
                }
                Err(failure) => {
                    warn!(method, %failure, "a notification of the editor is malformed")
                }
            },
            LaneMessage::Request {
                method,
                params,
                answer,
            } => match read(params) {
                Ok(params) => self.request(method, params, answer).await,
                // Fails where the request was cancelled, and then nobody needs the answer.
                Err(failure) => drop(answer.send(Err(failure))),
            },
        }
    }

    /// Waits for the notification to be dealt with. A task of its own keeps a panic from ending the lane.
    async fn notify(&mut self, notification: Request) {
        let method = notification.method().to_owned();
        let done = tokio::spawn(self.service.call(notification));
        if let Err(error) = done.await {
            error!(method, %error, "a notification of the editor was not dealt with");
        }
    }

    async fn request(
        &mut self,
        method: String,
        params: Option<Value>,
        answer: oneshot::Sender<Outcome>,
    ) {
        self.last_id += 1;
        let id = self.last_id;
        let changes_state = matches!(method.as_str(), "initialize" | "shutdown");
        let response = self.service.call(request(method, Some(id), params));
        if changes_state {
            // A panic breaks the channel of the answer, which the endpoint reports.
            let _ = tokio::spawn(async move { send(answer, response.await) }).await;
            return;
        }
        let unwanted = self.unwanted_sender.clone();
        self.running.spawn(serve(id, response, answer, unwanted));
    }

    /// Lets the service itself drop a request: it keeps a note of each that it has begun.
    async fn cancel(&mut self, id: i64) {
        let params = serde_json::json!({ "id": id });
        self.notify(request("$/cancelRequest".to_owned(), None, Some(params)))
            .await;
    }
}

async fn serve(
    id: i64,
    response: impl Future<Output = Result<Option<Response>, ExitedError>>,
    mut answer: oneshot::Sender<Outcome>,
    unwanted: mpsc::UnboundedSender<i64>,
) {
    let mut response = std::pin::pin!(response);
    tokio::select! {
        biased;
        response = &mut response => send(answer, response),
        () = answer.closed() => {
            // The driver lives as long as this task.
            let _ = unwanted.send(id);
            let _ = response.await;
        }
    }
}

fn send(answer: oneshot::Sender<Outcome>, response: Result<Option<Response>, ExitedError>) {
    let outcome = match response {
        Ok(Some(response)) => outcome(response),
        // The service is silent about methods such as `$/unknown`, which a notification may have and a request not.
        Ok(None) => Err(failure(METHOD_NOT_FOUND, "there is no such method")),
        Err(exited) => Err(failure(INTERNAL_ERROR, &exited.to_string())),
    };
    // Fails where the request was cancelled, and then nobody needs the answer.
    let _ = answer.send(outcome);
}

fn outcome(response: Response) -> Outcome {
    match response.into_parts().1 {
        Ok(result) => to_raw_value(&result)
            .map_err(|error| failure(INTERNAL_ERROR, &format!("internal error: {error}"))),
        Err(error) => Err(Failure {
            code: i32::try_from(error.code.code()).unwrap_or(INTERNAL_ERROR),
            message: error.message.into_owned(),
            data: error.data.and_then(|data| to_raw_value(&data).ok()),
        }),
    }
}

fn read(params: Option<String>) -> Result<Option<Value>, Failure> {
    params
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| failure(PARSE_ERROR, &format!("invalid JSON: {error}")))
}

fn request(method: String, id: Option<i64>, params: Option<Value>) -> Request {
    let mut request = Request::build(method);
    if let Some(params) = params {
        request = request.params(params);
    }
    if let Some(id) = id {
        request = request.id(Id::Number(id));
    }
    request.finish()
}

fn failure(code: i32, message: &str) -> Failure {
    Failure {
        code,
        message: message.to_owned(),
        data: None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;
    use tower_lsp::async_trait;
    use tower_lsp::jsonrpc::Result;
    use tower_lsp::lsp_types::{Hover, HoverParams, InitializeParams, InitializeResult};

    use super::*;
    use crate::rpc::lane::Lane;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Never answers a hover, and tells when one begins and when it is dropped.
    struct Slow(mpsc::UnboundedSender<&'static str>);

    struct Dropped(mpsc::UnboundedSender<&'static str>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }

    #[async_trait]
    impl LanguageServer for Slow {
        async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
            Ok(InitializeResult::default())
        }

        async fn shutdown(&self) -> Result<()> {
            Ok(())
        }

        async fn hover(&self, _: HoverParams) -> Result<Option<Hover>> {
            let _dropped = Dropped(self.0.clone());
            let _ = self.0.send("begun");
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_request_whose_answer_nobody_wants_is_dropped() {
        let (events_sender, mut events) = mpsc::unbounded_channel();
        let (service, _unused) = LspService::new(|_| Slow(events_sender));
        let lane = Lane::spawn(|messages| Driver::new(service).run(messages));
        let params = r#"{"capabilities": {}}"#.to_owned();
        let initialized = lane.request("initialize".to_owned(), Some(params));
        assert!(initialized.await.unwrap().is_ok());

        let params =
            r#"{"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}"#;
        let answer = lane.request("textDocument/hover".to_owned(), Some(params.to_owned()));
        let event = timeout(PATIENCE, events.recv()).await.unwrap();
        assert_eq!(event, Some("begun"));
        drop(answer);
        let event = timeout(PATIENCE, events.recv()).await.unwrap();
        assert_eq!(event, Some("dropped"));
        timeout(PATIENCE, lane.finish()).await.unwrap();
    }
}
