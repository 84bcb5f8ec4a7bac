//! What is left of a server's process tree, however it ends: nothing.
