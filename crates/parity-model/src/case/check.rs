//! What is asked of a case's output, and the other forms of a call whose output has to be the same.
//!
//! Two of the checks need no expected value: an op gives on views what it gives on contiguous copies of them, and on a
//! batch what it gives on its parts. A backend then runs the case in both forms and hands back both outputs, one after
//! the other along a new first dimension; comparing them is the judge's.

use super::{Case, shape_text};
use crate::op::UnknownName;
use crate::op::batch::batch;
use crate::{HostTensor, Layout, Op, Refusal};

/// What is asked of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// It is the oracle's, within the limit.
    Value,
    /// It is the same on the views as on contiguous copies of them.
    Layout,
    /// It is the same for the whole batch as for two parts of it, put together.
    Batch,
    /// There is none: the arguments go against the op's rules, and the op is to say so.
    Invalid,
    /// There is none: the op means nothing for the dtype, and is to say so.
    Unsupported,
}

impl Check {
    /// Every check, in table order.
    pub const ALL: [Check; 5] = [
        Check::Value,
        Check::Layout,
        Check::Batch,
        Check::Invalid,
        Check::Unsupported,
    ];

    /// The word specs and ids use.
    pub const fn name(self) -> &'static str {
        match self {
            Check::Value => "value",
            Check::Layout => "layout",
            Check::Batch => "batch",
            Check::Invalid => "invalid",
            Check::Unsupported => "unsupported",
        }
    }

    /// The class of error that is asked for; `None` where a value is.
    pub const fn refusal(self) -> Option<Refusal> {
        match self {
            Check::Value | Check::Layout | Check::Batch => None,
            Check::Invalid => Some(Refusal::Invalid),
            Check::Unsupported => Some(Refusal::Unsupported),
        }
    }

    /// Whether two forms of the call are compared with each other, instead of one with the oracle.
    pub const fn compares_forms(self) -> bool {
        matches!(self, Check::Layout | Check::Batch)
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Check {
    type Err = UnknownName;

    fn from_str(s: &str) -> Result<Self, UnknownName> {
        let check = Check::ALL.into_iter().find(|check| check.name() == s);
        check.ok_or_else(|| UnknownName {
            what: "check",
            name: s.to_owned(),
        })
    }
}

/// Why a call cannot be checked so, because it has no second form; `None` where it has one, or needs none.
pub(crate) fn no_second_form(
    check: Check,
    op: Op,
    params: &[f64],
    shapes: &[&[usize]],
    layouts: &[Layout],
) -> Option<String> {
    let contiguous = layouts.iter().all(|layout| *layout == Layout::Contiguous);
    match check {
        Check::Value | Check::Invalid | Check::Unsupported => None,
        Check::Layout if op.family() == crate::Family::Random => Some(format!(
            "check `layout` compares two calls, and each draw of `{op}` is another"
        )),
        Check::Layout => contiguous
            .then(|| "check `layout` compares views with copies, and every layout is contiguous".to_owned()),
        Check::Batch if batch(op, params, shapes).is_some() => None,
        Check::Batch => {
            let shapes: Vec<String> = shapes.iter().map(|shape| shape_text(shape)).collect();
            Some(format!(
                "check `batch` cuts a batch in two, and {} of `{op}` has none",
                shapes.join(",")
            ))
        }
    }
}

/// The second form of a call: the arguments of each of its parts, contiguous, and the dimension of the output along
/// which the parts' outputs follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The arguments, one list a call.
    pub calls: Vec<Vec<HostTensor>>,
    /// The dimension; it means nothing where there is one call.
    pub dim: usize,
}

impl Parts {
    /// The outputs of the calls as one.
    ///
    /// # Errors
    /// When their shapes or dtypes do not go together.
    pub fn join(&self, outputs: &[HostTensor]) -> Result<HostTensor, String> {
        match outputs {
            [one] => Ok(one.clone()),
            outputs => cat(outputs, self.dim),
        }
    }
}

