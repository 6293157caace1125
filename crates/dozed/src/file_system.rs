//! File systems on which locks and sockets do not do what they should (NFS, 9p, virtiofs, SMB).

use std::path::Path;

/// The name of the network file system that holds `path` or its nearest folder that exists; `None` on a local one.
#[cfg(target_os = "linux")]
pub(crate) fn network(path: &Path) -> Option<&'static str> {
    let existing = path.ancestors().find(|folder| folder.exists())?;
    let kind = rustix::fs::statfs(existing).ok()?.f_type;
    name(kind as u32)
}

/// Other systems do not tell in a way that can be relied on.
#[cfg(not(target_os = "linux"))]
pub(crate) fn network(_path: &Path) -> Option<&'static str> {
    None
}

/// Magic numbers as `statfs(2)` lists them; all fit into 32 bits.
#[cfg(target_os = "linux")]
fn name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0x0102_1997 => "9p",
        0x6573_5546 => "FUSE or virtiofs",
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x00C3_6400 => "Ceph",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_names_and_a_missing_path_is_judged_by_its_parent() {
        assert_eq!(name(0x6969), Some("NFS"));
        assert_eq!(name(0xEF53), None);
        assert_eq!(network(Path::new("/proc/no/such/folder")), None);
    }
}
