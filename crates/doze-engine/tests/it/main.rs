//! The engine on a real store and real indexes in a temporary folder, with a clock that stands still.

mod commit;
mod dream;
mod kit;
mod memory;
mod project;
mod recall;
