//! A case as Rust source that calls candle, for readers who have candle and no parity: the arguments here, the call from the
//! rows of `ops`. Nothing is executed here.

use std::fmt::Write;

use parity_model::float::Format;
use parity_model::{Case, DType, HostTensor, ViewStep};

use crate::ops::{self, Scalars};

/// Elements on a line of a literal.
const PER_LINE: usize = 8;

/// The name candle's `DType` has for `dtype`, e.g. `DType::BF16`.
pub fn dtype(dtype: DType) -> String {
    format!("DType::{}", dtype.name().to_uppercase())
}

/// Statements that make the arguments of a case: `x0`, `x1` and so on, views and all, on a candle `Device` called
/// `device`. `inputs` are the base tensors of [`Case::inputs`]. They need `DType` and `Tensor` in scope, and end each
/// fallible call with `?`.
///
/// # Panics
/// When an argument's layout is impossible for its shape, which no case from a spec or an id has.
pub fn arguments(case: &Case, inputs: &[HostTensor]) -> String {
    let mut text = String::new();
    for (i, input) in inputs.iter().enumerate() {
        let plan = case.plan(i);
        let plan = plan.unwrap_or_else(|| panic!("{}: impossible layout", case.id()));
        let views: String = plan.steps.iter().map(view).collect();
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "let x{i} = {}{views};", literal(input));
    }
    text
}

/// The expression that applies the op of a case to the arguments of [`arguments`]: a candle `Tensor`. Parts of candle
/// other than `Tensor` and `DType` are named with their path; so are the types of `half` and `float8`.
///
/// # Panics
/// When the op does not take the case's parameters, which no case from a spec or an id has.
pub fn call(case: &Case) -> String {
    let call = ops::source(Scalars::of(case));
    call.unwrap_or_else(|| panic!("{}: wrong parameters", case.id()))
}

/// The Rust type of a dtype's numbers.
pub(crate) fn rust_type(dtype: DType) -> String {
    match dtype {
        DType::BF16 | DType::F16 => format!("half::{}", dtype.name()),
        DType::F8E4M3 => "float8::F8E4M3".to_owned(),
        DType::U8 | DType::U32 | DType::I16 | DType::I32 | DType::I64 | DType::F32 | DType::F64 => {
            dtype.name().to_owned()
        }
    }
}

/// A view step as a method call.
fn view(step: &ViewStep) -> String {
    match step {
        ViewStep::Transpose(a, b) => format!(".transpose({a}, {b})?"),
        ViewStep::Permute(order) => format!(".permute({order:?})?"),
        ViewStep::Narrow { dim, start, len } => format!(".narrow({dim}, {start}, {len})?"),
        ViewStep::Squeeze(dim) => format!(".squeeze({dim})?"),
        ViewStep::BroadcastAs(shape) => format!(".broadcast_as({})?", shape_text(shape)),
    }
}

/// A shape as an expression that converts to candle's.
fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() {
        "()".to_owned()
    } else {
        format!("&{shape:?}")
    }
}

/// The expression of a tensor with these elements. Dtypes that Rust has are written as numbers; of the others the bits
/// are, beside the numbers.
fn literal(tensor: &HostTensor) -> String {
    let dtype_name = dtype(tensor.dtype);
    let bits: Vec<u64> = (0..tensor.len()).map(|i| tensor.bits(i)).collect();
    match tensor.dtype {
        DType::BF16 | DType::F16 | DType::F8E4M3 => {
            let (word, digits) = if tensor.dtype.size() == 1 {
                ("u8", 2)
            } else {
                ("u16", 4)
            };
            let words: Vec<_> = bits.iter().map(|bits| format!("0x{bits:0digits$x}")).collect();
            let numbers: Vec<_> = bits.iter().map(|bits| number(tensor.dtype, *bits)).collect();
            let notes = numbers
                .chunks(PER_LINE)
                .map(|numbers| numbers.join(", "))
                .collect();
            format!(
                "Tensor::from_raw_buffer(\n    &{}.map({word}::to_le_bytes).concat(),\n    {dtype_name},\n    \
                 &{:?},\n    &device,\n)?",
                list("[", &words, notes, "]"),
                tensor.shape
            )
        }
        DType::U8 | DType::U32 | DType::I16 | DType::I32 | DType::I64 | DType::F32 | DType::F64 => {
            let words: Vec<_> = bits.iter().map(|bits| number(tensor.dtype, *bits)).collect();
            let items = list("vec![", &words, vec![], "]");
            let shape = shape_text(&tensor.shape);
            let name = tensor.dtype.name();
            format!("Tensor::from_vec::<_, {name}>({items}, {shape}, &device)?")
        }
    }
}

/// Items between brackets, some on a line; with more than one line, each may have a note.
fn list(open: &str, items: &[String], notes: Vec<String>, close: &str) -> String {
    if items.len() <= PER_LINE && notes.is_empty() {
        return format!("{open}{}{close}", items.join(", "));
    }
    let mut text = format!("{open}\n");
    for (line, items) in items.chunks(PER_LINE).enumerate() {
        let note = notes.get(line).map(|note| format!(" // {note}"));
        let _ = writeln!(text, "        {},{}", items.join(", "), note.unwrap_or_default());
    }
    text + "    " + close
}

/// A number as an expression of its dtype; of a dtype that Rust does not have, for the eye.
pub(crate) fn number(dtype: DType, bits: u64) -> String {
    let Some(format) = Format::of(dtype) else {
        return parity_model::float::decode_int(dtype, bits).to_string();
    };
    let (value, of) = (format.decode(bits), dtype.name());
    match (dtype, value) {
        (DType::F32 | DType::F64, x) if x.is_nan() => format!("{of}::NAN"),
        (DType::F32 | DType::F64, x) if x == f64::INFINITY => format!("{of}::INFINITY"),
        (DType::F32 | DType::F64, x) if x == f64::NEG_INFINITY => format!("{of}::NEG_INFINITY"),
        // The shortest decimal that reads back as the number: that of its own width.
        (DType::F32, x) => format!("{:?}", x as f32),
        (_, x) => format!("{x:?}"),
    }
}
