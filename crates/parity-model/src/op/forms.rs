//! The ops that are forms of a row: broadcast, over all dimensions or with extent 1 left, differentiated. Which exist
//! follows from the rows. What an op computes is not said here.

use super::{
    Binary, Cast, Conv, Copies, Differentiable, Form, Grad, GradOnly, Indexing, Layers, Matmul, Nn, Op, Pool,
    Quantized, Random, Reduce, Sort, Unary, Upsample, Where, own,
};

/// What a reduction is over, and what it keeps of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keep {
    /// Over the dimensions that the parameters name, of which nothing is left.
    Nothing,
    /// Over the dimensions that the parameters name, of which extent 1 is left: `sum_keepdim`.
    One,
    /// Over all dimensions, so that a scalar is left: `sum_all`.
    Scalar,
}

impl Keep {
    /// The dimensions that a reduction is over, for its parameters and an argument of `rank` dimensions.
    pub fn dims(self, params: &[f64], rank: usize) -> Vec<usize> {
        match self {
            Keep::Nothing | Keep::One => params.iter().map(|dim| *dim as usize).collect(),
            Keep::Scalar => (0..rank).collect(),
        }
    }

    const fn is(self, other: Keep) -> bool {
        self as u8 == other as u8
    }
}

impl Reduce {
    /// Whether this is the form that has the reduction's own name, and its gradient.
    pub(super) const fn is_plain(self, keep: Keep) -> bool {
        self.row().plain_form().is(keep)
    }
}

/// The form that has the reduction's own name.
impl From<Reduce> for Op {
    fn from(op: Reduce) -> Op {
        Op::Reduce(op, op.row().plain_form())
    }
}

/// A list that a constant is made of. What does not fit is counted.
struct List<T, const N: usize> {
    items: [T; N],
    len: usize,
}

impl<T: Copy, const N: usize> List<T, N> {
    const fn of(any: T) -> Self {
        let items = [any; N];
        List { items, len: 0 }
    }

    const fn push(&mut self, item: T) {
        if self.len < N {
            self.items[self.len] = item;
        }
        self.len += 1;
    }
}

/// A loop over a slice, as a constant can have it.
macro_rules! each {
    ($item:ident in $items:expr => $body:block) => {
        let (items, mut i) = ($items, 0);
        while i < items.len() {
            let $item = &items[i];
            $body
            i += 1;
        }
    };
}

macro_rules! push_all {
    ($list:ident: $($family:ident)+) => {
        $(each!(op in $family::ALL => { $list.push(Op::$family(*op)); });)+
    };
}

/// Every op of the families before that of gradients.
const fn undifferentiated<const N: usize>() -> List<Op, N> {
    let mut list = List::of(Op::Unary(Unary::Exp));
    push_all!(list: Unary Binary);
    each!(op in Binary::ALL => { list.push(Op::Broadcast(*op)); });
    push_all!(list: Cast Where);
    each!(keep in &[Keep::Nothing, Keep::One, Keep::Scalar] => {
        each!(op in Reduce::ALL => {
            each!(form in op.row().forms => {
                if form.is(*keep) {
                    list.push(Op::Reduce(*op, *keep));
                }
            });
        });
    });
    push_all!(list: Indexing Matmul Conv Pool Upsample Copies Sort Nn Layers Random);
    list
}

const UNDIFFERENTIATED: &[Op] = &undifferentiated::<{ undifferentiated::<0>().len }>().items;

/// Every function of which the table has the gradient.
const fn differentiable<const N: usize>() -> List<Differentiable, N> {
    let mut list = List::of(Differentiable::GradOnly(GradOnly::Permute));
    each!(op in UNDIFFERENTIATED => {
        let (row, form) = op.row();
        if row.gradient.is_some() && matches!(form, Form::Plain | Form::Broadcast) {
            list.push(Differentiable::Op(*op));
        }
    });
    each!(function in GradOnly::ALL => { list.push(Differentiable::GradOnly(*function)); });
    list
}

const DIFFERENTIABLE: &[Differentiable] = &differentiable::<{ differentiable::<0>().len }>().items;

/// Every op, by family.
const fn all<const N: usize>() -> List<Op, N> {
    let mut list = List::of(UNDIFFERENTIATED[0]);
    each!(op in UNDIFFERENTIATED => { list.push(*op); });
    each!(function in DIFFERENTIABLE => { list.push(Op::Grad(Grad::listed(function))); });
    push_all!(list: Quantized);
    list
}

impl Op {
    /// Every op of the table, by family: its rows in their order, a reduction's forms one after the other.
    pub const ALL: &'static [Op] = &all::<{ all::<0>().len }>().items;

    /// Every op that there is now: those of the table, then those of the running program, then the gradients of those.
    pub fn all() -> Vec<Op> {
        [Op::ALL, &Op::registered()].concat()
    }

    /// The ops of the running program, then their gradients.
    pub(super) fn registered() -> Vec<Op> {
        let gradients = own::gradients().into_iter().map(Op::Grad);
        own::ops().into_iter().chain(gradients).collect()
    }

    /// The op of the table that has this name.
    pub(super) fn in_table(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// The gradient of the op, where the table has it.
    pub fn gradient(self) -> Option<Grad> {
        let of_this = |function: Differentiable| function == Differentiable::Op(self);
        if let Op::Own(_) = self {
            return own::gradients().into_iter().find(|grad| of_this(grad.of()));
        }
        let listed = DIFFERENTIABLE.iter().find(|function| of_this(**function));
        listed.map(Grad::listed)
    }
}
