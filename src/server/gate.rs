//! Lets only so many uses of a server run at once, in the order in which they came.

use tokio::sync::{Mutex, watch};

/// A semaphore whose size may change while it is in use, and that can be closed.
pub struct Gate {
    /// Held by the one who is next.
    line: Mutex<()>,
    state: watch::Sender<State>,
}

struct State {
    limit: usize,
    n_inside: usize,
    is_closed: bool,
}

/// A place inside, until it is dropped.
pub struct Pass<'a>(&'a Gate);

impl Gate {
    /// `None` for no limit.
    pub fn new(limit: Option<usize>) -> Gate {
        Gate {
            line: Mutex::new(()),
            state: watch::Sender::new(State {
                limit: limit_of(limit),
                n_inside: 0,
                is_closed: false,
            }),
        }
    }

    /// Who is inside stays there, even if they are more than the new limit.
    pub fn set_limit(&self, limit: Option<usize>) {
        self.state
            .send_modify(|state| state.limit = limit_of(limit));
    }

    /// Waits for a place; `None` if the gate is closed.
    pub async fn enter(&self) -> Option<Pass<'_>> {
        let _first = self.line.lock().await;
        let mut state = self.state.subscribe();
        loop {
            if let Some(pass) = self.take() {
                return Some(pass);
            }
            // The sender is ours, so there is no error.
            let free = state.wait_for(|state| state.is_closed || state.has_room());
            if free.await.is_ok_and(|state| state.is_closed) {
                return None;
            }
        }
    }

    /// Enters if that is possible at once.
    pub fn try_enter(&self) -> Option<Pass<'_>> {
        let _first = self.line.try_lock().ok()?;
        self.take()
    }

    /// Lets nobody in any more.
    pub fn close(&self) {
        self.state.send_modify(|state| state.is_closed = true);
    }

    /// Ends when nobody is inside.
    pub async fn empty(&self) {
        let mut state = self.state.subscribe();
        // The sender is ours, so there is no error.
        let _ = state.wait_for(|state| state.n_inside == 0).await;
    }

    fn take(&self) -> Option<Pass<'_>> {
        // Nobody waits for the gate to become fuller, so nobody is told.
        let mut is_inside = false;
        self.state.send_if_modified(|state| {
            is_inside = state.has_room() && !state.is_closed;
            state.n_inside += usize::from(is_inside);
            false
        });
        is_inside.then(|| Pass(self))
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.n_inside < self.limit
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.n_inside -= 1);
    }
}

fn limit_of(limit: Option<usize>) -> usize {
    // A server that nobody may use would be no use.
    limit.map_or(usize::MAX, |limit| limit.max(1))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_new_limit_holds_for_those_who_wait() {
        let gate = Gate::new(Some(1));
        let first = gate.enter().await;
        assert!(gate.try_enter().is_none());
        let mut second = Box::pin(gate.enter());
        assert!(timeout(Duration::ZERO, &mut second).await.is_err());
        gate.set_limit(Some(2));
        let second = second.await;
        assert!(first.is_some() && second.is_some());
        gate.set_limit(Some(1));
        drop(first);
        assert!(gate.try_enter().is_none());
        drop(second);
        assert!(gate.try_enter().is_some());
    }

    #[tokio::test]
    async fn a_closed_gate_refuses_those_who_wait_and_becomes_empty() {
        let gate = Gate::new(Some(1));
        let first = gate.enter().await;
        let mut second = Box::pin(gate.enter());
        assert!(timeout(Duration::ZERO, &mut second).await.is_err());
        gate.close();
        assert!(second.await.is_none());
        assert!(timeout(Duration::ZERO, gate.empty()).await.is_err());
        drop(first);
        gate.empty().await;
        assert!(gate.try_enter().is_none());
    }
}
