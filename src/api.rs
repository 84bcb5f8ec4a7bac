//! The one list of methods that a host can call, and what they do.

pub mod approval;
pub mod assemble;
pub mod dispatch;
pub mod error;
pub mod host;
pub mod manage;
pub mod methods;
pub mod record;
pub mod run;
pub mod search;
pub mod sidecar;
pub mod source;
pub mod spill;
pub mod table;
pub mod types;
pub mod wire;
