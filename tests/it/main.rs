//! Tests that look at toolcrib from outside, in one binary.

mod house;

mod codegen;
mod endpoint;
mod host;
mod wire;
