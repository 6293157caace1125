//! The engine on a real store and real indexes in a temporary folder, with a clock that stands still.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anew;
mod bounds;
mod broken;
mod commit;
mod dream;
mod events;
mod face;
mod faulty;
mod forgetting;
mod half_year;
mod history;
mod hostile;
mod jobs;
mod kept;
mod kit;
mod memory;
mod modes;
mod office;
mod office_files;
mod office_identity;
mod pattern;
mod project;
mod promote;
mod race;
mod recall;
mod tasks;
mod told;
mod turns;
mod work;
mod workspace;
