//! Ops that a program adds to the table when it starts: the family `own`.
//!
//! The table is made of rows that are compiled in, and an [`Op`] is a place in it. An op of a program's own is a row as well. It is
//! declared at run time, kept until the process ends, and an [`Op::Own`] points at it. What is built on rows therefore knows
//! it: ids, specs, shapes, random cases, shrinking, journals and records. The program that plans a run and the program that
//! serves as its worker register the same ops, usually because they are the same program. A record holds names, so that
//! whoever reads one needs no declaration. Nothing is registered twice, and nothing is taken back: an `Op` is valid for as
//! long as the process lives. How an op is computed and what is right are not said here: `parity-exec` and `parity-oracle`
//! keep the call and the formula under the op's name, and `parity_run::own` registers all three at once.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{PoisonError, RwLock};

use super::batch::Cut;
use super::shape::{Operands, Shapes};
use super::table::{Gradient, Names, OpRow};
use super::{Differentiable, Grad, Op, Role, Terms, pattern};
use crate::DType;

/// An op that the running program registered.
#[derive(Clone, Copy)]
pub struct Own(&'static Entry);

struct Entry {
    row: OpRow,
    shape: Shape,
    batch: Option<Cut>,
}

/// The shape of an op's output, of its parameters and the shapes of its arguments, or what does not go together, as a sentence.
pub type OwnShapeRule = fn(&[f64], &[&[usize]]) -> Result<Vec<usize>, String>;

/// What comes out of an op, for its parameters and the shapes of its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// `"[.., n] [n] -> [.., n]"`: one shape for each argument, and the output's. A name has one extent wherever it is, `2d` has
    /// twice that of `d`, `..` are any dimensions, and `n+` is not 0. `, ids < n` at the end says that ids are below the extent of `n`.
    Pattern(&'static str),
    /// A function of the parameters and the shapes.
    Rule(OwnShapeRule),
}

/// What a program says of an op of its own. How it is computed is said elsewhere.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The name in ids and specs: lower-case letters, digits and `_`.
    pub name: &'static str,
    /// The right answer in words, NaN and zero included.
    pub definition: &'static str,
    /// The names of the scalar parameters, in order.
    pub params: Vec<&'static str>,
    /// The names of the tensor arguments, in order, and what each is.
    pub args: Vec<(&'static str, Role)>,
    /// The dtypes of data for which the op means something.
    pub dtypes: Vec<DType>,
    /// The output's dtype; `None` is that of the data.
    pub output: Option<DType>,
    /// The shape rule.
    pub shape: Shape,
    /// Where the op is a batch: for each argument the dimension along which it is cut, and that of the output.
    pub batch: Option<(Vec<Option<usize>>, usize)>,
    /// What an element of the output is made of.
    pub terms: Terms,
    /// The dtypes for which candle's gradient is compared, and the right gradient in words.
    pub gradient: Option<(Vec<DType>, &'static str)>,
}

/// Why an op cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the op `{name}` cannot be registered: {why}")]
pub struct Refused {
    /// The op's name, as it was given.
    pub name: String,
    /// What is wrong, and what would be right.
    pub why: String,
}

/// An op and its gradient.
#[derive(Clone, Copy)]
struct Registered {
    op: Own,
    gradient: Option<&'static Differentiable>,
}

static REGISTRY: RwLock<Vec<Registered>> = RwLock::new(Vec::new());

/// What is registered now, in the order of registration.
fn registered() -> Vec<Registered> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Adds an op to the table of this process, until it ends.
///
/// # Errors
/// A declaration that contradicts itself, or a name that is taken.
pub fn register(declaration: &Declaration) -> Result<Own, Refused> {
    let mut registry = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    check_beside(&registry, declaration)?;
    // Rows live as long as the process, as those of the table do.
    let op = Own(Box::leak(Box::new(entry(declaration))));
    let differentiable = || &*Box::leak(Box::new(Differentiable::Op(Op::Own(op))));
    let gradient = declaration.gradient.as_ref().map(|_| differentiable());
    registry.push(Registered { op, gradient });
    Ok(op)
}

/// Whether an op could be registered now.
///
/// # Errors
/// As [`register`].
pub fn check(declaration: &Declaration) -> Result<(), Refused> {
    check_beside(&registered(), declaration)
}

fn check_beside(registry: &[Registered], declaration: &Declaration) -> Result<(), Refused> {
    let taken = |name: &str| registry.iter().any(|known| known.op.name() == name);
    contradiction(declaration, taken).map_err(|why| Refused {
        name: declaration.name.to_owned(),
        why,
    })
}

/// The ops of this process by name, each with everything of its declaration that a worker must agree with.
pub fn signatures() -> Vec<(String, String)> {
    let signature = |known: &Registered| (known.op.name().to_owned(), known.op.signature());
    registered().iter().map(signature).collect()
}

/// Every registered op.
pub(super) fn ops() -> Vec<Op> {
    registered().iter().map(|known| Op::Own(known.op)).collect()
}

/// The gradient of every registered op that has one.
pub(super) fn gradients() -> Vec<Grad> {
    let registered = registered();
    let gradients = registered.iter().filter_map(|known| known.gradient);
    gradients.map(Grad::listed).collect()
}

impl Own {
    /// The name in ids and specs.
    pub const fn name(self) -> &'static str {
        self.0.row.names.own
    }

    pub(super) const fn row(self) -> &'static OpRow {
        &self.0.row
    }

    /// The declaration on a line, without what is only for readers.
    fn signature(self) -> String {
        let row = self.row();
        let shape = match self.0.shape {
            Shape::Pattern(pattern) => pattern,
            Shape::Rule(_) => "a function",
        };
        format!(
            "({:?}) of {:?} {:?} on {:?} -> {:?}, shape {shape}, gradient on {:?}",
            row.params(),
            row.args(),
            row.roles(),
            row.dtypes,
            row.output,
            row.gradient.map(|gradient| gradient.dtypes),
        )
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Own({})", self.name())
    }
}

