//! What each command does.

pub mod call;
pub mod check;
pub mod codegen;
pub mod demo;
pub mod describe;
pub mod eval;
pub mod schema;
pub mod search;
pub mod serve;
pub mod status;
pub mod tools;
