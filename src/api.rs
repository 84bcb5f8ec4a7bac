//! The one list of methods that a host can call, and what they do.

pub mod error;
pub mod methods;
pub mod types;
