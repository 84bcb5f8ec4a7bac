//! Keeps a sentence encoder running in the background: its model read, every tool's vector made, both ready for a search.
//!
//! One thread of low priority owns all of it. It makes what is missing, keeps it on disk, and publishes snapshots;
//! whoever searches takes the latest one and waits for nothing.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::config;
use crate::encoder::worker::{Order, Worker};
use crate::search::Index;
use crate::search::encoder::Encoder;
use crate::search::encoder::semantic::{Semantic, Vectors};
use crate::search::encoder::sentence::Sentence;

mod cache;
pub mod model;
mod worker;

/// A running encoder; dropping it ends its thread after the few texts that it is at.
pub struct Handle {
    reader: Reader,
}

/// What a search uses of an encoder. Cheap to clone; does not keep its thread alive.
#[derive(Clone)]
pub struct Reader {
    orders: mpsc::Sender<Order>,
    state: watch::Receiver<State>,
}

#[derive(Clone)]
enum State {
    Starting,
    Ready(Arc<Known>),
    /// It never will be, for this reason.
    Failed(Arc<str>),
}

/// What some queries say, and what the tools say that they are asked among.
pub struct Meanings {
    known: Arc<Known>,
    sentences: Vec<Sentence>,
}

/// A model, and the vectors that it has made so far.
struct Known {
    encoder: Arc<Encoder>,
    vectors: Vectors,
}

/// Why the tools were not read when somebody waited for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error("{0}")]
    Failed(Arc<str>),
    #[error("the sentence encoder has not read all tools yet, they are ranked without it")]
    Late,
    #[error("the sentence encoder has ended, the tools are ranked without it")]
    Ended,
}

/// Where models and vectors may lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Folders that may be a model's, the likeliest first.
    pub models: Vec<PathBuf>,
    /// For the vectors; `None` where there is no place for them, so that they are made anew each time.
    pub cache: Option<PathBuf>,
}

impl Handle {
    /// Starts to read the model that is configured, where one is; `complain` is told why it cannot be used.
    ///
    /// Returns at once: also the looking is done by the thread.
    pub fn start(
        config: &config::Encoder,
        complain: impl Fn(String) + Send + 'static,
    ) -> Option<Handle> {
        let named = match config {
            config::Encoder::Off => return None,
            config::Encoder::Auto => None,
            config::Encoder::Path(path) => Some(path.clone()),
        };
        Some(Handle::start_in(
            move || Folders::of_this_process(named.as_deref()),
            complain,
        ))
    }

    fn start_in(
        folders: impl FnOnce() -> Folders + Send + 'static,
        complain: impl Fn(String) + Send + 'static,
    ) -> Handle {
        let (orders, received) = mpsc::channel();
        let (publisher, state) = watch::channel(State::Starting);
        let work = move || match Worker::start(&folders(), publisher.clone()) {
            Ok(worker) => worker.run(&received),
            Err(error) => {
                let reason = format!(
                    "`tool_search.encoder` is not used, the search ranks without it: {error}"
                );
                tracing::warn!("{reason}");
                publisher.send_replace(State::Failed(reason.as_str().into()));
                complain(reason);
            }
        };
        let thread = thread::Builder::new().name("encoder".to_owned());
        if let Err(error) = thread.spawn(work) {
            // The reader finds nobody at the other end, as after a complaint.
            tracing::warn!(%error, "no thread for the sentence encoder");
        }
        Handle {
            reader: Reader { orders, state },
        }
    }

    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Ends its thread and waits until what it has made is on disk, at most so long.
    pub async fn end(self, limit: Duration) {
        let mut state = self.reader.state.clone();
        drop(self);
        let ended = async {
            // Whoever is still reading the model has made nothing.
            while !matches!(*state.borrow_and_update(), State::Starting)
                && state.changed().await.is_ok()
            {}
        };
        if timeout(limit, ended).await.is_err() {
            tracing::debug!("the sentence encoder was not done in time");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.reader.orders.send(Order::Stop);
    }
}

impl Reader {
    /// Asks for the vectors of all tools of an index, before those that were asked for earlier.
    pub fn want(&self, index: &Index) {
        let _ = self.orders.send(Order::Want(index.clone()));
    }

    /// What the queries say, to search the index with.
    ///
    /// `None` where a tool's vector is not made yet, which is then asked for, or where the processor is too busy to
    /// read the queries in time.
    pub async fn meanings(
        &self,
        index: &Index,
        queries: &[String],
        limit: Duration,
    ) -> Option<Meanings> {
        let state = self.state.borrow().clone();
        let Some(known) = state.covering(index).cloned() else {
            self.want(index);
            return None;
        };
        let queries = queries.iter().map(|query| index.in_english(query));
        let queries: Vec<String> = queries.map(Cow::into_owned).collect();
        let encoder = known.encoder.clone();
        let work = tokio::task::spawn_blocking(move || encoder.encode(&queries));
        match timeout(limit, work).await {
            Ok(Ok(sentences)) => Some(Meanings { known, sentences }),
            Ok(Err(error)) => {
                tracing::error!(%error, "the sentence encoder failed on a query");
                None
            }
            Err(_) => {
                tracing::debug!("the sentence encoder is too slow for this query");
                None
            }
        }
    }

    /// Waits until every tool of the index has its vector, at most so long.
    pub async fn read(&self, index: &Index, limit: Duration) -> Result<(), Unread> {
        let mut state = self.state.clone();
        self.want(index);
        let is_settled =
            |state: &State| matches!(state, State::Failed(_)) || state.covering(index).is_some();
        match timeout(limit, state.wait_for(is_settled)).await {
            Err(_) => Err(Unread::Late),
            Ok(Err(_)) => Err(Unread::Ended),
            Ok(Ok(state)) => match &*state {
                State::Failed(reason) => Err(Unread::Failed(reason.clone())),
                State::Starting | State::Ready(_) => Ok(()),
            },
        }
    }
}

impl State {
    /// What is known, if that is every tool of the index.
    fn covering(&self, index: &Index) -> Option<&Arc<Known>> {
        match self {
            State::Ready(known) if index.is_covered_by(&known.vectors) => Some(known),
            State::Starting | State::Ready(_) | State::Failed(_) => None,
        }
    }
}

impl Meanings {
    /// Of one of the queries, by its place among them.
    pub fn of(&self, query: usize) -> Option<Semantic<'_>> {
        Some(Semantic {
            query: self.sentences.get(query)?,
            vectors: &self.known.vectors,
        })
    }
}

#[cfg(test)]
mod tests;
