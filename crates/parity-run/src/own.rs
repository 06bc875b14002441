//! Ops of one's own: a crate outside of this workspace declares an op, and its cases are planned, judged, shrunk and recorded as
//! all others are.
//!
//! An op of one's own is a row like those of the table, made when the program starts. [`OwnOp::register`] puts its three
//! parts where each is used: the declaration into `parity-model`, the right answer into `parity-oracle`, the call of candle into
//! `parity-exec`. The rest of parity knows rows alone, so that specs, ids (`own/NAME(params):dtypes:shapes:layouts:values`),
//! gradients (`grad/grad_NAME(..)`), layouts, limits, random cases, shrinking, journals, `diff` and `gate` need nothing more.
//!
//! A worker is a process of the same program: it registers the same ops before [`serve_if_asked`](crate::serve_if_asked), and the
//! supervisor tells it which ops it expects. A worker that lacks one reports that once, instead of its device. A record
//! holds names and numbers: every `parity` reads it, with or without the op. Ops are never taken back, and a name is registered once.
//!
//! ```standalone_crate
//! use parity_run::own::{OwnOp, DType};
//!
//! fn ops() -> Result<(), parity_run::Error> {
//!     OwnOp::new("softsign", "x / (1 + |x|); NaN at infinities.")
//!         .data("x")
//!         .dtypes(&[DType::F16, DType::F32])
//!         .shape("[..] -> [..]")
//!         .formula(|call| call.x(0) / (call.x(0).abs() + 1.0))
//!         .call("(&x0 / (x0.abs()? + 1.0)?)?", |x, _| &x[0] / (x[0].abs()? + 1.0)?)
//!         .register()
//! }
//! ops().unwrap();
//! let case = "own/softsign:f32:[2,3]:transposed:uniform(-4,4)".parse::<parity_model::Case>();
//! assert_eq!(case.unwrap().op.name(), "softsign");
//! ```

use std::sync::{Mutex, PoisonError};

pub use parity_exec::own::{CandleCall, Result as CandleResult, Tensor as CandleTensor};
pub use parity_model::DType;
pub use parity_model::op::own::OwnShapeRule;
use parity_model::op::own::{self as table, Declaration, Shape};
use parity_model::op::{Role, Terms};
use parity_oracle::own::Right;
pub use parity_oracle::{
    Limit,
    own::{OwnCall, Plain, Tensor},
};

use crate::error::Error;

/// An op in the making: see the [module](self).
#[must_use = "an op that is not registered does not exist"]
pub struct OwnOp {
    declaration: Declaration,
    right: Option<Right>,
    call: Option<(&'static str, Box<CandleCall>)>,
}

/// Held while an op is registered, so that its parts come together.
static REGISTERING: Mutex<()> = Mutex::new(());

impl OwnOp {
    /// An op of this name: lower-case letters, digits and `_`. `definition` is the right answer in words, NaN and zero included.
    pub fn new(name: &'static str, definition: &'static str) -> OwnOp {
        OwnOp {
            declaration: Declaration {
                name,
                definition,
                params: vec![],
                args: vec![],
                dtypes: vec![],
                output: None,
                shape: Shape::Pattern(""),
                batch: None,
                terms: Terms::One,
                gradient: None,
            },
            right: None,
            call: None,
        }
    }

    fn argument(mut self, name: &'static str, role: Role) -> OwnOp {
        self.declaration.args.push((name, role));
        self
    }

    /// The next tensor argument: numbers of the case's dtype.
    pub fn data(self, name: &'static str) -> OwnOp {
        self.argument(name, Role::Data)
    }

    /// The next tensor argument: positions, in an integer dtype, below what the shape pattern's `, ids < n` says.
    pub fn ids(self, name: &'static str) -> OwnOp {
        self.argument(name, Role::Index)
    }

    /// The next tensor argument: truth values, in an integer dtype.
    pub fn condition(self, name: &'static str) -> OwnOp {
        self.argument(name, Role::Condition)
    }

    /// The next scalar parameter.
    pub fn param(mut self, name: &'static str) -> OwnOp {
        self.declaration.params.push(name);
        self
    }

    /// The dtypes of data for which the op means something.
    pub fn dtypes(mut self, dtypes: &[DType]) -> OwnOp {
        self.declaration.dtypes = dtypes.to_vec();
        self
    }

    /// The output's dtype, where it is not that of the data.
    pub fn output(mut self, dtype: DType) -> OwnOp {
        self.declaration.output = Some(dtype);
        self
    }

    /// The shapes as a pattern: see [`Shape::Pattern`].
    pub fn shape(mut self, pattern: &'static str) -> OwnOp {
        self.declaration.shape = Shape::Pattern(pattern);
        self
    }

    /// The output's shape as a function of the parameters and the shapes of the arguments. Its error is a sentence that says what
    /// does not go together.
    pub fn shape_by(mut self, rule: OwnShapeRule) -> OwnOp {
        self.declaration.shape = Shape::Rule(rule);
        self
    }

    /// The op is a batch: `args` has for each argument the dimension along which it is cut in two, and `None` for one that both
    /// parts get whole; the outputs of the parts follow one another along dimension `output`. The check `batch` compares the two.
    pub fn batch(mut self, args: &[Option<usize>], output: usize) -> OwnOp {
        self.declaration.batch = Some((args.to_vec(), output));
        self
    }

