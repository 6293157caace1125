//! The names of the methods.

macro_rules! methods {
    ($($(#[$meta:meta])* $name:ident = $word:literal;)+) => {
        $($(#[$meta])* pub const $name: &str = $word;)+
        /// Every method of this version, in the order of the reference.
        pub const ALL: &[&str] = &[$($name),+];
    };
}

methods! {
    /// Version negotiation.
    HELLO = "hello";
    /// How the daemon is.
    STATUS = "status";
    /// Ends the daemon.
    STOP = "stop";
    /// Adds events to a running session.
    SESSION_APPEND = "session.append";
    /// Ends a turn or a session.
    SESSION_COMMIT = "session.commit";
    /// Summaries, newest first.
    SESSION_LIST = "session.list";
    /// One session.
    SESSION_GET = "session.get";
    /// Reads a session file and stores nothing.
    SESSION_PREVIEW = "session.preview";
    /// What an extractor would be given of a session.
    SESSION_DIGEST = "session.digest";
    /// Queues a session to be read again.
    SESSION_EXTRACT = "session.extract";
    /// Turns the connection into one that speaks MCP.
    MCP_OPEN = "mcp.open";
    /// Tells how a task stands.
    WORK_SET = "work.set";
    /// How a task stands.
    WORK_GET = "work.get";
    /// All tasks that are not cleared.
    WORK_LIST = "work.list";
    /// Clears a task.
    WORK_CLEAR = "work.clear";
    /// Tells of a project's task.
    TASK_SET = "task.set";
    /// A project's tasks.
    TASK_LIST = "task.list";
    /// Hybrid search.
    RECALL_SEARCH = "recall.search";
    /// The text for an agent that starts.
    RECALL_BRIEF = "recall.brief";
    /// Memories for one prompt.
    RECALL_PROMPT = "recall.prompt";
    /// The text for an agent whose session was lost.
    RECALL_RECOVER = "recall.recover";
    /// An agent's facts and its project's.
    RECALL_CONTEXT = "recall.context";
    /// A line an agent.
    RECALL_ROSTER = "recall.roster";
    /// Adds a memory.
    MEMORY_ADD = "memory.add";
    /// One memory.
    MEMORY_GET = "memory.get";
    /// Memories, newest first.
    MEMORY_LIST = "memory.list";
    /// Changes a memory.
    MEMORY_EDIT = "memory.edit";
    /// Pins a memory.
    MEMORY_PIN = "memory.pin";
    /// Says what a memory was worth.
    MEMORY_FEEDBACK = "memory.feedback";
    /// Another agent found the same.
    MEMORY_CONFIRM = "memory.confirm";
    /// Settles a proposed memory.
    MEMORY_REVIEW = "memory.review";
    /// Copies a memory into a file of instructions.
    MEMORY_PROMOTE = "memory.promote";
    /// Deletes for good.
    MEMORY_FORGET = "memory.forget";
    /// Brings back a stale, retracted or superseded memory.
    MEMORY_REINSTATE = "memory.reinstate";
    /// Where a memory came from.
    MEMORY_WHY = "memory.why";
    /// A review that an orchestrator got.
    OFFICE_REVIEW = "office.review";
    /// A plan that was approved.
    OFFICE_PLAN = "office.plan";
    /// A project that is finished, or its ratings.
    OFFICE_PROJECT = "office.project";
    /// What was learned from all of these.
    OFFICE_LEARNED = "office.learned";
    /// Drops something that was learned from them.
    OFFICE_FORGET = "office.forget";
    /// Runs a sweep now.
    DREAM_RUN = "dream.run";
    /// When the next sweep is due, and why not.
    DREAM_STATUS = "dream.status";
    /// The journal.
    DREAM_LOG = "dream.log";
    /// One sweep.
    DREAM_SHOW = "dream.show";
    /// Takes a sweep back.
    DREAM_UNDO = "dream.undo";
    /// All projects.
    PROJECT_LIST = "project.list";
    /// One project.
    PROJECT_SHOW = "project.show";
    /// Two projects become one.
    PROJECT_MERGE = "project.merge";
    /// One project becomes two.
    PROJECT_SPLIT = "project.split";
    /// A project's folder moved.
    PROJECT_MOVE = "project.move";
    /// Nothing is captured from it.
    PROJECT_IGNORE = "project.ignore";
    /// Deletes everything of a project.
    PROJECT_FORGET = "project.forget";
    /// A folder becomes a workspace.
    WORKSPACE_ADD = "workspace.add";
    /// All workspaces.
    WORKSPACE_LIST = "workspace.list";
    /// A folder is a workspace no more.
    WORKSPACE_REMOVE = "workspace.remove";
    /// Stops capture for a while.
    PAUSE = "pause";
    /// Ends a pause.
    RESUME = "resume";
    /// Shows or sets configuration.
    CONFIG = "config";
    /// Reads sessions or archives from a path.
    IMPORT = "import";
    /// Writes what is known in another program's form.
    EXPORT = "export";
    /// Writes a backup.
    BACKUP = "backup";
    /// What happened since.
    EVENTS = "events";
}

/// Methods that answer whatever version the client speaks.
pub fn is_version_free(method: &str) -> bool {
    matches!(method, HELLO | STATUS | STOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names = ALL.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        assert!(is_version_free("stop") && !is_version_free("session.commit"));
    }
}
