//! The operations of doze: commit, recall, brief, recover, remember, forget, dream
