//! The built program, run as people and agents run it.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod common;
#[cfg(test)]
mod hook;
#[cfg(test)]
mod methods;
#[cfg(test)]
mod setup;
