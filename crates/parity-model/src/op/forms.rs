//! Ops that are forms of another one: which, and how the form changes the shape. What the other one computes is not said
//! here.

use super::{Binary, Broadcast, Reduce};

impl Broadcast {
    /// The op that follows, on arguments of one shape.
    #[rustfmt::skip] // One row a line.
    pub const fn of(self) -> Binary {
        match self {
            Broadcast::Add     => Binary::Add,
            Broadcast::Sub     => Binary::Sub,
            Broadcast::Mul     => Binary::Mul,
            Broadcast::Div     => Binary::Div,
            Broadcast::Maximum => Binary::Maximum,
            Broadcast::Minimum => Binary::Minimum,
            Broadcast::Eq      => Binary::Eq,
            Broadcast::Ne      => Binary::Ne,
            Broadcast::Lt      => Binary::Lt,
            Broadcast::Le      => Binary::Le,
            Broadcast::Gt      => Binary::Gt,
            Broadcast::Ge      => Binary::Ge,
            Broadcast::Pow     => Binary::Pow,
        }
    }
}

/// What a reduction leaves of the dimensions that it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// Extent 1.
    One,
}

impl Reduce {
    /// The reduction itself, whatever dimensions it names and leaves.
    #[rustfmt::skip] // One row a line.
    pub const fn plain(self) -> Reduce {
        match self {
            Reduce::Sum    | Reduce::SumKeepdim    | Reduce::SumAll  => Reduce::Sum,
            Reduce::Mean   | Reduce::MeanKeepdim   | Reduce::MeanAll => Reduce::Mean,
            Reduce::Min    | Reduce::MinKeepdim    | Reduce::MinAll  => Reduce::Min,
            Reduce::Max    | Reduce::MaxKeepdim    | Reduce::MaxAll  => Reduce::Max,
            Reduce::ArgMin | Reduce::ArgMinKeepdim => Reduce::ArgMin,
            Reduce::ArgMax | Reduce::ArgMaxKeepdim => Reduce::ArgMax,
            Reduce::Var    | Reduce::VarKeepdim    => Reduce::Var,
            Reduce::LogSumExp | Reduce::CumSum | Reduce::Norm => self,
        }
    }

    /// What it leaves of its dimensions.
    pub const fn leaves(self) -> Left {
        match self {
            Reduce::SumKeepdim
            | Reduce::MeanKeepdim
            | Reduce::MinKeepdim
            | Reduce::MaxKeepdim
            | Reduce::ArgMinKeepdim
            | Reduce::ArgMaxKeepdim
            | Reduce::VarKeepdim => Left::One,
            Reduce::Sum
            | Reduce::Mean
            | Reduce::Min
            | Reduce::Max
            | Reduce::ArgMin
            | Reduce::ArgMax
            | Reduce::Var
            | Reduce::LogSumExp
            | Reduce::CumSum
            | Reduce::SumAll
            | Reduce::MeanAll
            | Reduce::MinAll
            | Reduce::MaxAll
            | Reduce::Norm => Left::Nothing,
        }
    }

    /// The dimensions that it is over, for its parameters and an argument of `rank` dimensions.
    pub fn dims(self, params: &[f64], rank: usize) -> Vec<usize> {
        match self {
            Reduce::SumAll | Reduce::MeanAll | Reduce::MinAll | Reduce::MaxAll | Reduce::Norm => {
                (0..rank).collect()
            }
            _ => params.iter().map(|dim| *dim as usize).collect(),
        }
    }
}
