//! What a tool's input and output tell about commits and changed files.

/// A commit that git reported: its short hash and its subject.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Commit<'a> {
    pub(crate) hash: &'a str,
    pub(crate) subject: &'a str,
}

/// The commits in a tool's output, in git's own words at the start of a line:
/// `[branch abc1234] subject`, `[branch (root-commit) abc1234] subject`, `[detached HEAD abc1234] subject`.
pub(crate) fn commits(output: &str) -> impl Iterator<Item = Commit<'_>> {
    output.lines().filter_map(commit)
}

fn commit(line: &str) -> Option<Commit<'_>> {
    let (head, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (branch, hash) = head.rsplit_once(' ')?;
    let branch = branch.strip_suffix(" (root-commit)").unwrap_or(branch);
    let is_hash =
        (7..=40).contains(&hash.len()) && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let is_branch =
        branch == "detached HEAD" || (!branch.is_empty() && !branch.contains(char::is_whitespace));
    (is_hash && is_branch && !subject.trim().is_empty()).then(|| Commit { hash, subject: subject.trim() })
}

/// The files that a patch in Codex's patch language touches. In code and shell texts its line breaks may be
/// written as `\n`, so those count as line ends too.
pub(crate) fn patched_files(patch: &str) -> Vec<&str> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut files = Vec::new();
    for line in patch.split('\n').flat_map(|line| line.split("\\n")) {
        let path = MARKS.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim);
        if let Some(path) = path.filter(|path| !path.is_empty() && !files.contains(path)) {
            files.push(path);
        }
        if files.len() == MAX_FILES {
            break;
        }
    }
    files
}

/// One call tells of at most this many files.
pub(crate) const MAX_FILES: usize = 256;

/// Claude Code keeps its own notes among the transcripts: they are no files of the project.
pub(crate) fn is_harness_memory(path: &str) -> bool {
    let path = path.replace('\\', "/");
    path.split_once("/.claude/projects/").is_some_and(|(_, rest)| rest.contains("/memory/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_found_at_line_starts_only() {
        let output = "ok\n[main abc1234] Fix it\n [main abc1235] no\n[main (root-commit) 0123456] First\n\
                      [detached HEAD fedcba9] Loose\n[main xyz1234] no\n[a b abc1234] no\n[main abc1234]\n";
        let found: Vec<_> = commits(output).map(|c| (c.hash, c.subject)).collect();
        assert_eq!(found, [("abc1234", "Fix it"), ("0123456", "First"), ("fedcba9", "Loose")]);
    }

    #[test]
    fn patches_name_their_files_also_inside_code() {
        let plain = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n*** Add File: b.rs\n+x\n*** End Patch";
        let code = r#"const p = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: c.rs\n";"#;
        assert_eq!(patched_files(plain), ["src/a.rs", "b.rs"]);
        assert_eq!(patched_files(code), ["src/a.rs", "c.rs"]);
    }

    #[test]
    fn harness_notes_are_told_from_project_files() {
        assert!(is_harness_memory("/home/a/.claude/projects/-x/memory/MEMORY.md"));
        assert!(is_harness_memory(r"C:\Users\a\.claude\projects\-x\memory\n.md"));
        assert!(!is_harness_memory("/home/a/x/memory/MEMORY.md"));
    }
}
