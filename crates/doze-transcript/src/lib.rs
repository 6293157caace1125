//! Turns any agent's session file, message array or hook payload into events
