//! The exit statuses of `doze` and `dozed`.

macro_rules! exits {
    ($($(#[$meta:meta])* $variant:ident = $status:literal, $meaning:literal;)+) => {
        /// How a program ends. The numbers are relied on by scripts and never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Exit { $($(#[$meta])* $variant),+ }

        impl Exit {
            /// Every status, in ascending order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The number.
            pub fn status(self) -> u8 {
                match self { $(Self::$variant => $status),+ }
            }

            /// What it means, as the reference page prints it.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),+ }
            }
        }
    };
}

exits! {
    /// It was done, or something was found.
    Done = 0, "done, or found";
    /// Nothing was found, or a check failed.
    Nothing = 1, "nothing found, or a check failed";
    /// The command line is wrong.
    Usage = 2, "the command line is wrong";
    /// The input is wrong.
    BadInput = 65, "the input is wrong";
    /// The daemon cannot be reached, or lacks what the call needs.
    Unreachable = 69, "the daemon cannot be reached";
    /// A fault of ours.
    Internal = 70, "an internal fault";
    /// Too busy, or stopping; try later.
    Busy = 75, "busy, try later";
    /// Client and daemon speak different protocols.
    Protocol = 76, "client and daemon speak different protocols";
    /// It is not allowed.
    Refused = 77, "refused";
    /// The configuration is wrong.
    Config = 78, "the configuration is wrong";
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_numbers_are_the_documented_ones() {
        let numbers: Vec<u8> = Exit::ALL.iter().map(|exit| exit.status()).collect();
        assert_eq!(numbers, [0, 1, 2, 65, 69, 70, 75, 76, 77, 78]);
    }
}