    /// Elements of the output are sums whose terms may be taken in any order: the checks `layout` and `batch` then ask for twice the
    /// limit, and not for the same bits.
    pub fn sums(mut self) -> OwnOp {
        self.declaration.terms = Terms::Unordered;
        self
    }

    /// The right answer as a formula, from which the limits and the gradient follow. For float dtypes.
    pub fn formula(
        mut self,
        formula: impl for<'t> Fn(&OwnCall<'t, '_>) -> Tensor<'t> + Send + Sync + 'static,
    ) -> OwnOp {
        self.right = Some(Right::Formula(Box::new(formula)));
        self
    }

    /// The right answer as numbers in f64, and how far from them an output may lie; `source` says where that is from.
    pub fn numbers(
        mut self,
        numbers: impl Fn(&Plain<'_>) -> Vec<f64> + Send + Sync + 'static,
        limit: Limit,
        source: &str,
    ) -> OwnOp {
        self.right = Some(Right::Numbers {
            of: Box::new(numbers),
            limit,
            source: source.to_owned(),
        });
        self
    }

    /// candle's gradient is compared for these dtypes, as the op `grad_NAME`; `definition` is the right one in words.
    pub fn gradient(mut self, dtypes: &[DType], definition: &'static str) -> OwnOp {
        self.declaration.gradient = Some((dtypes.to_vec(), definition));
        self
    }

    /// The call of candle: of the arguments, all on one device, and the parameters. `source` is the same as a Rust expression
    /// for the tests that shrinking prints: the arguments are `x0`, `x1` and so on, `{alpha}` is the value of the parameter `alpha`.
    pub fn call(
        mut self,
        source: &'static str,
        call: impl Fn(&[CandleTensor], &[f64]) -> CandleResult<CandleTensor> + Send + Sync + 'static,
    ) -> OwnOp {
        self.call = Some((source, Box::new(call)));
        self
    }

    /// Adds the op to the table of this process.
    ///
    /// # Errors
    /// [`Error::Settings`]: a declaration that lacks a part or contradicts itself, or a name that is taken.
    pub fn register(self) -> Result<(), Error> {
        let _one_at_a_time = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
        let name = self.declaration.name;
        let refused = |why: &str| Error::Settings(format!("the op `{name}` cannot be registered: {why}"));
        let right = self.right.ok_or_else(|| {
            refused("nothing says what is right: give it a `formula`, or `numbers` with a limit")
        })?;
        let (source, call) = self
            .call
            .ok_or_else(|| refused("nothing computes it: give it a `call` of candle"))?;
        let declaration = self.declaration;
        let formula = matches!(right, Right::Formula(_));
        let floats = declaration
            .dtypes
            .iter()
            .chain(&declaration.output)
            .all(|dtype| dtype.is_float());
        if formula && !floats {
            return Err(refused(
                "a formula is for float dtypes: use `numbers` for the others",
            ));
        }
        if !formula && declaration.gradient.is_some() {
            return Err(refused("only a `formula` has a gradient"));
        }
        // The declaration comes last: with it the op exists, and by then it has its other parts.
        table::check(&declaration).map_err(Error::settings)?;
        parity_oracle::own::register(name, right).map_err(|why| refused(&why))?;
        parity_exec::own::register(name, call, source).map_err(|why| refused(&why))?;
        table::register(&declaration).map_err(Error::settings)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(name: &'static str) -> OwnOp {
        OwnOp::new(name, "x / 2.")
            .data("x")
            .dtypes(&[DType::F32])
            .shape("[..] -> [..]")
            .formula(|call| call.x(0) * 0.5)
            .call("(&x0 * 0.5)?", |x, _| &x[0] * 0.5)
    }

    #[test]
    fn an_op_is_registered_once_and_the_second_changes_nothing() {
        half("run_own_half").register().unwrap();
        let why = half("run_own_half").register().unwrap_err().to_string();
        assert!(
            why.contains("`run_own_half` cannot be registered: it is registered already"),
            "{why}"
        );
        assert!(crate::names::ops("run_own_half").is_ok());
        assert!(crate::names::ops("own").is_ok());
    }

    #[test]
    fn an_op_that_lacks_a_part_or_has_one_too_many_says_which() {
        let why = |op: OwnOp| op.register().unwrap_err().to_string();
        let mut op = half("run_own_refused");
        op.right = None;
        assert!(why(op).contains("nothing says what is right"));
        let mut op = half("run_own_refused");
        op.call = None;
        assert!(why(op).contains("nothing computes it"));
        assert!(why(half("run_own_refused").dtypes(&[DType::U8])).contains("use `numbers`"));
        let exact = |op: OwnOp| op.numbers(|call| call.args[0].clone(), Limit::EXACT, "elements are moved");
        assert!(
            why(exact(half("run_own_refused")).gradient(&[DType::F32], "w.")).contains("only a `formula`")
        );
        assert!(why(half("exp")).contains("the table of ops has that name"));
        // Nothing of what was refused is left behind.
        exact(half("run_own_refused")).register().unwrap();
    }
}
