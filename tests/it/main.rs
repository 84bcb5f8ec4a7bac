//! Tests that look at toolcrib from outside, in one binary.

mod house;

mod endpoint;
mod host;