impl Case {
    /// The second form of the call on `inputs`, the tensors of [`Case::inputs`]; `None` for a case without one.
    pub fn parts(&self, inputs: &[HostTensor]) -> Option<Parts> {
        let copies = || {
            let gather = |(i, input): (usize, &HostTensor)| Some(self.plan(i)?.gather(input));
            inputs.iter().enumerate().map(gather).collect::<Option<Vec<_>>>()
        };
        match self.check {
            Check::Value | Check::Invalid | Check::Unsupported => None,
            Check::Layout => Some(Parts {
                calls: vec![copies()?],
                dim: 0,
            }),
            Check::Batch => {
                let shapes: Vec<&[usize]> = self.args.iter().map(|arg| arg.shape.as_slice()).collect();
                let batch = batch(self.op, &self.params, &shapes)?;
                let (mut head, mut tail) = (copies()?, copies()?);
                for (i, dim) in batch.args.iter().enumerate() {
                    if let Some(dim) = *dim {
                        head[i] = narrow(&head[i], dim, 0, batch.at);
                        tail[i] = narrow(&tail[i], dim, batch.at, tail[i].shape[dim] - batch.at);
                    }
                }
                Some(Parts {
                    calls: vec![head, tail],
                    dim: batch.output,
                })
            }
        }
    }

    /// Both forms' outputs as the one output that is judged.
    ///
    /// # Errors
    /// When their shapes or dtypes differ.
    pub fn stack(whole: &HostTensor, parts: &HostTensor) -> Result<HostTensor, String> {
        let row = |tensor: &HostTensor| HostTensor {
            shape: [&[1], tensor.shape.as_slice()].concat(),
            ..tensor.clone()
        };
        cat(&[row(whole), row(parts)], 0)
    }

    /// The outputs of both forms, of the one output that is judged; `None` when it is not two of anything.
    pub fn unstack(output: &HostTensor) -> Option<[HostTensor; 2]> {
        let (2, half) = (*output.shape.first()?, output.bytes.len() / 2) else {
            return None;
        };
        let form = |bytes: &[u8]| HostTensor {
            dtype: output.dtype,
            shape: output.shape[1..].to_vec(),
            bytes: bytes.to_vec(),
        };
        let (whole, parts) = output.bytes.split_at(half);
        Some([form(whole), form(parts)])
    }
}

/// `len` slices of a tensor along `dim`, from `start` on.
fn narrow(tensor: &HostTensor, dim: usize, start: usize, len: usize) -> HostTensor {
    let slice = tensor.shape[dim + 1..].iter().product::<usize>() * tensor.dtype.size();
    let row = tensor.shape[dim] * slice;
    let rows: usize = tensor.shape[..dim].iter().product();
    let mut bytes = Vec::with_capacity(rows * len * slice);
    for r in 0..rows {
        bytes.extend_from_slice(&tensor.bytes[r * row + start * slice..r * row + (start + len) * slice]);
    }
    let mut shape = tensor.shape.clone();
    shape[dim] = len;
    HostTensor {
        dtype: tensor.dtype,
        shape,
        bytes,
    }
}

