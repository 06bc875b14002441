//! How much the compiler optimises.

use std::str::FromStr;

/// A level of optimisation of clang's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptLevel {
    /// None: every variable in private memory.
    O0,
    /// A little.
    O1,
    /// Most of it.
    O2,
    /// As `O2`, where code does not grow.
    Os,
    /// All of it, as kernels are compiled unless another level is asked for.
    #[default]
    O3,
}

impl OptLevel {
    /// Every level.
    pub const ALL: [OptLevel; 5] = [
        OptLevel::O0,
        OptLevel::O1,
        OptLevel::O2,
        OptLevel::Os,
        OptLevel::O3,
    ];

    /// Its flag.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            OptLevel::O0 => "-O0",
            OptLevel::O1 => "-O1",
            OptLevel::O2 => "-O2",
            OptLevel::Os => "-Os",
            OptLevel::O3 => "-O3",
        }
    }
}

impl FromStr for OptLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<OptLevel, String> {
        let named = |level: &OptLevel| level.flag().trim_start_matches('-') == text;
        let all = OptLevel::ALL.map(|level| level.flag().trim_start_matches('-'));
        OptLevel::ALL.into_iter().find(named).ok_or_else(|| {
            format!(
                "`{text}` is not a level of optimisation; there are {}",
                all.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_by_their_names_and_others_are_refused_with_the_list() {
        for level in OptLevel::ALL {
            assert_eq!(level.flag()[1..].parse(), Ok(level));
        }
        assert_eq!(
            "O4".parse::<OptLevel>().unwrap_err(),
            "`O4` is not a level of optimisation; there are O0, O1, O2, Os, O3"
        );
    }
}
