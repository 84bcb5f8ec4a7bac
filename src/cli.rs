//! The command line: reads what is asked, asks the sidecar, prints what it says.

pub mod arguments;
pub mod exit;
pub mod layout;
pub mod output;
pub mod render;
pub mod style;
