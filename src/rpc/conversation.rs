//! Decides what happens to each message of the host, and when the conversation ends.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;

use jsonrpsee::types::{Id, Params};
use jsonrpsee::{ConnectionId, Extensions, MethodCallback, Methods};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::JoinMap;
use tracing::{debug, error, trace, warn};

use crate::api::error::{CANCELLED, INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, OVERLOADED};
use crate::rpc::crowd::Crowd;
use crate::rpc::endpoint::{Exit, Options};
use crate::rpc::lane::Lane;
use crate::rpc::message::{Failure, Message, Request, answer, error_answer};
use crate::rpc::output::Output;
use crate::rpc::peer::Peer;
use crate::rpc::reader::Incoming;
use crate::rpc::table::CallContext;

/// The one owner of what is going on between the host and us.
pub(crate) struct Conversation {
    options: Options,
    methods: Methods,
    lane: Option<Lane>,
    peer: Peer,
    output: Output,
    /// Requests that are being served; each ends with its answer.
    running: JoinMap<Id<'static>, String>,
    /// What came behind the request that all others wait for.
    held: VecDeque<Held>,
    /// An `initialize` or `shutdown` that is being served: whatever comes behind it may rely on it.
    barrier: Option<Id<'static>>,
    shutting_down: bool,
    /// Set once nothing more is read: how the conversation ends when all is answered.
    ended: Option<Exit>,
    /// Those of the running ones that wait for something.
    crowd: Crowd,
    /// Set where an `exit` is held: a barrier that never lifts must not keep the process alive.
    exit_at: Option<Instant>,
}

enum Held {
    Request(Request),
    Notification {
        method: String,
        params: Params<'static>,
    },
    Exit,
}

enum Event {
    Finished(Id<'static>, Result<String, JoinError>),
    Incoming(Incoming),
    OutputClosed,
    ExitIsDue,
    /// What kept us from reading may be over.
    Relieved,
}

impl Conversation {
    pub(crate) fn new(
        options: Options,
        methods: Methods,
        lane: Option<Lane>,
        peer: Peer,
        output: Output,
    ) -> Conversation {
        Conversation {
            options,
            methods,
            lane,
            peer,
            output,
            running: JoinMap::new(),
            held: VecDeque::new(),
            barrier: None,
            shutting_down: false,
            ended: None,
            crowd: Crowd::default(),
            exit_at: None,
        }
    }

    pub(crate) async fn run(
        mut self,
        mut incoming: mpsc::Receiver<Incoming>,
        mut written: oneshot::Receiver<io::Result<()>>,
    ) -> Exit {
        let exit = loop {
            if let Some(exit) = self.ended
                && self.running.is_empty()
            {
                break exit;
            }
            let event = self.next_event(&mut incoming, &mut written).await;
            if let ControlFlow::Break(exit) = self.handle(event) {
                break exit;
            }
        };
        self.close(exit, written).await;
        exit
    }

    /// Waits for whatever happens next. Answers go before new requests, so that as few as can be are in flight.
    async fn next_event(
        &mut self,
        incoming: &mut mpsc::Receiver<Incoming>,
        written: &mut oneshot::Receiver<io::Result<()>>,
    ) -> Event {
        let max_unread = self.options.max_unread.saturating_mul(2);
        let is_unread = self.output.waiting() >= max_unread;
        let is_settling = self.is_settling();
        let listens = self.ended.is_none() && !is_unread && !is_settling;
        let exit_at = self.exit_at.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            Some((id, outcome)) = self.running.join_next() => Event::Finished(id, outcome),
            _ = written => Event::OutputClosed,
            () = sleep_until(exit_at), if self.exit_at.is_some() => Event::ExitIsDue,
            () = self.output.falls_below(max_unread), if is_unread => Event::Relieved,
            () = self.crowd.grows(), if is_settling => Event::Relieved,
            message = incoming.recv(), if listens => {
                Event::Incoming(message.unwrap_or(Incoming::End(Exit::EndOfInput)))
            }
        }
    }

    fn handle(&mut self, event: Event) -> ControlFlow<Exit> {
        match event {
            Event::Finished(id, outcome) => self.finish(id, outcome),
            Event::Incoming(Incoming::Message(message)) => self.receive(message),
            Event::Incoming(Incoming::End(exit)) => {
                self.peer.hang_up();
                self.ended = Some(exit);
                ControlFlow::Continue(())
            }
            Event::OutputClosed => ControlFlow::Break(Exit::OutputClosed),
            Event::ExitIsDue => ControlFlow::Break(self.asked()),
            Event::Relieved => ControlFlow::Continue(()),
        }
    }

