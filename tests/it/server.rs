//! Servers over in-memory pipes with the clock paused, and what the other tests of servers share.

pub mod rig;
