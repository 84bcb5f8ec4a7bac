//! The thread that makes vectors: which of them next, and when are they published and saved?

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::{debug, info, warn};

use crate::encoder::cache::Cache;
use crate::encoder::model::{self, Failure};
use crate::encoder::{Folders, Known, State};
use crate::search::Index;
use crate::search::encoder::Encoder;
use crate::search::encoder::semantic::{Key, Vectors, text};

/// Texts that are encoded together: enough to be quick, few enough to stop soon.
const BATCH: usize = 8;

/// Indexes that wait for their vectors; of more, the oldest is left out, for it will be asked for again if it matters.
const WAITING: usize = 16;

/// Vectors that are kept, a few catalogs' worth; beyond that, only those of the last index are.
const KEPT: usize = 50_000;

/// How long after a start vectors are saved while many are made; after twice as long again, and so on up to the longest
/// pause, so that little is lost when the process is killed.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How much less pressing this work is than everybody else's.
const NICE: i32 = 10;

pub enum Order {
    Want(Index),
    Stop,
}

pub struct Worker {
    encoder: Arc<Encoder>,
    vectors: Vectors,
    cache: Option<Cache>,
    /// When vectors were saved last, and whether there are new ones since.
    saved: Instant,
    is_unsaved: bool,
    /// How long no vectors are saved after that, unless none are lacking.
    pause: Duration,
    /// The keys of the texts that were asked for since the start.
    used: HashSet<Key>,
    waiting: Vec<Index>,
    publisher: watch::Sender<State>,
}

impl Worker {
    /// Reads a model and the vectors that it made before.
    pub fn start(folders: &Folders, publisher: watch::Sender<State>) -> Result<Worker, Failure> {
        // On Linux this is of the calling thread alone. Elsewhere it may be of the whole process, so it is not done.
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::setpriority_process(None, NICE) {
            debug!(%error, "the encoder has no lower priority");
        }
        let started = Instant::now();
        let model = model::load(&folders.models)?;
        let cache = folders
            .cache
            .as_ref()
            .map(|folder| Cache::new(folder, &model.fingerprint, model.encoder.width()));
        let vectors = cache.as_ref().map(Cache::read).unwrap_or_default();
        info!(folder = %model.folder.display(), n_vectors = vectors.len(), took = ?started.elapsed(),
            "sentence encoder is ready");
        let worker = Worker {
            encoder: Arc::new(model.encoder),
            vectors,
            cache,
            saved: Instant::now(),
            is_unsaved: false,
            pause: FIRST_PAUSE,
            used: HashSet::new(),
            waiting: Vec::new(),
            publisher,
        };
        worker.publish();
        Ok(worker)
    }

    /// Works until it is told to stop, or nobody is left who could tell it anything.
    pub fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let order = if self.waiting.is_empty() {
                orders.recv().map_err(|_| TryRecvError::Disconnected)
            } else {
                orders.try_recv()
            };
            match order {
                Ok(Order::Want(index)) => self.want(index),
                Ok(Order::Stop) | Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => self.step(),
            }
        }
        self.save();
    }

    fn want(&mut self, index: Index) {
        if self.waiting.len() == WAITING {
            self.waiting.remove(0);
        }
        self.waiting.push(index);
    }

    /// Makes a few of the vectors that the latest index lacks; publishes when it lacks none.
    fn step(&mut self) {
        let Some(index) = self.waiting.last() else {
            return;
        };
        let lacking = |(key, _): &(&Key, _)| self.vectors.get(key).is_none();
        let (keys, texts): (Vec<Key>, Vec<String>) = index
            .keyed_tools()
            .filter(lacking)
            .take(BATCH)
            .map(|(key, tool)| (*key, text(tool)))
            .unzip();
        if keys.is_empty() {
            self.finish();
            return;
        }
        let sentences = self.encoder.encode(&texts);
        for (key, sentence) in keys.into_iter().zip(sentences) {
            self.used.insert(key);
            self.vectors.insert(key, Arc::new(sentence));
        }
        self.is_unsaved = true;
        if self.saved.elapsed() > self.pause {
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            self.save();
        }
    }

    /// The latest index has all of its vectors.
    fn finish(&mut self) {
        let Some(index) = self.waiting.pop() else {
            return;
        };
        let keys = || index.keyed_tools().map(|(key, _)| *key);
        let n_used = self.used.len();
        self.used.extend(keys());
        if self.vectors.len() > KEPT {
            self.used = keys().collect();
            self.vectors.retain(|key| self.used.contains(key));
        }
        // Which are in use matters to those who write only once the file has little room left.
        self.is_unsaved |= self.used.len() > n_used && self.vectors.len() > KEPT / 2;
        let is_covered = self.publisher.borrow().covering(&index).is_some();
        match is_covered {
            // Whoever waits looks again: its tools had no keys before, so that nobody could tell.
            true => self.publisher.send_modify(|_| ()),
            false => self.publish(),
        }
        if self.waiting.is_empty() {
            self.save();
        }
    }

    fn publish(&self) {
        self.publisher.send_replace(State::Ready(Arc::new(Known {
            encoder: self.encoder.clone(),
            vectors: self.vectors.clone(),
        })));
    }

    fn save(&mut self) {
        self.saved = Instant::now();
        if !std::mem::take(&mut self.is_unsaved) {
            return;
        }
        let Some(cache) = &self.cache else {
            return;
        };
        match cache.write(&self.vectors, &self.used, KEPT) {
            Ok(()) => debug!(n_vectors = self.vectors.len(), "vectors saved"),
            Err(error) => {
                self.is_unsaved = true;
                warn!(%error, "the vectors of tools cannot be kept on disk");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::tests::{index, write_model};

    #[test]
    fn what_is_made_in_the_first_seconds_is_saved_soon_and_later_ever_more_rarely() {
        let home = tempfile::tempdir().unwrap();
        write_model(home.path());
        let folders = Folders {
            models: vec![home.path().to_owned()],
            cache: Some(home.path().to_owned()),
        };
        let mut worker = Worker::start(&folders, watch::channel(State::Starting).0).unwrap();
        let names: Vec<String> = (0..10 * BATCH).map(|n| format!("tool_{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        worker.want(index(&names));
        let mut saved_after = |seconds| {
            worker.saved = Instant::now()
                .checked_sub(Duration::from_secs(seconds))
                .unwrap();
            worker.step();
            !worker.is_unsaved
        };
        for (seconds, is_saved) in [(1, false), (3, true), (3, false), (5, true), (7, false)] {
            assert_eq!(saved_after(seconds), is_saved, "{seconds} s");
        }
        let read = Worker::start(&folders, watch::channel(State::Starting).0).unwrap();
        assert_eq!(read.vectors.len(), 4 * BATCH);
    }
}