/// Tensors one after the other along `dim`.
fn cat(tensors: &[HostTensor], dim: usize) -> Result<HostTensor, String> {
    let Some(first) = tensors.first() else {
        return Err("nothing to put together".to_owned());
    };
    let alike = |tensor: &HostTensor| {
        tensor.dtype == first.dtype
            && tensor.shape.len() == first.shape.len()
            && (0..first.shape.len()).all(|d| d == dim || tensor.shape[d] == first.shape[d])
    };
    if dim >= first.shape.len() || !tensors.iter().all(alike) {
        let forms: Vec<String> = tensors
            .iter()
            .map(|tensor| format!("{} {:?}", tensor.dtype, tensor.shape))
            .collect();
        return Err(format!(
            "outputs do not go together along dimension {dim}: {}",
            forms.join(", ")
        ));
    }
    let inner = first.shape[dim + 1..].iter().product::<usize>() * first.dtype.size();
    let rows: usize = first.shape[..dim].iter().product();
    let mut bytes = Vec::new();
    for r in 0..rows {
        for tensor in tensors {
            let row = tensor.shape[dim] * inner;
            bytes.extend_from_slice(&tensor.bytes[r * row..(r + 1) * row]);
        }
    }
    let mut shape = first.shape.clone();
    shape[dim] = tensors.iter().map(|tensor| tensor.shape[dim]).sum();
    Ok(HostTensor {
        dtype: first.dtype,
        shape,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    fn counting(shape: &[usize]) -> HostTensor {
        let count: usize = shape.iter().product();
        HostTensor {
            dtype: DType::I16,
            shape: shape.to_vec(),
            bytes: (0..count as i16).flat_map(i16::to_le_bytes).collect(),
        }
    }

    #[test]
    fn parts_put_together_are_the_whole_in_every_dimension() {
        let whole = counting(&[3, 4, 5]);
        for dim in 0..3 {
            let parts = Parts { calls: vec![], dim };
            let cut = [
                narrow(&whole, dim, 0, 1),
                narrow(&whole, dim, 1, whole.shape[dim] - 1),
            ];
            assert_eq!(parts.join(&cut), Ok(whole.clone()), "dimension {dim}");
            let turned = [cut[1].clone(), cut[0].clone()];
            assert_ne!(
                parts.join(&turned),
                Ok(whole.clone()),
                "the control: the other way round"
            );
        }
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        let error = cat(&[counting(&[2, 3]), counting(&[2, 4])], 0).unwrap_err();
        assert!(error.contains("i16 [2, 3], i16 [2, 4]"), "{error}");
        assert!(cat(&[counting(&[])], 0).is_err());
        assert!(cat(&[], 0).is_err());
    }

    #[test]
    fn two_forms_are_stacked_and_taken_apart_again() {
        let (whole, parts) = (counting(&[2, 3]), counting(&[2, 3]));
        let output = Case::stack(&whole, &parts).unwrap();
        assert_eq!(output.shape, [2, 2, 3]);
        assert_eq!(Case::unstack(&output), Some([whole, parts]));
        assert_eq!(Case::unstack(&counting(&[3, 2])), None);
        assert_eq!(Case::unstack(&counting(&[])), None);
    }

    #[test]
    fn a_layout_case_runs_on_copies_and_a_batch_case_in_two_parts() {
        let case: Case = "binary/add:i32:[5,3],[5,3]:transposed,broadcast:ints(-9,9)@layout"
            .parse()
            .unwrap();
        let parts = case.parts(&case.inputs(0)).unwrap();
        assert_eq!(parts.calls.len(), 1);
        assert!(parts.calls[0].iter().all(|arg| arg.shape == [5, 3]));
        let case: Case = "binary/add:i32:[5,3],[5,3]:transposed,broadcast:ints(-9,9)@batch"
            .parse()
            .unwrap();
        let parts = case.parts(&case.inputs(0)).unwrap();
        let shapes: Vec<_> = parts.calls.iter().map(|call| call[0].shape.clone()).collect();
        assert_eq!(shapes, [[2, 3], [3, 3]]);
        let whole = case.plan(0).unwrap().gather(&case.inputs(0)[0]);
        let again = parts.join(&[parts.calls[0][0].clone(), parts.calls[1][0].clone()]);
        assert_eq!(again, Ok(whole));
        assert_eq!(case.result_shape(), [2, 5, 3]);
    }

    #[test]
    fn the_check_is_no_part_of_what_the_inputs_depend_on() {
        let id = "unary/exp:f32:[5,3]:transposed:uniform(-1,1)";
        let plain: Case = id.parse().unwrap();
        let layout: Case = format!("{id}@layout").parse().unwrap();
        assert_eq!(plain.inputs(3), layout.inputs(3));
        assert_ne!(plain.id(), layout.id());
    }
}
