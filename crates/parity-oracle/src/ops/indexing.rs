//! Reads and writes at the positions that ids name.

use parity_model::float::{Format, decode_int, encode_int, int_range};
use parity_model::op::Indexing;
use parity_model::{DType, HostTensor};

use super::{Answer, exact, moved};
use crate::expected::Call;
use crate::formula::ball::Accumulation;
use crate::numbers::{indices, ints, ravel, reals};
use crate::program::Program;
use crate::sums::Sums;
use crate::tape::Tensor;

pub(crate) fn answer(call: &Call<'_>, op: Indexing) -> Answer {
    let dim = call.whole(0);
    let x = &call.args[0];
    // The largest number of its dtype means no element, where there is none of that number.
    let none = int_range(call.args[1].dtype).map(|(_, max)| max);
    let none = none.filter(|max| usize::try_from(*max).is_ok_and(|max| max >= x.shape[dim]));
    let id = |id: &i64| (Some(*id) != none).then_some(*id as usize);
    let ids: Vec<Option<usize>> = ints(&call.args[1]).iter().map(id).collect();
    let zero = Format::of(x.dtype).map_or(0, |format| format.encode(0.0));
    let place = |index: &[usize], id: usize| {
        let mut index = index.to_vec();
        index[dim] = id;
        ravel(&index, &x.shape)
    };
    match op {
        Indexing::IndexSelect => {
            let select = |index: Vec<usize>| ids[index[dim]].map_or(zero, |id| x.bits(place(&index, id)));
            moved(indices(&call.shape).map(select))
        }
        Indexing::Gather => moved(
            indices(&call.shape)
                .zip(&ids)
                .map(|(index, id)| id.map_or(zero, |id| x.bits(place(&index, id)))),
        ),
        Indexing::Scatter | Indexing::ScatterSet => {
            let source = &call.args[2];
            let mut bits: Vec<u64> = (0..x.len()).map(|i| x.bits(i)).collect();
            for (i, index) in indices(&source.shape).enumerate() {
                if let Some(id) = ids[i] {
                    bits[place(&index, id)] = source.bits(i);
                }
            }
            moved(bits.into_iter())
        }
        Indexing::ScatterAdd | Indexing::ScatterAddSet | Indexing::IndexAdd => {
            let source = &call.args[2];
            let mut sums = Partial::of(x, call.sums);
            for (i, index) in indices(&source.shape).enumerate() {
                let of_slice = op == Indexing::IndexAdd;
                let id = if of_slice { ids[index[dim]] } else { ids[i] };
                if let Some(id) = id {
                    sums.add(place(&index, id), source.bits(i));
                }
            }
            let bits = sums.bits();
            let source = "exact: sums in order of the source, each rounded to the dtype";
            (bits.into_iter().map(exact).collect(), source.to_owned())
        }
    }
}

/// Sums in a dtype, each rounded to it.
enum Partial<'a> {
    Ints(DType, &'a dyn Sums, Vec<i64>),
    /// The dtype's format, that of partial sums, and the sums (f64 is wide enough to round a sum of two twice unharmed).
    Reals(Format, Option<Format>, Vec<f64>),
}

impl<'a> Partial<'a> {
    fn of(x: &HostTensor, policy: &'a dyn Sums) -> Partial<'a> {
        let Some(format) = Format::of(x.dtype) else {
            return Partial::Ints(x.dtype, policy, ints(x));
        };
        let partial = match policy.accumulator(x.dtype) {
            None => Some(format),
            // Where the dtype is the right accumulator, a wider one is wrong.
            Some(narrow) => Some(narrow).filter(|narrow| *narrow != format),
        };
        Partial::Reals(format, partial, reals(x))
    }

    fn add(&mut self, at: usize, bits: u64) {
        match self {
            Partial::Ints(dtype, policy, sums) => {
                let sum = policy.add(*dtype, sums[at], decode_int(*dtype, bits));
                sums[at] = decode_int(*dtype, encode_int(*dtype, sum));
            }
            Partial::Reals(format, partial, sums) => {
                let sum = sums[at] + format.decode(bits);
                sums[at] = partial.map_or(sum, |partial| partial.round(sum));
            }
        }
    }

    fn bits(self) -> Vec<u64> {
        match self {
            Partial::Ints(dtype, _, sums) => sums.iter().map(|sum| encode_int(dtype, *sum)).collect(),
            Partial::Reals(format, _, sums) => sums.iter().map(|sum| format.encode(*sum)).collect(),
        }
    }
}

/// The op on a tape. Every id is that of an element.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Indexing) -> Tensor<'t> {
    let (dim, x, ids) = (call.whole(0), call.x(0), call.ids(1));
    let own = x.shape();
    let of_slice = matches!(op, Indexing::IndexSelect | Indexing::IndexAdd);
    // The place in the first argument that belongs to the `at`th element, with `index`, of the other tensor.
    let place = |(at, mut index): (usize, Vec<usize>)| {
        index[dim] = if of_slice { ids[index[dim]] } else { ids[at] };
        ravel(&index, &own)
    };
    match op {
        Indexing::IndexSelect | Indexing::Gather => {
            let places = indices(call.output).enumerate().map(|at| Some(place(at)));
            x.taken(call.output, places.collect(), Accumulation::InDtype)
        }
        Indexing::Scatter | Indexing::ScatterSet => {
            let mut writer = vec![None; x.count()];
            for (at, index) in indices(&call.shape(1)).enumerate() {
                writer[place((at, index))] = Some(at);
            }
            let kept = writer.iter().enumerate();
            let kept = kept.map(|(at, writer)| writer.is_none().then_some(at)).collect();
            let kept = x.taken(&own, kept, Accumulation::InDtype);
            kept + call.x(2).taken(&own, writer, Accumulation::InDtype)
        }
        Indexing::ScatterAdd | Indexing::ScatterAddSet | Indexing::IndexAdd => {
            let source = call.x(2);
            let into = indices(&source.shape()).enumerate().map(place).collect();
            x + source.summed_into(&own, into, Accumulation::InDtype)
        }
    }
}
