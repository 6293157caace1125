//! One dream sweep as a state machine: choose, digest, extract, merge, promote, retire, journal
