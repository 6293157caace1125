//! The redb file of doze: tables, migration, group commit, change log, snapshot reads
