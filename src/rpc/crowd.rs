//! Tells requests that wait for something from those that only have not had their turn yet.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The requests that wait for something.
#[derive(Clone, Default)]
pub(crate) struct Crowd(Arc<State>);

#[derive(Default)]
struct State {
    size: AtomicUsize,
    grown: Notify,
}

impl Crowd {
    pub(crate) fn size(&self) -> usize {
        self.0.size.load(Ordering::Acquire)
    }

    /// Returns when one more has come since the last time; for one waiter.
    pub(crate) async fn grows(&self) {
        self.0.grown.notified().await;
    }

    /// Runs a request, which joins the crowd when it has to wait for the first time and leaves it when it is done.
    pub(crate) async fn count<Output>(self, request: impl Future<Output = Output>) -> Output {
        let mut request = pin!(request);
        let mut place = None;
        std::future::poll_fn(|context| {
            let poll = request.as_mut().poll(context);
            if poll.is_pending() && place.is_none() {
                place = Some(Place::take(&self.0));
            }
            poll
        })
        .await
    }
}

struct Place<'a>(&'a State);

impl Place<'_> {
    fn take(state: &State) -> Place<'_> {
        state.size.fetch_add(1, Ordering::AcqRel);
        state.grown.notify_one();
        Place(state)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.size.fetch_sub(1, Ordering::AcqRel);
    }
}
