//! Classes of cases: what failures are grouped by besides their op and verdict.

use std::fmt;

use parity_model::{Case, Layout};

/// How large a case is and how its arguments lie, in a few words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// Whether there is an element, one, few, more than a workgroup, more than a launch of one workgroup each.
    pub size: &'static str,
    /// The plainest words for the arguments' layouts.
    pub layout: &'static str,
}

impl Class {
    /// The class of a case.
    pub fn of(case: &Case) -> Class {
        let elements = |shape: &Vec<usize>| shape.iter().product::<usize>();
        let sizes = case.args.iter().map(|arg| elements(&arg.shape));
        let size = match (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0)) {
            (0, _) => "empty",
            (_, 1) => "one element",
            (_, 2..=256) => "small",
            (_, 257..=4096) => "medium",
            (_, _) => "large",
        };
        Class {
            size,
            layout: layout(case),
        }
    }
}

/// What distinguishes the arguments' memory most: strides of 0, then gaps and orders, then a start.
fn layout(case: &Case) -> &'static str {
    if case.args.iter().all(|arg| arg.layout == Layout::Contiguous) {
        return "contiguous";
    }
    let views: Vec<_> = (0..case.args.len())
        .filter_map(|i| case.plan(i))
        .map(|plan| plan.strided())
        .collect();
    let repeats = views.iter().any(|view| {
        let mut long = view.dims.iter().zip(&view.strides).filter(|(dim, _)| **dim > 1);
        long.any(|(_, stride)| *stride == 0)
    });
    match (repeats, views.iter().all(|view| view.is_contiguous())) {
        (true, _) => "repeated",
        (false, false) => "strided",
        (false, true) => "offset",
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.size, self.layout)
    }
}
