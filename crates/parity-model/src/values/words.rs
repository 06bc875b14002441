//! How value sets are spelled in specs and ids.

use super::ValueSet;

/// The spellings of all value sets, for messages.
pub const VALUE_SETS: &str = "uniform(lo,hi), geometric(lo,hi), ints(lo,hi), nonzero(lo,hi), any, special, nan, nans, \
                              nan_only, ties, peaks, extremes, divzero, exhaustive, numbers, ids_beyond, ids_negative, ids_none, quants";

impl std::fmt::Display for ValueSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ValueSet::Uniform { lo, hi } => write!(f, "uniform({lo},{hi})"),
            ValueSet::Geometric { lo, hi } => write!(f, "geometric({lo},{hi})"),
            ValueSet::Ints { lo, hi } => write!(f, "ints({lo},{hi})"),
            ValueSet::Nonzero { lo, hi } => write!(f, "nonzero({lo},{hi})"),
            ValueSet::Any => f.write_str("any"),
            ValueSet::Special => f.write_str("special"),
            ValueSet::Nan => f.write_str("nan"),
            ValueSet::Nans => f.write_str("nans"),
            ValueSet::OnlyNan => f.write_str("nan_only"),
            ValueSet::Ties => f.write_str("ties"),
            ValueSet::Peaks => f.write_str("peaks"),
            ValueSet::Extremes => f.write_str("extremes"),
            ValueSet::DivZero => f.write_str("divzero"),
            ValueSet::Exhaustive => f.write_str("exhaustive"),
            ValueSet::Numbers => f.write_str("numbers"),
            ValueSet::Quants => f.write_str("quants"),
            ValueSet::IdsBeyond => f.write_str("ids_beyond"),
            ValueSet::IdsNegative => f.write_str("ids_negative"),
            ValueSet::IdsNone => f.write_str("ids_none"),
        }
    }
}

/// A text that is not a value set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value set `{text}`: {why}")]
pub struct BadValueSet {
    /// The text found.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl std::str::FromStr for ValueSet {
    type Err = BadValueSet;

    fn from_str(text: &str) -> Result<Self, BadValueSet> {
        let bad = |why: &str| BadValueSet {
            text: text.to_owned(),
            why: why.to_owned(),
        };
        let (word, bounds) = match text.split_once('(') {
            Some((word, rest)) => {
                let inner = rest
                    .strip_suffix(')')
                    .ok_or_else(|| bad("the closing parenthesis is missing"))?;
                let pair = inner
                    .split_once(',')
                    .ok_or_else(|| bad("two bounds are needed: (lo,hi)"))?;
                (word, Some((pair.0.trim(), pair.1.trim())))
            }
            None => (text, None),
        };
        let real = || -> Result<(f64, f64), BadValueSet> {
            let (lo, hi) = bounds.ok_or_else(|| bad("two bounds are needed: (lo,hi)"))?;
            match (lo.parse::<f64>(), hi.parse::<f64>()) {
                (Ok(lo), Ok(hi)) if lo.is_finite() && hi.is_finite() && lo < hi => Ok((lo, hi)),
                (Ok(_), Ok(_)) => Err(bad("the bounds must be finite, the lower one first")),
                (Err(_), _) | (_, Err(_)) => Err(bad("a bound is not a number")),
            }
        };
        let integer = || -> Result<(i64, i64), BadValueSet> {
            let (lo, hi) = bounds.ok_or_else(|| bad("two bounds are needed: (lo,hi)"))?;
            match (lo.parse::<i64>(), hi.parse::<i64>()) {
                (Ok(lo), Ok(hi)) if lo < hi => Ok((lo, hi)),
                (Ok(_), Ok(_)) => Err(bad("the lower bound comes first")),
                (Err(_), _) | (_, Err(_)) => Err(bad("a bound is not an integer")),
            }
        };
        let set = match word {
            "uniform" => real().map(|(lo, hi)| ValueSet::Uniform { lo, hi })?,
            "geometric" => match real()? {
                (lo, hi) if lo > 0.0 => ValueSet::Geometric { lo, hi },
                _ => return Err(bad("the lower bound must be above zero")),
            },
            "ints" => integer().map(|(lo, hi)| ValueSet::Ints { lo, hi })?,
            "nonzero" => integer().map(|(lo, hi)| ValueSet::Nonzero { lo, hi })?,
            "any" => ValueSet::Any,
            "special" => ValueSet::Special,
            "nan" => ValueSet::Nan,
            "nans" => ValueSet::Nans,
            "nan_only" => ValueSet::OnlyNan,
            "ties" => ValueSet::Ties,
            "peaks" => ValueSet::Peaks,
            "extremes" => ValueSet::Extremes,
            "divzero" => ValueSet::DivZero,
            "exhaustive" => ValueSet::Exhaustive,
            "numbers" => ValueSet::Numbers,
            "quants" => ValueSet::Quants,
            "ids_beyond" => ValueSet::IdsBeyond,
            "ids_negative" => ValueSet::IdsNegative,
            "ids_none" => ValueSet::IdsNone,
            _ => return Err(bad(&format!("expected one of {VALUE_SETS}"))),
        };
        let bare = !matches!(word, "uniform" | "geometric" | "ints" | "nonzero");
        if bare && bounds.is_some() {
            return Err(bad(&format!("`{word}` takes no bounds")));
        }
        Ok(set)
    }
}
