//! What the machine tells about its power and its load. Linux tells; where nothing can be read nothing is known.

use std::path::Path;
use std::sync::{Arc, Mutex};

use doze_dream::schedule::Machine;
use jiff::{SignedDuration, Timestamp};

use crate::files::read_start;
use crate::{Environment, lock};

/// The folder of the power supplies.
pub(crate) const POWER: &str = "/sys/class/power_supply";
/// The file of the load.
pub(crate) const LOAD: &str = "/proc/loadavg";
/// Bytes of such a file that are read, and supplies that are looked at.
const MAX_BYTES: u64 = 256;
const MAX_SUPPLIES: usize = 64;

/// How long nobody may have called before the model looks at raw history.
const QUIET: SignedDuration = SignedDuration::from_secs(30);
/// The load for each processor above which it waits. Its own work is one processor's.
const MAX_LOAD: f64 = 1.5;

/// Whether nobody is at work: nobody called lately, the machine is not on its battery and has a processor to spare.
pub(crate) fn rests(
    environment: Arc<dyn Environment>,
    activity: Arc<Mutex<Option<Timestamp>>>,
) -> impl Fn() -> bool + Send + Sync {
    move || {
        let now = environment.now();
        let last = *lock(&activity);
        let is_quiet = last.is_none_or(|last| last > now || now.duration_since(last) >= QUIET);
        let machine = environment.machine();
        is_quiet && machine.on_battery != Some(true) && machine.load.is_none_or(|load| load < MAX_LOAD)
    }
}

/// A power supply in its own words.
#[derive(Debug, Default)]
struct Supply {
    kind: String,
    online: String,
    status: String,
    scope: String,
}

/// Reads the machine.
pub(crate) fn read(power: &Path, load: &Path) -> Machine {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let load = load_of(&read_start(load, MAX_BYTES), processors);
    Machine { on_battery: on_battery(&supplies(power)), load }
}

fn supplies(power: &Path) -> Vec<Supply> {
    let entries = std::fs::read_dir(power).into_iter().flatten().flatten().take(MAX_SUPPLIES);
    entries
        .map(|entry| {
            let word = |name: &str| read_start(&entry.path().join(name), MAX_BYTES).trim().to_owned();
            Supply {
                kind: word("type"),
                online: word("online"),
                status: word("status"),
                scope: word("scope"),
            }
        })
        .collect()
}

/// Whether the machine lives on its battery. The battery of a mouse says nothing about that.
fn on_battery(supplies: &[Supply]) -> Option<bool> {
    let from_outside =
        || supplies.iter().filter(|supply| supply.kind != "Battery" && !supply.online.is_empty());
    if from_outside().any(|supply| supply.online != "0") {
        return Some(false);
    }
    let mut batteries =
        supplies.iter().filter(|supply| supply.kind == "Battery" && supply.scope != "Device").peekable();
    batteries.peek()?;
    let is_unplugged = from_outside().next().is_some();
    if is_unplugged || batteries.clone().any(|battery| battery.status == "Discharging") {
        return Some(true);
    }
    batteries
        .any(|battery| matches!(battery.status.as_str(), "Charging" | "Full" | "Not charging"))
        .then_some(false)
}

/// The average of the last minute for each processor.
fn load_of(text: &str, processors: usize) -> Option<f64> {
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    (load.is_finite() && load >= 0.0).then(|| load / processors.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_power_is_known_where_the_supplies_tell_it() {
        type Files = &'static [(&'static str, &'static str)];
        let battery = |status| -> Files {
            match status {
                "Discharging" => &[("type", "Battery\n"), ("status", "Discharging\n")],
                "Charging" => &[("type", "Battery\n"), ("status", "Charging\n")],
                _ => &[("type", "Battery\n"), ("status", "Unknown\n")],
            }
        };
        let mouse: Files = &[("type", "Battery\n"), ("status", "Discharging\n"), ("scope", "Device\n")];
        let plugged: Files = &[("type", "Mains\n"), ("online", "1\n")];
        let unplugged: Files = &[("type", "Mains\n"), ("online", "0\n")];
        let table: [(&[Files], Option<bool>); 9] = [
            (&[], None),
            (&[mouse], None),
            (&[unplugged], None),
            (&[battery("Unknown")], None),
            (&[battery("Charging")], Some(false)),
            (&[battery("Discharging")], Some(true)),
            (&[battery("Discharging"), plugged], Some(false)),
            (&[battery("Unknown"), unplugged], Some(true)),
            (&[mouse, plugged], Some(false)),
        ];
        for (supplies, wanted) in table {
            let folder = tempfile::tempdir().unwrap();
            for (n, files) in supplies.iter().enumerate() {
                let supply = folder.path().join(n.to_string());
                fs::create_dir(&supply).unwrap();
                for (name, text) in *files {
                    fs::write(supply.join(name), text).unwrap();
                }
            }
            assert_eq!(read(folder.path(), Path::new("/none")).on_battery, wanted, "{supplies:?}");
        }
        assert_eq!(read(Path::new("/none"), Path::new("/none")), Machine::default());
    }

    #[test]
    fn the_load_is_told_for_each_processor() {
        let table = [
            ("3.00 2.00 1.00 2/345 6789\n", 2, Some(1.5)),
            ("0.00", 8, Some(0.0)),
            ("3", 0, Some(3.0)),
            ("", 2, None),
            ("NaN 1 1", 2, None),
            ("-1", 2, None),
            ("much", 2, None),
        ];
        for (text, processors, wanted) in table {
            assert_eq!(load_of(text, processors), wanted, "{text:?}");
        }
    }
}
