//! One case: an op, its arguments and the numbers in them. Its id is its filter, its repro and its seed.

use serde::{Deserialize, Serialize};

use crate::float::int_range;
use crate::op::shape::{self, Shapes};
use crate::op::{Family, Role};
use crate::values::{self, Slot};
use crate::{DType, HostTensor, Layout, Op, ValueSet, ViewPlan};

/// How far down the test ladder a case stands; a run of a tier holds every tier before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Seconds: the ops exist and compute.
    Quick,
    /// The default: under two minutes on two cores with the software GPU.
    Ci,
    /// Everything that ends in minutes.
    Full,
    /// Everything.
    Slow,
}

impl Tier {
    /// Every tier, smallest first.
    pub const ALL: [Tier; 4] = [Tier::Quick, Tier::Ci, Tier::Full, Tier::Slow];

    /// The word specs and options use.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Quick => "quick",
            Tier::Ci => "ci",
            Tier::Full => "full",
            Tier::Slow => "slow",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Tier {
    type Err = crate::op::UnknownName;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let tier = Tier::ALL.into_iter().find(|tier| tier.name() == s);
        tier.ok_or_else(|| crate::op::UnknownName {
            what: "tier",
            name: s.to_owned(),
        })
    }
}

/// How far an output may be from the oracle's.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitSpec {
    /// The oracle's own, derived limit.
    Derived,
    /// The spec's: an error of `ulp` units in the last place plus `abs` is inside.
    Fixed {
        /// Units in the last place of the output dtype.
        ulp: f64,
        /// Absolute part.
        abs: f64,
        /// Where the numbers come from.
        source: String,
    },
    /// Bit for bit, the sign of zero included; NaN payloads are not compared.
    Bits {
        /// Why bits can be asked for.
        source: String,
    },
}

/// One argument of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Logical shape.
    pub shape: Vec<usize>,
    /// How it lies in memory.
    pub layout: Layout,
    /// Element type.
    pub dtype: DType,
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The op.
    pub op: Op,
    /// Values for [`Op::params`], in order.
    pub params: Vec<f64>,
    /// Dtype of the data. Ids and conditions have their own, in [`Case::args`].
    pub dtype: DType,
    /// The arguments, [`Op::arity`] of them.
    pub args: Vec<Arg>,
    /// What the arguments are filled with.
    pub values: ValueSet,
    /// Where it stands on the ladder.
    pub tier: Tier,
    /// How far the output may be from the oracle's.
    pub limit: LimitSpec,
    /// Seconds it may take on one backend, where it is not to have the run's limit.
    pub timeout: Option<f64>,
}

/// The text that names a case: `unary/exp:f32:[2,3]:transposed:uniform(-10,10)`.
///
/// It holds everything that the inputs depend on: parsing it with [`Case`]'s `FromStr` gives the case back, with a
/// derived limit and in tier `quick`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CaseId(String);

impl CaseId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

impl std::str::FromStr for CaseId {
    type Err = BadCaseId;

    fn from_str(text: &str) -> Result<Self, BadCaseId> {
        let id = text.parse::<Case>()?.id();
        if id.0 != text {
            return Err(BadCaseId {
                text: text.to_owned(),
                why: format!("it is spelled `{id}`"),
            });
        }
        Ok(id)
    }
}

/// A text that names no case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid case id `{text}`: {why}")]
pub struct BadCaseId {
    /// The text found.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// `[2,3]`.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(","))
}

fn join<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

impl Case {
    /// The id.
    pub fn id(&self) -> CaseId {
        let params = match self.params.as_slice() {
            [] => String::new(),
            params => format!("({})", join(params.iter())),
        };
        CaseId(format!(
            "{}/{}{}:{}:{}:{}:{}",
            self.op.family(),
            self.op,
            params,
            self.dtypes(),
            join(self.args.iter().map(|arg| shape_text(&arg.shape))),
            join(self.args.iter().map(|arg| arg.layout)),
            self.values
        ))
    }

    /// One word for all arguments, or one for each where they differ.
    fn dtypes(&self) -> String {
        if self.args.iter().all(|arg| arg.dtype == self.dtype) {
            return self.dtype.to_string();
        }
        join(self.args.iter().map(|arg| arg.dtype))
    }