// A name is registered once, so that it stands for the op.
impl PartialEq for Own {
    fn eq(&self, other: &Own) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Own {}

impl PartialOrd for Own {
    fn partial_cmp(&self, other: &Own) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Own {
    fn cmp(&self, other: &Own) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl Hash for Own {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// The op of a call that is checked by the rules of this family.
fn own(call: &Operands<'_>) -> Option<Own> {
    let Op::Own(own) = call.op else {
        return None;
    };
    Some(own)
}

/// The shape rule of every row of the family: the declaration's.
fn shape(call: &Operands<'_>) -> Result<Shapes, String> {
    match own(call).map(|own| own.0.shape) {
        Some(Shape::Pattern(pattern)) => call.fit(pattern),
        Some(Shape::Rule(rule)) => rule(call.params, call.shapes)
            .map_err(|why| call.mismatch(&why))
            .and_then(Shapes::of),
        None => Err(format!("the family `own` has no op `{}`", call.op)),
    }
}

/// The batch rule of every row of the family.
fn batch(call: &Operands<'_>) -> Option<Cut> {
    own(call)?.0.batch.clone()
}

fn entry(declaration: &Declaration) -> Entry {
    let leak = |name: String| -> &'static str { String::leak(name) };
    let name = declaration.name;
    let (mut names, mut roles): (Vec<_>, Vec<_>) = declaration.args.iter().copied().unzip();
    names.push("w");
    roles.push(Role::Data);
    let mut params = declaration.params.clone();
    params.push("wrt");
    let gradient = declaration
        .gradient
        .as_ref()
        .map(|(dtypes, definition)| Gradient {
            dtypes: dtypes.clone().leak(),
            definition,
        });
    let row = OpRow {
        names: Names {
            own: name,
            broadcast: leak(format!("broadcast_{name}")),
            keepdim: leak(format!("{name}_keepdim")),
            all: leak(format!("{name}_all")),
            grad: leak(format!("grad_{name}")),
            grad_broadcast: leak(format!("grad_broadcast_{name}")),
        },
        params_and_wrt: params.leak(),
        args_and_weight: names.leak(),
        roles_and_weight: roles.leak(),
        dtypes: declaration.dtypes.clone().leak(),
        output: declaration.output,
        shape,
        batch,
        terms: declaration.terms,
        forms: &[],
        definition: declaration.definition,
        gradient,
    };
    Entry {
        row,
        shape: declaration.shape,
        batch: declaration.batch.clone(),
    }
}

/// Whether a text is a name as ids and specs have them.
fn is_word(text: &str) -> bool {
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(rest)
}

/// What is wrong with a declaration.
fn contradiction(declaration: &Declaration, taken: impl Fn(&str) -> bool) -> Result<(), String> {
    let name = declaration.name;
    if !is_word(name) {
        return Err("a name is lower-case letters, digits and `_`, a letter first, 64 at most".to_owned());
    }
    if taken(name) {
        return Err("it is registered already: register each op once".to_owned());
    }
    let forms = ["", "grad_"].map(|form| format!("{form}{name}"));
    let prefixed = name.starts_with("grad_") || name.starts_with("broadcast_");
    if prefixed || forms.iter().any(|form| Op::in_table(form).is_some()) {
        return Err("the table of ops has that name: choose another".to_owned());
    }
    let words: Vec<&str> = declaration.args.iter().map(|(arg, _)| *arg).collect();
    for (what, list, kept) in [
        ("argument", &words, "w"),
        ("parameter", &declaration.params, "wrt"),
    ] {
        for (i, word) in list.iter().enumerate() {
            if !is_word(word) || *word == kept || list[..i].contains(word) {
                return Err(format!(
                    "`{word}` cannot be the name of {what} {i}: expected lower-case letters, digits and `_`, not `{kept}`, each name once"
                ));
            }
        }
    }
    let roles = |wanted: Role| declaration.args.iter().any(|(_, role)| *role == wanted);
    if !roles(Role::Data) {
        return Err("no argument is data: the dtype of a case is that of its data".to_owned());
    }
    if roles(Role::Blocks) {
        return Err("weights in blocks are for the family `quantized`".to_owned());
    }
    if declaration.dtypes.is_empty() {
        return Err("it means something for no dtype: name those of its data".to_owned());
    }
    check_shape(declaration, roles(Role::Index))?;
    if let Some((args, _)) = &declaration.batch
        && args.len() != declaration.args.len()
    {
        return Err(format!(
            "the batch names {} dimensions to cut: name one, or none, for each of the {} arguments",
            args.len(),
            declaration.args.len()
        ));
    }
    let Some((dtypes, _)) = &declaration.gradient else {
        return Ok(());
    };
    let wrong = |dtype: &&DType| !dtype.is_float() || !declaration.dtypes.contains(dtype);
    match dtypes.iter().find(wrong) {
        Some(dtype) => Err(format!(
            "its gradient is for {dtype}: expected float dtypes of the op"
        )),
        None if dtypes.is_empty() => {
            Err("its gradient is for no dtype: name some, or declare no gradient".to_owned())
        }
        None => Ok(()),
    }
}

fn check_shape(declaration: &Declaration, ids: bool) -> Result<(), String> {
    match declaration.shape {
        Shape::Pattern(text) => pattern::check(text, declaration.args.len(), ids),
        Shape::Rule(_) if ids => Err(
            "a function of shapes does not say below what ids are: use a pattern that ends in `, ids < n`"
                .to_owned(),
        ),
        Shape::Rule(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::batch;
    use crate::op::shape::{infer, patterns};
    use crate::{Case, Family};

    /// The registry is one for all tests of the process: each has names of its own.
    fn gated(name: &'static str) -> Declaration {
        Declaration {
            name,
            definition: "gate up.",
            params: vec!["alpha"],
            args: vec![("gate", Role::Data), ("up", Role::Data)],
            dtypes: vec![DType::F16, DType::F32],
            output: None,
            shape: Shape::Pattern("[.., n] [.., n] -> [.., n]"),
            batch: Some((vec![Some(0), Some(0)], 0)),
            terms: Terms::One,
            gradient: Some((vec![DType::F32], "by either.")),
        }
    }

    #[test]
    fn what_is_registered_has_ids_shapes_a_batch_and_a_gradient_as_rows_have() {
        register(&gated("own_gated")).unwrap();
        let id = "own/own_gated(1.5):f32:[4,3],[4,3]:transposed,contiguous:uniform(-1,1)";
        let case: Case = id.parse().unwrap();
        assert_eq!(case.id().as_str(), id);
        assert_eq!(case.op.family(), Family::Own);
        assert_eq!((case.op.arity(), case.op.params()), (2, &["alpha"][..]));
        assert_eq!(case.result_shape(), [4, 3]);
        assert_eq!(patterns(case.op).len(), 1);
        assert_eq!(batch::batch(case.op, &[1.5], &[&[4, 3], &[4, 3]]).unwrap().at, 2);
        assert!(infer(case.op, &[1.5], &[&[4, 3], &[4, 2]]).is_err());
        let gradient: Case =
            "grad/grad_own_gated(1.5,1):f32:[3],[3],[3]:contiguous,contiguous,contiguous:uniform(-1,1)"
                .parse()
                .unwrap();
        assert_eq!(Op::Grad(case.op.gradient().unwrap()), gradient.op);
        assert_eq!(gradient.op.params(), ["alpha", "wrt"]);
        assert!(Op::all().contains(&case.op) && Op::all().contains(&gradient.op));
        assert!(signatures().iter().any(|(name, _)| name == "own_gated"));
    }

    #[test]
    fn an_id_of_an_op_that_is_not_registered_says_where_it_would_be() {
        let error = "own/own_nobodys:f32:[3]:contiguous:any"
            .parse::<Case>()
            .unwrap_err();
        assert!(
            error
                .why
                .contains("this program has registered no op `own_nobodys`"),
            "{error}"
        );
    }

    #[test]
    fn a_name_is_registered_once_and_never_one_of_the_table() {
        register(&gated("own_once")).unwrap();
        let why = |declaration: Declaration| register(&declaration).unwrap_err().to_string();
        assert!(why(gated("own_once")).contains("registered already"));
        for name in ["exp", "grad_exp", "broadcast_mine", "permute"] {
            assert!(
                why(gated(name)).contains("the table of ops has that name"),
                "{name}"
            );
        }
        for name in ["", "Mine", "my-op", "a/b", "1st"] {
            assert!(
                why(gated(name)).contains("a name is lower-case letters"),
                "{name}"
            );
        }
    }

    #[test]
    fn a_declaration_that_contradicts_itself_is_refused_with_what_would_be_right() {
        let refused = |change: &dyn Fn(&mut Declaration), wanted: &str| {
            let mut declaration = gated("own_refused");
            change(&mut declaration);
            let why = register(&declaration).unwrap_err().why;
            assert!(why.contains(wanted), "{why}");
        };
        refused(&|d| d.args = vec![("ids", Role::Index)], "no argument is data");
        refused(&|d| d.args[1].0 = "gate", "each name once");
        refused(&|d| d.params = vec!["wrt"], "not `wrt`");
        refused(&|d| d.dtypes.clear(), "no dtype");
        refused(
            &|d| d.batch = Some((vec![Some(0)], 0)),
            "for each of the 2 arguments",
        );
        refused(
            &|d| d.gradient = Some((vec![DType::I64], "")),
            "expected float dtypes",
        );
        refused(&|d| d.shape = Shape::Pattern("[n] -> [n]"), "2 arguments");
        refused(&|d| d.shape = Shape::Pattern("[n] [n]"), "` -> `");
        refused(&|d| d.shape = Shape::Pattern("[n] [n] -> [m]"), "`m`");
        refused(&|d| d.args[1].1 = Role::Index, "ids < ");
        refused(
            &|d| {
                d.args[1].1 = Role::Index;
                d.shape = Shape::Rule(|_, shapes| Ok(shapes[0].to_vec()));
            },
            "below what ids are",
        );
        assert!(!Op::all().iter().any(|op| op.name() == "own_refused"));
    }

    #[test]
    fn a_function_says_what_comes_out_and_its_error_names_the_op() {
        let mut declaration = gated("own_rule");
        declaration.gradient = None;
        declaration.shape = Shape::Rule(|_, shapes| match shapes {
            [[n], [m]] => Ok(vec![n + m]),
            _ => Err("both are lists".to_owned()),
        });
        let op = Op::Own(register(&declaration).unwrap());
        assert_eq!(infer(op, &[0.0], &[&[2], &[3]]).unwrap().output, [5]);
        let why = infer(op, &[0.0], &[&[2, 2], &[3]]).unwrap_err();
        assert!(
            why.contains("own_rule") && why.contains("both are lists"),
            "{why}"
        );
        assert_eq!(op.gradient(), None);
    }
}
