//! Which tools answer a query best?

pub mod vectors;
