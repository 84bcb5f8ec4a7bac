//! Everything that needs a process, a pipe or several modules at once.

mod server;
mod server_fakes;
mod server_processes;
