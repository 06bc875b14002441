//! Reads and writes at the positions that ids name.

use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::Indexing;
use parity_model::{DType, HostTensor};

use super::{Answer, exact, moved};
use crate::expected::Call;
use crate::numbers::{indices, ints, ravel};

pub(crate) fn answer(call: &Call<'_>, op: Indexing) -> Answer {
    let dim = call.whole(0);
    let x = &call.args[0];
    let ids: Vec<usize> = ints(&call.args[1]).iter().map(|id| *id as usize).collect();
    let place = |index: &[usize], id: usize| {
        let mut index = index.to_vec();
        index[dim] = id;
        ravel(&index, &x.shape)
    };
    match op {
        Indexing::IndexSelect => {
            let select = |index: Vec<usize>| x.bits(place(&index, ids[index[dim]]));
            moved(indices(&call.shape).map(select))
        }
        Indexing::Gather => moved(
            indices(&call.shape)
                .zip(&ids)
                .map(|(index, id)| x.bits(place(&index, *id))),
        ),
        Indexing::Scatter => {
            let source = &call.args[2];
            let mut bits: Vec<u64> = (0..x.len()).map(|i| x.bits(i)).collect();
            for (i, index) in indices(&source.shape).enumerate() {
                bits[place(&index, ids[i])] = source.bits(i);
            }
            moved(bits.into_iter())
        }
        Indexing::ScatterAdd | Indexing::IndexAdd => {
            let source = &call.args[2];
            let mut bits: Vec<u64> = (0..x.len()).map(|i| x.bits(i)).collect();
            for (i, index) in indices(&source.shape).enumerate() {
                let id = match op {
                    Indexing::IndexAdd => ids[index[dim]],
                    _ => ids[i],
                };
                let at = place(&index, id);
                bits[at] = add(x, bits[at], source.bits(i));
            }
            let source = "exact: sums in order of the source, each rounded to the dtype";
            (bits.into_iter().map(exact).collect(), source.to_owned())
        }
    }
}

/// The sum in the dtype of `x`: wrapped, or rounded once (f64 is wide enough to round a sum of two twice unharmed).
fn add(x: &HostTensor, a: u64, b: u64) -> u64 {
    let dtype: DType = x.dtype;
    match Format::of(dtype) {
        None => encode_int(dtype, decode_int(dtype, a).wrapping_add(decode_int(dtype, b))),
        Some(format) => format.encode(format.decode(a) + format.decode(b)),
    }
}