    /// The base tensors, one an argument: what a backend uploads before it makes the views of [`Layout::plan`].
    /// The same for the same `seed` and id, on every machine.
    ///
    /// # Panics
    /// When an argument's layout is impossible for its shape, which no case from a spec or an id has.
    pub fn inputs(&self, seed: u64) -> Vec<HostTensor> {
        let id = self.id();
        let bound = self.shapes().ok().and_then(|shapes| shapes.bound);
        let data = self.data().count();
        let fill = |(i, arg): (usize, &Arg)| {
            let plan = self.plan(i);
            let plan = plan.unwrap_or_else(|| panic!("{id}: {} needs {}", arg.layout, arg.layout.needs()));
            let roles = self.op.roles();
            let slot = Slot {
                seed,
                id: id.as_str(),
                arg: i,
                place: roles[..i].iter().filter(|role| **role == Role::Data).count(),
                arity: data,
            };
            match roles[i] {
                Role::Data => values::fill(self.values, arg.dtype, &plan.base_shape, &slot),
                Role::Condition => values::fill_condition(arg.dtype, &plan.base_shape, &slot),
                Role::Index => values::fill_ids(
                    self.values,
                    arg.dtype,
                    &plan.base_shape,
                    bound.unwrap_or(0),
                    &slot,
                ),
                Role::Blocks => {
                    let format = self.op.block_format();
                    let format = format.unwrap_or_else(|| panic!("{id}: blocks of no format"));
                    values::fill_blocks(self.values, format, &plan.base_shape, &slot)
                }
            }
        };
        self.args.iter().enumerate().map(fill).collect()
    }

    /// How argument `i` lies in its base tensor; `None` when its layout is impossible for its shape. Of blocks the base
    /// tensor and the view are the bytes.
    ///
    /// # Panics
    /// When there is no argument `i`.
    pub fn plan(&self, i: usize) -> Option<ViewPlan> {
        let arg = &self.args[i];
        let blocks = matches!(self.op.roles().get(i), Some(Role::Blocks));
        match self.op.block_format().filter(|_| blocks) {
            None => arg.layout.plan(&arg.shape),
            Some(_) if arg.layout != Layout::Contiguous => None,
            Some(format) => Layout::Contiguous.plan(&format.stored(&arg.shape)?),
        }
    }

    /// The arguments that hold the case's values.
    fn data(&self) -> impl Iterator<Item = &Arg> {
        let roles = self.op.roles().iter();
        let data = self
            .args
            .iter()
            .zip(roles)
            .filter(|(_, role)| **role == Role::Data);
        data.map(|(arg, _)| arg)
    }

    /// Whether the right answer is to refuse: an id is out of range.
    pub fn must_refuse(&self) -> bool {
        matches!(self.values, ValueSet::IdsBeyond | ValueSet::IdsNegative)
    }

    /// Whether the dtype of the ids holds the id that is to be refused, and there is a place for one.
    fn check_bad_id(&self, bound: Option<usize>) -> Result<(), String> {
        let Some(bad) = self.values.bad_id(bound.unwrap_or(0)) else {
            return Ok(());
        };
        for (arg, _) in self
            .args
            .iter()
            .zip(self.op.roles())
            .filter(|(_, role)| **role == Role::Index)
        {
            // The largest number means "none", which is no mistake.
            let held = int_range(arg.dtype).is_some_and(|(min, max)| (min..max).contains(&bad));
            if !held || arg.shape.contains(&0) {
                return Err(format!(
                    "`{}` needs an id of {bad}, which {} ids of {} do not have",
                    self.values,
                    shape_text(&arg.shape),
                    arg.dtype
                ));
            }
        }
        Ok(())
    }

    /// What the shape rules make of the case.
    fn shapes(&self) -> Result<Shapes, String> {
        let shapes: Vec<&[usize]> = self.args.iter().map(|arg| arg.shape.as_slice()).collect();
        shape::infer(self.op, &self.params, &shapes)
    }

    /// The shape of the output.
    ///
    /// # Panics
    /// When the case breaks a shape rule, which no case from a spec or an id does.
    pub fn result_shape(&self) -> Vec<usize> {
        let shapes = self.shapes();
        shapes.unwrap_or_else(|why| panic!("{}: {why}", self.id())).output
    }

