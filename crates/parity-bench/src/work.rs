//! What a call has to do at least: bytes that it must read and write, and multiplications and additions of products.

use parity_model::{
    Case, Op,
    op::{Conv, Indexing, Matmul, Quantized, Role},
};

/// Elements from which on a row is called large: the time of one below is that of a launch.
pub const LARGE: u64 = 1 << 22;

/// The work of a call, by its shapes alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Elements of its largest argument or of its result. Of a table only as many as are chosen.
    pub elements: u64,
    /// Bytes: each element that an argument has is read once, however often the view repeats it, and each of the result written
    /// once. Of a table only as many elements as are chosen.
    pub bytes: u64,
    /// Additions and multiplications of a product of matrices or a convolution; 0 of what is bounded by its bytes.
    pub flops: u64,
}

impl Work {
    /// The work of a case from a spec or an id.
    pub fn of(case: &Case) -> Work {
        let output = case.result_shape();
        let written = numel(&output) * case.op.result_dtype(case.dtype).size() as u64;
        let read: u64 = (0..case.args.len()).map(|i| read(case, i, &output)).sum();
        let sizes = case.args.iter().enumerate();
        let sizes = sizes.map(|(i, arg)| if is_table(case, i) { 0 } else { numel(&arg.shape) });
        Work {
            elements: sizes.fold(numel(&output), u64::max),
            bytes: read + written,
            flops: flops(case, &output),
        }
    }

    /// Whether the row counts as large.
    pub fn is_large(&self) -> bool {
        self.elements >= LARGE
    }
}

/// Whether argument `i` is one of which a call reads what it chooses: no more than its result holds.
fn is_table(case: &Case, i: usize) -> bool {
    let chosen = matches!(case.op, Op::Indexing(Indexing::IndexSelect | Indexing::Gather));
    let rows = matches!(case.op, Op::Quantized(Quantized::Embedding(_)));
    chosen && i == 0 || rows && case.op.roles().get(i) == Some(&Role::Blocks)
}

fn numel(shape: &[usize]) -> u64 {
    shape.iter().map(|&size| size as u64).product()
}

/// Bytes that must be read of argument `i`.
fn read(case: &Case, i: usize, output: &[usize]) -> u64 {
    let (arg, size) = (&case.args[i], case.args[i].dtype.size() as u64);
    let base = case.plan(i).map_or(0, |plan| numel(&plan.base_shape));
    if case.op.roles().get(i) == Some(&Role::Blocks) {
        // Bytes already. Rows that are chosen are read once each.
        let rows = arg.shape.first().map_or(0, |&rows| rows as u64);
        if !is_table(case, i) || rows == 0 {
            return base;
        }
        let chosen = output.split_last().map_or(0, |(_, ids)| numel(ids));
        return base / rows * chosen.min(rows);
    }
    let own = numel(&arg.shape).min(base);
    let chosen = if is_table(case, i) {
        own.min(numel(output))
    } else {
        own
    };
    size * chosen
}

fn flops(case: &Case, output: &[usize]) -> u64 {
    let shape = |i: usize| case.args.get(i).map_or(&[][..], |arg| arg.shape.as_slice());
    let last = |i: usize| shape(i).last().map_or(0, |&size| size as u64);
    let taps = || shape(1).split_first().map_or(0, |(_, rest)| numel(rest));
    match case.op {
        Op::Matmul(Matmul::Matmul | Matmul::BroadcastMatmul | Matmul::Mv | Matmul::Dot)
        | Op::Quantized(Quantized::Qmatmul(_) | Quantized::IndexedMoe(_)) => 2 * numel(output) * last(0),
        Op::Conv(Conv::Conv1d | Conv::Conv2d) => 2 * numel(output) * taps(),
        Op::Conv(Conv::ConvTranspose1d | Conv::ConvTranspose2d) => 2 * numel(shape(0)) * taps(),
        Op::Quantized(
            Quantized::Dequantize(_)
            | Quantized::DequantizeF16(_)
            | Quantized::Embedding(_)
            | Quantized::Quantize(_),
        )
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Broadcast(_)
        | Op::Cast(_)
        | Op::Where(_)
        | Op::Reduce(..)
        | Op::Indexing(_)
        | Op::Pool(_)
        | Op::Upsample(_)
        | Op::Copies(_)
        | Op::Sort(_)
        | Op::Nn(_)
        | Op::Layers(_)
        | Op::Random(_)
        | Op::Grad(_)
        | Op::Own(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, elements: u64, bytes: u64, flops: u64) {
        let work = Work::of(&id.parse().unwrap());
        assert_eq!(
            work,
            Work {
                elements,
                bytes,
                flops
            },
            "{id}"
        );
    }

    #[test]
    fn each_element_is_read_or_written_once() {
        check("unary/exp:f32:[8,16]:contiguous:uniform(-1,1)", 128, 1024, 0);
        check(
            "binary/lt:f16:[8,16],[8,16]:contiguous,contiguous:any",
            128,
            128 * 5,
            0,
        );
        check("reduce/sum(1):f32:[8,16]:contiguous:any", 128, 512 + 32, 0);
        // A row that repeats is read once; of a window only what it shows.
        check(
            "binary/add:f32:[8,16],[8,16]:contiguous,broadcast:any",
            128,
            512 + 64 + 512,
            0,
        );
        check("unary/neg:f32:[8,16]:sliced:any", 128, 1024, 0);
        check("cast/to_f16:f32:[8,16]:contiguous:any", 128, 512 + 256, 0);
    }

    #[test]
    fn of_a_table_only_what_is_chosen_counts() {
        check(
            "indexing/index_select(0):f32,u32:[100,4],[3]:contiguous,contiguous:ints(-9,9)",
            12,
            48 + 12 + 48,
            0,
        );
        check(
            "quantized/embedding_q8_0:u8,u32:[10,32],[2]:contiguous,contiguous:any",
            64,
            34 * 2 + 8 + 256,
            0,
        );
    }

    #[test]
    fn products_have_two_operations_a_term() {
        check(
            "matmul/matmul:f32:[3,5],[5,7]:contiguous,contiguous:any",
            35,
            4 * (15 + 35 + 21),
            2 * 3 * 5 * 7,
        );
        check(
            "conv/conv2d(1,1,1,1):f32:[2,3,8,8],[4,3,3,3]:contiguous,contiguous:any",
            512,
            4 * (384 + 108 + 512),
            2 * 512 * 27,
        );
    }
}
