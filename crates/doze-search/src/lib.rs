//! Search: full text, vectors, and the model that makes them; all derived from the store, never the truth.
//!
//! This crate may not read the store, know a wire format or read a clock: it is fed changes with their numbers, and
//! everything it keeps on disk can be deleted and made again. Fusion and ranking of what it finds are not its business.

mod embed;
mod lexical;
mod text;
mod vectors;

pub use embed::*;
pub use lexical::*;
pub use text::{snippet, terms};
pub use vectors::*;