    /// Whether shapes, layouts, values, dtypes and parameters fit each other.
    ///
    /// # Errors
    /// A sentence that says what does not fit.
    pub fn check(&self) -> Result<(), String> {
        let op = self.op;
        if !op.accepts(self.dtype) {
            return Err(format!(
                "`{op}` means nothing for {}: it takes {}",
                self.dtype,
                join(op.dtypes().iter())
            ));
        }
        if !op.takes_params(self.params.len()) {
            return Err(format!(
                "`{op}` takes {} parameters, not {}",
                op.params().len(),
                self.params.len()
            ));
        }
        for (arg, role) in self.args.iter().zip(op.roles()) {
            match role {
                Role::Data if arg.dtype != self.dtype => {
                    return Err(format!(
                        "`{op}`: all data has one dtype, {} or {}",
                        self.dtype, arg.dtype
                    ));
                }
                Role::Condition | Role::Index if arg.dtype.is_float() => {
                    return Err(format!(
                        "`{op}`: ids and conditions are integers, not {}",
                        arg.dtype
                    ));
                }
                Role::Blocks if arg.dtype != DType::U8 => {
                    return Err(format!("`{op}`: blocks are bytes, u8, not {}", arg.dtype));
                }
                Role::Data | Role::Condition | Role::Index | Role::Blocks => {}
            }
        }
        self.check_bad_id(self.shapes()?.bound)?;
        let mut base_shapes = Vec::new();
        for (i, (arg, role)) in self.args.iter().zip(op.roles()).enumerate() {
            if *role == Role::Blocks && arg.layout != Layout::Contiguous {
                return Err(format!("`{op}`: blocks are contiguous, not {}", arg.layout));
            }
            let plan = self.plan(i).ok_or_else(|| {
                format!(
                    "layout `{}` needs {}, and the shape is {}",
                    arg.layout,
                    arg.layout.needs(),
                    shape_text(&arg.shape)
                )
            })?;
            if *role == Role::Data {
                base_shapes.push(plan.base_shape);
            }
        }
        let contiguous = self.data().all(|arg| arg.layout == Layout::Contiguous);
        let base_shapes: Vec<&[usize]> = base_shapes.iter().map(Vec::as_slice).collect();
        self.values.check(op, self.dtype, &base_shapes, contiguous)
    }
}

/// `exp` and no parameters, or `affine(2,-1)` and two.
fn parse_op(text: &str) -> Result<(Op, Vec<f64>), String> {
    let (name, params) = match text.split_once('(') {
        None => (text, vec![]),
        Some((name, rest)) => {
            let list = rest
                .strip_suffix(')')
                .ok_or("the closing parenthesis of the parameters is missing")?;
            let parse = |text: &str| {
                text.parse::<f64>()
                    .map_err(|_| format!("parameter `{text}` is not a number"))
            };
            (name, list.split(',').map(parse).collect::<Result<_, _>>()?)
        }
    };
    Ok((name.parse::<Op>().map_err(|e| e.to_string())?, params))
}

/// `[2,3],[2,3]`.
fn parse_shapes(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inner = inner.ok_or_else(|| format!("`{text}` is not a list of shapes like [2,3],[2,3]"))?;
    let dim = |text: &str| {
        text.parse::<usize>()
            .map_err(|_| format!("`{text}` is not a dimension"))
    };
    let shape = |text: &str| match text {
        "" => Ok(vec![]),
        dims => dims.split(',').map(dim).collect(),
    };
    inner.split("],[").map(shape).collect()
}

impl std::str::FromStr for Case {
    type Err = BadCaseId;

    fn from_str(text: &str) -> Result<Self, BadCaseId> {
        parse_case(text).map_err(|why| BadCaseId {
            text: text.to_owned(),
            why,
        })
    }
}