    fn receive(&mut self, message: Message) -> ControlFlow<Exit> {
        match message {
            Message::Invalid(invalid) => {
                debug!(code = invalid.code, "{}", invalid.message);
                self.output.push(invalid.into_answer());
            }
            Message::Answer { id, outcome } => {
                if let Some(id) = id {
                    self.peer.answered(&id, outcome);
                }
            }
            Message::Request(request) => match self.refusal(&request) {
                Some(refusal) => self.output.push(refusal),
                None => return self.hold_or_take(Held::Request(request)),
            },
            Message::Notification { method, params } => match method.as_str() {
                "$/cancelRequest" => self.cancel(&params),
                "exit" => {
                    if self.barrier.is_some() {
                        self.exit_at = Some(Instant::now() + self.options.exit_grace);
                    }
                    return self.hold_or_take(Held::Exit);
                }
                _ => return self.hold_or_take(Held::Notification { method, params }),
            },
        }
        ControlFlow::Continue(())
    }

    /// Why a request is not even begun.
    fn refusal(&self, request: &Request) -> Option<String> {
        let id = &request.id;
        if self.is_in_flight(id) {
            let message = format!("a request with the id `{id}` is in flight already");
            return Some(error_answer(id, INVALID_REQUEST, message));
        }
        if self.is_full() {
            let message = "too many requests are in flight; try again later";
            return Some(error_answer(id, OVERLOADED, message));
        }
        if self.output.waiting() >= self.options.max_unread {
            let message = "too many answers are unread; read them and try again";
            return Some(error_answer(id, OVERLOADED, message));
        }
        None
    }

    fn is_in_flight(&self, id: &Id<'static>) -> bool {
        let is_held = |held: &Held| matches!(held, Held::Request(request) if request.id == *id);
        self.running.contains_key(id) || self.held.iter().any(is_held)
    }

    fn is_full(&self) -> bool {
        self.running.len() + self.held.len() >= self.options.max_in_flight
    }

    /// Whether so many requests are in flight only because some have not had their turn: a burst is no crowd.
    fn is_settling(&self) -> bool {
        self.is_full() && self.crowd.size() + self.held.len() < self.options.max_in_flight
    }

    fn hold_or_take(&mut self, message: Held) -> ControlFlow<Exit> {
        if self.barrier.is_some() {
            self.held.push_back(message);
            return ControlFlow::Continue(());
        }
        self.take(message)
    }

    fn take(&mut self, message: Held) -> ControlFlow<Exit> {
        match message {
            Held::Request(request) => self.begin(request),
            Held::Notification { method, params } => {
                if let Some(lane) = &self.lane {
                    lane.notify(method, owned(&params));
                }
            }
            Held::Exit => return ControlFlow::Break(self.asked()),
        }
        ControlFlow::Continue(())
    }

    fn begin(&mut self, request: Request) {
        let Request { id, method, params } = request;
        trace!(%id, method, "request");
        if self.shutting_down {
            let message = "after `shutdown`, only `exit` may follow";
            self.output
                .push(error_answer(&id, INVALID_REQUEST, message));
            return;
        }
        let bare_name = method.strip_prefix(self.options.prefix);
        let callback = bare_name.and_then(|name| self.methods.method(name));
        if callback.is_none() && self.lane.is_none() {
            let message = format!("there is no method `{method}`");
            self.output
                .push(error_answer(&id, METHOD_NOT_FOUND, message));
            return;
        }
        let name = bare_name.filter(|_| callback.is_some()).unwrap_or(&method);
        if matches!(name, "initialize" | "shutdown") {
            self.barrier = Some(id.clone());
            self.shutting_down = name == "shutdown";
        }
        match (callback, &self.lane) {
            (Some(callback), _) => {
                let mut extensions = Extensions::new();
                extensions.insert(CallContext {
                    id: id.clone(),
                    peer: self.peer.clone(),
                });
                let call = call(callback.clone(), id.clone(), params, extensions);
                self.running.spawn(id, self.crowd.clone().count(call));
            }
            (None, Some(lane)) => {
                let outcome = lane.request(method, owned(&params));
                let answered = answer_of_lane(id.clone(), outcome);
                self.running.spawn(id, self.crowd.clone().count(answered));
            }
            (None, None) => {}
        }
    }

