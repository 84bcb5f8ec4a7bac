//! What takes the messages that the table of methods does not know, in the order in which they came.

use std::future::Future;

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::rpc::message::Failure;

/// A task beside the table of methods; dropping the handle ends it.
pub struct Lane {
    messages: mpsc::UnboundedSender<LaneMessage>,
    task: AbortOnDrop,
}

pub enum LaneMessage {
    Request {
        method: String,
        /// JSON, as the host wrote it; `None` where absent or `null`.
        params: Option<String>,
        /// Closed by the endpoint when the request is cancelled.
        answer: oneshot::Sender<Result<Box<RawValue>, Failure>>,
    },
    Notification {
        method: String,
        params: Option<String>,
    },
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Lane {
    /// Starts the task; it ends by itself when it has dealt with the last message.
    pub fn spawn<Task>(run: impl FnOnce(mpsc::UnboundedReceiver<LaneMessage>) -> Task) -> Lane
    where
        Task: Future<Output = ()> + Send + 'static,
    {
        let (messages, receiver) = mpsc::unbounded_channel();
        Lane {
            messages,
            task: AbortOnDrop(tokio::spawn(run(receiver))),
        }
    }

    /// Passes a request on; the channel breaks if the lane cannot answer.
    pub(crate) fn request(
        &self,
        method: String,
        params: Option<String>,
    ) -> oneshot::Receiver<Result<Box<RawValue>, Failure>> {
        let (answer, receiver) = oneshot::channel();
        // Where the lane has ended, the receiver's channel breaks and says so.
        let _ = self.messages.send(LaneMessage::Request {
            method,
            params,
            answer,
        });
        receiver
    }

    pub(crate) fn notify(&self, method: String, params: Option<String>) {
        // A lane that has ended needs no notifications.
        let _ = self
            .messages
            .send(LaneMessage::Notification { method, params });
    }

    /// Lets the task deal with what it has been given.
    pub(crate) async fn finish(self) {
        let Lane { messages, mut task } = self;
        drop(messages);
        // A task that panicked has ended as well.
        let _ = (&mut task.0).await;
    }
}
