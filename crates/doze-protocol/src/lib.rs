//! The wire of doze: requests, answers, versions, error kinds, exit codes, frame limit
