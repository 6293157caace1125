//! Connects to dozed, calls it with deadlines, and spools redacted commits when it is away
