//! The ops that are forms of a row: broadcast, over all dimensions or with extent 1 left, differentiated. Which exist
//! follows from the rows. What an op computes is not said here.

use super::{
    Binary, Cast, Conv, Copies, Differentiable, Form, Grad, GradOnly, Indexing, Layers, Matmul, Nn, Op, Pool,
    Quantized, Random, Reduce, Sort, Unary, Upsample, Where,
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
    /// Whether the table has the reduction in this form.
    const fn has(self, keep: Keep) -> bool {
        let forms = self.row().forms;
        let mut i = 0;
        while i < forms.len() {
            if forms[i].is(keep) {
                return true;
            }
            i += 1;
        }
        false
    }

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
    const fn push(&mut self, item: T) {
        if self.len < N {
            self.items[self.len] = item;
        }
        self.len += 1;
    }
}

macro_rules! push_all {
    ($list:ident: $($family:ident)+) => {
        $(
            let mut i = 0;
            while i < $family::ALL.len() {
                $list.push(Op::$family($family::ALL[i]));
                i += 1;
            }
        )+
    };
}

/// Every op that is no gradient, up to the family of gradients.
const fn undifferentiated<const N: usize>() -> List<Op, N> {
    let mut list = List {
        items: [Op::Unary(Unary::Exp); N],
        len: 0,
    };
    push_all!(list: Unary Binary);
    let mut i = 0;
    while i < Binary::ALL.len() {
        list.push(Op::Broadcast(Binary::ALL[i]));
        i += 1;
    }
    push_all!(list: Cast Where);
    let (mut i, keeps) = (0, [Keep::Nothing, Keep::One, Keep::Scalar]);
    while i < keeps.len() * Reduce::ALL.len() {
        let (keep, op) = (keeps[i / Reduce::ALL.len()], Reduce::ALL[i % Reduce::ALL.len()]);
        if op.has(keep) {
            list.push(Op::Reduce(op, keep));
        }
        i += 1;
    }
    push_all!(list: Indexing Matmul Conv Pool Upsample Copies Sort Nn Layers Random);
    list
}

const UNDIFFERENTIATED: &[Op] = &undifferentiated::<{ undifferentiated::<0>().len }>().items;

/// Every function of which the table has the gradient.
const fn differentiable<const N: usize>() -> List<Differentiable, N> {
    let mut list = List {
        items: [Differentiable::Op(Op::Unary(Unary::Exp)); N],
        len: 0,
    };
    let mut i = 0;
    while i < UNDIFFERENTIATED.len() {
        let (row, form) = UNDIFFERENTIATED[i].row();
        if row.gradient.is_some() && matches!(form, Form::Plain | Form::Broadcast) {
            list.push(Differentiable::Op(UNDIFFERENTIATED[i]));
        }
        i += 1;
    }
    i = 0;
    while i < GradOnly::ALL.len() {
        list.push(Differentiable::GradOnly(GradOnly::ALL[i]));
        i += 1;
    }
    list
}

const DIFFERENTIABLE: &[Differentiable] = &differentiable::<{ differentiable::<0>().len }>().items;

/// Every op, by family.
const fn all<const N: usize>() -> List<Op, N> {
    let mut list = List {
        items: [UNDIFFERENTIATED[0]; N],
        len: 0,
    };
    let mut i = 0;
    while i < UNDIFFERENTIATED.len() {
        list.push(UNDIFFERENTIATED[i]);
        i += 1;
    }
    i = 0;
    while i < DIFFERENTIABLE.len() {
        list.push(Op::Grad(Grad::listed(&DIFFERENTIABLE[i])));
        i += 1;
    }
    push_all!(list: Quantized);
    list
}

impl Op {
    /// Every op, by family: its rows in their order, a reduction's forms one after the other.
    pub const ALL: &'static [Op] = &all::<{ all::<0>().len }>().items;

    /// The gradient of the op, where the table has it.
    pub fn gradient(self) -> Option<Grad> {
        let of_this = |function: &&Differentiable| **function == Differentiable::Op(self);
        DIFFERENTIABLE.iter().find(of_this).map(Grad::listed)
    }
}
