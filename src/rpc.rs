//! Speaks JSON-RPC with the host over two byte streams.

mod conversation;
mod crowd;
pub mod endpoint;
pub mod frame;
pub mod lane;
pub mod message;
mod output;
pub mod peer;
mod reader;
pub mod stdio;
pub mod table;
