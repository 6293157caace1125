//! Full text, vectors, embedding and their fusion; derived from the store, never the truth
