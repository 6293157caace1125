//! What an agent may do without asking.

use super::words;

words! {
    /// The mode of a conversation, as far as memory is concerned (S1.35), the most careful first.
    Permission {
        /// It only looks: nothing is stored.
        Plan = "plan",
        /// What it stores waits for the person.
        Review = "review",
        /// It stores.
        Accept = "accept",
        /// It stores, and nobody watches.
        Autonomous = "autonomous",
    }
}

impl Permission {
    /// The mode that a harness tells its hooks as `permission_mode`. What is not known is for the person to see.
    pub fn of_harness(mode: &str) -> Self {
        match mode {
            "plan" => Self::Plan,
            "acceptEdits" | "auto_edit" | "autoEdit" => Self::Accept,
            "bypassPermissions" | "auto" | "yolo" | "full-auto" => Self::Autonomous,
            _ => Self::Review,
        }
    }

    /// Whether it may store at once.
    pub fn stores(self) -> bool {
        matches!(self, Self::Accept | Self::Autonomous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_harness_mode_is_one_of_four_and_the_unknown_waits() {
        for (word, wanted) in [
            ("plan", Permission::Plan),
            ("default", Permission::Review),
            ("dontAsk", Permission::Review),
            ("acceptEdits", Permission::Accept),
            ("bypassPermissions", Permission::Autonomous),
            ("something new", Permission::Review),
            ("", Permission::Review),
        ] {
            assert_eq!(Permission::of_harness(word), wanted, "{word}");
        }
        assert!(Permission::Accept.stores() && !Permission::Review.stores() && !Permission::Plan.stores());
    }
}
