//! Results as text for people: values in, text out.

pub mod answer;
pub mod demo;
pub mod describe;
pub mod eval;
pub mod explain;
pub mod problems;
pub mod search;
pub mod status;
pub mod tools;