    fn cancel(&mut self, params: &Params<'static>) {
        #[derive(Deserialize)]
        struct CancelParams<'a> {
            #[serde(borrow)]
            id: Id<'a>,
        }
        let params = params.as_str().unwrap_or("{}");
        let Ok(CancelParams { id }) = serde_json::from_str(params) else {
            return;
        };
        let id = id.into_owned();
        let is_it = |held: &Held| matches!(held, Held::Request(request) if request.id == id);
        if let Some(position) = self.held.iter().position(is_it) {
            self.held.remove(position);
            self.output.push(cancelled(&id));
        }
        // Its answer follows once its future is dropped, or is the real one if it has just finished.
        self.running.abort(&id);
    }

    fn finish(&mut self, id: Id<'static>, outcome: Result<String, JoinError>) -> ControlFlow<Exit> {
        self.push_answer(&id, outcome);
        if self.barrier.as_ref() == Some(&id) {
            self.barrier = None;
        }
        while self.barrier.is_none()
            && let Some(message) = self.held.pop_front()
        {
            self.take(message)?;
        }
        ControlFlow::Continue(())
    }

    fn push_answer(&self, id: &Id<'static>, outcome: Result<String, JoinError>) {
        self.output.push(match outcome {
            Ok(answer) => answer,
            Err(error) if error.is_cancelled() => cancelled(id),
            Err(error) => {
                error!(%id, %error, "a request failed");
                error_answer(id, INTERNAL_ERROR, "internal error: the request failed")
            }
        });
    }

    fn asked(&self) -> Exit {
        Exit::Asked {
            after_shutdown: self.shutting_down,
        }
    }

    /// Lets the last answers out and ends everything.
    async fn close(mut self, exit: Exit, written: oneshot::Receiver<io::Result<()>>) {
        self.peer.hang_up();
        match exit {
            Exit::OutputClosed => {}
            Exit::EndOfInput | Exit::PositionLost => {
                if let Some(lane) = self.lane.take() {
                    lane.finish().await;
                }
                self.output.end();
                // Takes as long as the host takes to read, or to close its end.
                let _ = written.await;
            }
            Exit::Asked { .. } => {
                let grace = self.options.exit_grace;
                let is_over = timeout(grace, async {
                    self.give_up_requests().await;
                    self.output.end();
                    // Broken or not, there is nothing more to write.
                    let _ = written.await;
                });
                if is_over.await.is_err() {
                    warn!(?grace, "the host did not take its last answers");
                }
            }
        }
    }

    async fn give_up_requests(&mut self) {
        self.running.abort_all();
        while let Some((id, outcome)) = self.running.join_next().await {
            self.push_answer(&id, outcome);
        }
        for held in std::mem::take(&mut self.held) {
            if let Held::Request(request) = held {
                self.output.push(cancelled(&request.id));
            }
        }
    }
}

async fn call(
    callback: MethodCallback,
    id: Id<'static>,
    params: Params<'static>,
    extensions: Extensions,
) -> String {
    const ONE_CONNECTION: ConnectionId = ConnectionId(0);
    const ANY_SIZE: usize = usize::MAX;
    let response = match callback {
        MethodCallback::Async(callback) => {
            callback(id, params, ONE_CONNECTION, ANY_SIZE, extensions).await
        }
        MethodCallback::Sync(callback) => callback(id, params, ANY_SIZE, extensions),
        MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_) => {
            return error_answer(id, METHOD_NOT_FOUND, "subscriptions are not supported");
        }
    };
    String::from(Box::<str>::from(response.into_json()))
}

async fn answer_of_lane(
    id: Id<'static>,
    outcome: oneshot::Receiver<Result<Box<RawValue>, Failure>>,
) -> String {
    match outcome.await {
        Ok(outcome) => answer(id, outcome),
        Err(_) => error_answer(id, INTERNAL_ERROR, "internal error: the request failed"),
    }
}

fn cancelled(id: &Id<'static>) -> String {
    error_answer(id, CANCELLED, "the request was cancelled")
}

/// The params as JSON; `None` where absent or `null`.
fn owned(params: &Params<'static>) -> Option<String> {
    params
        .as_str()
        .filter(|text| *text != "null")
        .map(str::to_owned)
}