fn parse_case(text: &str) -> Result<Case, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [op, dtype, shapes, layouts, values] = parts[..] else {
        return Err("expected family/op:dtype:shapes:layouts:values".to_owned());
    };
    let (family, op) = op
        .split_once('/')
        .ok_or("the family is missing, as in unary/exp")?;
    let (op, params) = parse_op(op)?;
    if family.parse::<Family>() != Ok(op.family()) {
        return Err(format!(
            "`{op}` is of the family `{}`, not `{family}`",
            op.family()
        ));
    }
    let dtypes: Vec<DType> = dtype
        .split(',')
        .map(str::parse)
        .collect::<Result<_, crate::dtype::UnknownDType>>()
        .map_err(|e| e.to_string())?;
    let shapes = parse_shapes(shapes)?;
    let layouts: Vec<Layout> = layouts
        .split(',')
        .map(str::parse)
        .collect::<Result<_, crate::op::UnknownName>>()
        .map_err(|e| e.to_string())?;
    let arity = op.arity();
    if shapes.len() != arity || layouts.len() != arity {
        return Err(format!(
            "`{op}` takes {arity} arguments: as many shapes, as many layouts"
        ));
    }
    if dtypes.len() != 1 && dtypes.len() != arity {
        return Err(format!(
            "`{op}` takes {arity} arguments: one dtype for all of them, or as many dtypes"
        ));
    }
    let dtype_of = |i: usize| *dtypes.get(i).unwrap_or(&dtypes[0]);
    let first_data = op.roles().iter().position(|role| *role == Role::Data);
    let args = shapes.into_iter().zip(layouts).enumerate();
    let arg = |(i, (shape, layout))| Arg {
        shape,
        layout,
        dtype: dtype_of(i),
    };
    let args = args.map(arg).collect();
    let dtype = dtype_of(first_data.unwrap_or(0));
    let values = values.parse().map_err(|e: values::BadValueSet| e.to_string())?;
    let case = Case {
        op,
        params,
        dtype,
        args,
        values,
        tier: Tier::Quick,
        limit: LimitSpec::Derived,
        timeout: None,
    };
    case.check()?;
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_parses_back_to_its_case() {
        for text in [
            "unary/exp:f32:[2,3]:transposed:uniform(-10,10)",
            "unary/affine(2,-1):u8:[]:contiguous:ints(0,9)",
            "unary/powf(0.5):f8e4m3:[256]:contiguous:exhaustive",
            "binary/add:f16:[3,5],[3,5]:contiguous,broadcast:ints(-9,9)",
            "binary/eq:i64:[0,4],[0,4]:contiguous,sliced:ints(-1,1)",
            "where/where_cond:u8,f32,f32:[3,5],[3,5],[3,5]:contiguous,transposed,broadcast:any",
            "where/where_cond:i64:[4],[4],[4]:contiguous,contiguous,contiguous:any",
            "reduce/sum(0,2):bf16:[2,3,4]:transposed:ints(-4,4)",
            "indexing/gather(1):f16,u32:[2,3],[2,7]:contiguous,contiguous:any",
            "indexing/scatter(0):i64,u8,i64:[5,3],[2,3],[2,3]:contiguous,stepped,contiguous:any",
            "matmul/matmul:f32:[2,3],[3,4]:transposed,contiguous:ints(-4,4)",
            "quantized/dequantize_q2_K:u8:[2,512]:contiguous:any",
            "quantized/qmatmul_q4_0:bf16,u8:[9,64],[33,64]:offset,contiguous:uniform(-1,1)",
            "quantized/embedding_f16:u8,u32:[5,7],[2,3]:contiguous,transposed:any",
        ] {
            let case: Case = text.parse().unwrap();
            assert_eq!(case.id().as_str(), text);
            assert_eq!(case.id().as_str().parse::<Case>(), Ok(case));
            assert_eq!(text.parse::<CaseId>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_id_says_what_is_wrong() {
        for (text, why) in [
            ("unary/exp:f32:[2]", "expected family/op:dtype"),
            ("exp:f32:[2]:contiguous:any", "family is missing"),
            ("unary/expm1:f32:[2]:contiguous:any", "unknown op `expm1`"),
            (
                "binary/exp:f32:[2]:contiguous:any",
                "family `unary`, not `binary`",
            ),
            ("unary/exp:f31:[2]:contiguous:any", "unknown dtype `f31`"),
            ("unary/exp:f32:2:contiguous:any", "not a list of shapes"),
            ("unary/exp:f32:[x]:contiguous:any", "not a dimension"),
            ("unary/exp:f32:[2]:diagonal:any", "unknown layout `diagonal`"),
            ("unary/exp:f32:[2]:transposed:any", "needs rank >= 2"),
            ("unary/exp:f32:[2]:contiguous:all", "invalid value set `all`"),
            ("unary/exp:i32:[2]:contiguous:any", "means nothing for i32"),
            (
                "unary/affine(2):f32:[2]:contiguous:any",
                "takes 2 parameters, not 1",
            ),
            ("unary/affine(2,x):f32:[2]:contiguous:any", "`x` is not a number"),
            ("binary/add:f32:[2]:contiguous:any", "takes 2 arguments"),
            (
                "binary/add:f32:[2],[3]:contiguous,contiguous:any",
                "same logical shape",
            ),
            (
                "indexing/gather(1):f16,f32:[2,3],[2,7]:contiguous,contiguous:any",
                "ids and conditions are integers, not f32",
            ),
            (
                "indexing/scatter(0):f16,u8,f32:[2],[2],[2]:contiguous,contiguous,contiguous:any",
                "all data has one dtype, f16 or f32",
            ),
            (
                "unary/exp:f32,f32:[2]:contiguous:any",
                "one dtype for all of them",
            ),
            ("reduce/max(1):f32:[2]:contiguous:any", "no dimension 1"),
            (
                "quantized/dequantize_q4_2:u8:[32]:contiguous:any",
                "unknown op `dequantize_q4_2`",
            ),
            (
                "quantized/dequantize_q4_0:u8:[33]:contiguous:any",
                "whole blocks of 32",
            ),
            (
                "quantized/dequantize_q4_0:u8:[2,32]:transposed:any",
                "blocks are contiguous",
            ),
            (
                "quantized/dequantize_q4_0:u8:[32]:contiguous:ints(0,9)",
                "filled with `any`",
            ),
            (
                "quantized/qmatmul_q4_0:f32:[1,32],[1,32]:contiguous,contiguous:quants",
                "blocks are bytes, u8, not f32",
            ),
            (
                "quantized/qmatmul_bf16:bf16,u8:[1,32],[1,32]:contiguous,contiguous:quants",
                "means nothing for bf16: it takes f32",
            ),
            (
                "quantized/qmatmul_q4_0:f32,u8:[1,32],[1,32]:contiguous,contiguous:any",
                "too far apart for the activations",
            ),
            (
                "unary/exp:f32:[2]:contiguous:quants",
                "`quants` is for products with blocks",
            ),
            ("unary/exp:f32:[2]:contiguous:ids_beyond", "`exp` has none"),
            (
                "indexing/gather(0):f32,u8:[300],[9]:contiguous,contiguous:ids_beyond",
                "needs an id of 300",
            ),
            (
                "indexing/gather(0):f32,u32:[3],[9]:contiguous,contiguous:ids_negative",
                "needs an id of -1",
            ),
        ] {
            let message = text.parse::<Case>().unwrap_err().to_string();
            assert!(message.contains(text) && message.contains(why), "{message}");
        }
        let message = "unary/affine(2.0,1):f32:[2]:contiguous:any"
            .parse::<CaseId>()
            .unwrap_err()
            .to_string();
        assert!(message.contains("spelled `unary/affine(2,1):"), "{message}");
    }

    #[test]
    fn ids_are_in_range_and_conditions_are_both() {
        let case: Case = "indexing/gather(0):f32,u8:[300],[512]:contiguous,contiguous:any"
            .parse()
            .unwrap();
        let ids = &case.inputs(0)[1];
        assert_eq!(ids.dtype, DType::U8);
        assert!(ids.bytes.iter().all(|id| *id < 255), "255 means skip");
        assert!(ids.bytes.contains(&0) && ids.bytes.contains(&254));
        let case: Case = "indexing/gather(0):f32,u8:[9],[5]:contiguous,contiguous:ids_beyond"
            .parse()
            .unwrap();
        assert_eq!(case.inputs(0)[1].bytes.iter().filter(|id| **id == 9).count(), 1);
        assert!(case.must_refuse());
        let case: Case = "where/where_cond:i16,f32,f32:[64],[64],[64]:contiguous,contiguous,contiguous:any"
            .parse()
            .unwrap();
        let condition = &case.inputs(0)[0];
        let truths = (0..64).filter(|i| condition.bits(*i) != 0).count();
        assert!((16..48).contains(&truths), "{truths} of 64");
    }

    #[test]
    fn blocks_are_the_bytes_of_the_weights_and_depend_on_the_id() {
        let case: Case = "quantized/qmatmul_q4_K:f32,u8:[9,512],[3,512]:contiguous,contiguous:quants"
            .parse()
            .unwrap();
        let inputs = case.inputs(0);
        assert_eq!((inputs[0].dtype, inputs[1].dtype), (DType::F32, DType::U8));
        assert_eq!(inputs[1].shape, [3, 2 * 144]);
        assert_eq!(inputs[1].bytes.len(), inputs[1].len());
        assert_eq!(inputs, case.inputs(0));
        assert_ne!(inputs[1], case.inputs(1)[1]);
        assert_eq!(case.result_shape(), [9, 3]);
    }

    #[test]
    fn inputs_lie_under_their_layouts() {
        let case: Case = "binary/add:f32:[3,5],[3,5]:transposed,broadcast:any"
            .parse()
            .unwrap();
        let inputs = case.inputs(0);
        assert_eq!(inputs[0].shape, [5, 3]);
        assert_eq!(inputs[1].shape, [1, 5]);
        assert_eq!(inputs, case.inputs(0));
        assert_ne!(inputs, case.inputs(1));
    }

    #[test]
    fn tiers_are_ordered_and_parse_back() {
        assert!(Tier::Quick < Tier::Ci && Tier::Ci < Tier::Full && Tier::Full < Tier::Slow);
        for tier in Tier::ALL {
            assert_eq!(tier.name().parse(), Ok(tier));
        }
    }
}
