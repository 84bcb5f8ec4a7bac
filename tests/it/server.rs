//! Servers over in-memory pipes with the clock paused, and what the other tests of servers share.

mod calls;
mod fake;
mod handshake;
mod life;
mod lists;
mod reload;
pub mod rig;
