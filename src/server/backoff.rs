//! Decides when a server is tried again.

use std::time::Duration;

/// Retries before a server that never worked is parked.
const FIRST_RETRIES: u32 = 3;
/// Retries before a server that was lost is parked.
const LOSS_RETRIES: u32 = 5;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);
/// The first retry after a loss comes at once: most servers just crashed and start again.
const QUICK: Duration = Duration::from_millis(50);
/// How often a parked server is tried without being asked for.
pub const PROBE: Duration = Duration::from_secs(300);

/// Counts the failures in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    budget: u32,
    n_failed: u32,
    /// Whether the next retry is to be quick.
    is_fresh_loss: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Retry(Duration),
    /// The budget is used up.
    Park(Duration),
}

impl Backoff {
    pub fn new() -> Backoff {
        Backoff {
            budget: FIRST_RETRIES,
            n_failed: 0,
            is_fresh_loss: false,
        }
    }

    /// A connection that had proven itself was lost.
    pub fn lost() -> Backoff {
        Backoff {
            budget: LOSS_RETRIES,
            n_failed: 0,
            is_fresh_loss: true,
        }
    }

    /// Counts one failure; `jitter` is from 0 to 1.
    pub fn fail(&mut self, jitter: f64) -> Next {
        self.n_failed += 1;
        if self.n_failed > self.budget {
            return Next::Park(spread(PROBE, jitter));
        }
        if std::mem::take(&mut self.is_fresh_loss) {
            return Next::Retry(QUICK);
        }
        // After a loss, the quick retry does not count for the delay.
        let n_doubled = self.n_failed - 1 - u32::from(self.budget == LOSS_RETRIES);
        let delay = FIRST_DELAY.saturating_mul(1 << n_doubled.min(16));
        Next::Retry(spread(delay.min(MAX_DELAY), jitter))
    }

    /// Number of the attempt that comes next, from 1.
    pub fn attempt(&self) -> u32 {
        self.n_failed + 1
    }
}

/// ±20 %, lest servers that were lost together come back together.
fn spread(delay: Duration, jitter: f64) -> Duration {
    delay.mul_f64(0.8 + 0.4 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(mut backoff: Backoff, n: usize) -> String {
        let delays: Vec<String> = (0..n)
            .map(|_| match backoff.fail(0.5) {
                Next::Retry(delay) => format!("{delay:?}"),
                Next::Park(delay) => format!("park {delay:?}"),
            })
            .collect();
        delays.join(", ")
    }

    #[test]
    fn a_server_that_never_worked_is_tried_three_times_more() {
        assert_eq!(
            delays(Backoff::new(), 5),
            "1s, 2s, 4s, park 300s, park 300s"
        );
    }

    #[test]
    fn a_lost_server_is_tried_at_once_and_four_times_more() {
        assert_eq!(
            delays(Backoff::lost(), 6),
            "50ms, 1s, 2s, 4s, 8s, park 300s"
        );
    }

    #[test]
    fn delays_are_spread_by_a_fifth() {
        assert_eq!(spread(Duration::from_secs(10), 0.0), Duration::from_secs(8));
        assert_eq!(
            spread(Duration::from_secs(10), 1.0),
            Duration::from_secs(12)
        );
    }
}
