//! Arguments and parameters misread: the right op on something else.

use parity_model::HostTensor;
use parity_model::float::{decode_int, encode_int};
use parity_model::layout::Strided;
use parity_model::op::{Role, shape};

use super::map;
use crate::subject::{Subject, view};

/// The outputs if each argument in turn were read as `misread` would have it. It gives the strides of a view and
/// the start, or `None` where the view is read as it should be.
fn misread(
    subject: &Subject<'_>,
    misread: impl Fn(&Strided) -> Option<(Vec<usize>, usize)>,
) -> Vec<HostTensor> {
    let mut wrong = Vec::new();
    for (i, (arg, base)) in subject.case.args.iter().zip(&subject.inputs).enumerate() {
        let view = view(arg, base).map(|plan| plan.strided());
        if let Some((strides, offset)) = view.as_ref().and_then(&misread) {
            let seen = read(base, &subject.args[i], &strides, offset);
            // An argument that reads the same gives the right output. Computing that once more would show no fault.
            if seen.bytes != subject.args[i].bytes {
                wrong.push(subject.with_arg(i, seen));
            }
        }
    }
    wrong
}

/// A tensor of the form of `view`, read from `base`; past its end there are zeros.
fn read(base: &HostTensor, view: &HostTensor, strides: &[usize], offset: usize) -> HostTensor {
    map(view, |place, _| {
        let (mut rest, mut at) = (place, offset);
        for (extent, stride) in view.shape.iter().zip(strides).rev() {
            at += rest % extent * stride;
            rest /= extent;
        }
        if at < base.len() { base.bits(at) } else { 0 }
    })
}

/// Strides of a row-major tensor.
fn dense(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d];
    }
    strides
}

/// Whether a dimension that has neighbours has them at stride 0.
fn repeats(view: &Strided) -> bool {
    view.dims
        .iter()
        .zip(&view.strides)
        .any(|(extent, stride)| *extent > 1 && *stride == 0)
}

pub(crate) fn strides_ignored(subject: &Subject<'_>) -> Vec<HostTensor> {
    misread(subject, |view| {
        (!repeats(view)).then(|| (dense(&view.dims), view.offset))
    })
}

pub(crate) fn broadcast_ignored(subject: &Subject<'_>) -> Vec<HostTensor> {
    misread(subject, |view| {
        repeats(view).then(|| (dense(&view.dims), view.offset))
    })
}

pub(crate) fn offset_ignored(subject: &Subject<'_>) -> Vec<HostTensor> {
    misread(subject, |view| {
        (view.offset > 0).then(|| (view.strides.clone(), 0))
    })
}

pub(crate) fn swapped(subject: &Subject<'_>) -> Vec<HostTensor> {
    let roles = subject.case.op.roles();
    let args = &subject.args;
    let alike = |i: usize, j: usize| roles[i] == roles[j] && args[i].shape == args[j].shape;
    let pairs = (0..args.len()).flat_map(|i| (i + 1..args.len()).map(move |j| (i, j)));
    let wrong = |(i, j): (usize, usize)| {
        let mut args = args.clone();
        args.swap(i, j);
        subject.of_args(&args)
    };
    pairs.filter(|(i, j)| alike(*i, *j)).map(wrong).collect()
}

/// The parameters, with their names. The parameters after the last name have that name too.
fn named(subject: &Subject<'_>) -> impl Iterator<Item = (usize, &'static str, f64)> {
    let names = subject.case.op.params();
    let name = |i: usize| names[i.min(names.len() - 1)];
    subject
        .case
        .params
        .iter()
        .enumerate()
        .map(move |(i, value)| (i, name(i), *value))
}

fn is_dim(name: &str) -> bool {
    name == "dim" || name == "dims.."
}

pub(crate) fn parameter(subject: &Subject<'_>) -> Vec<HostTensor> {
    let others = named(subject).filter(|(_, name, _)| !is_dim(name));
    let wrong = |(i, _, value): (usize, &str, f64)| {
        let next = subject.with_param(i, value + 1.0);
        next.or_else(|| subject.with_param(i, value - 1.0))
    };
    others.filter_map(wrong).collect()
}

pub(crate) fn dimension(subject: &Subject<'_>) -> Vec<HostTensor> {
    let dims = named(subject).filter(|(_, name, _)| is_dim(name));
    let wrong =
        |(i, _, value): (usize, &str, f64)| [value + 1.0, value - 1.0].map(|dim| subject.with_param(i, dim));
    dims.flat_map(wrong).flatten().collect()
}

pub(crate) fn id(subject: &Subject<'_>) -> Vec<HostTensor> {
    let shapes: Vec<&[usize]> = subject.args.iter().map(|arg| arg.shape.as_slice()).collect();
    let rules = shape::infer(subject.case.op, &subject.case.params, &shapes);
    let Some(bound) = rules
        .ok()
        .and_then(|rules| rules.bound)
        .and_then(|bound| i64::try_from(bound).ok())
    else {
        return vec![];
    };
    let roles = subject.case.op.roles().iter().enumerate();
    let wrong = |(i, _): (usize, &Role)| {
        let next = map(&subject.args[i], |_, bits| {
            let dtype = subject.args[i].dtype;
            // The largest id means no element, and has no next one.
            encode_int(dtype, decode_int(dtype, bits).wrapping_add(1).rem_euclid(bound))
        });
        subject.with_arg(i, next)
    };
    roles
        .filter(|(_, role)| **role == Role::Index)
        .map(wrong)
        .collect()
}
