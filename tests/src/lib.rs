//! Starts the real binaries in a temporary home.
