//! A case as Rust source that calls candle, for readers who have candle and no parity. It says what `ops` and `tensors`
//! do; a test compiles and runs it for every op. Nothing is executed here.

mod layers;
mod views;

use std::fmt::Write;

use parity_model::float::Format;
use parity_model::op::formats::BlockFormat;
use parity_model::op::{Copies, Indexing, Keep, Nn, Pool, Quantized, Reduce, Sort, Unary, Upsample};
use parity_model::{Case, DType, HostTensor, Op, ViewStep};

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
/// other than `Tensor` are named with their path; `half` and `float8` are needed to set scalars of their types.
pub fn call(case: &Case) -> String {
    let params = &case.params;
    let args = |of: &[f64]| of.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let floats = |of: &[f64]| of.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ");
    let name = case.op.name();
    match case.op {
        Op::Unary(Unary::RoundTo) => format!("x0.round_to({})?", args(params)),
        Op::Unary(Unary::Affine | Unary::Powf | Unary::Elu | Unary::Clamp) => {
            format!("x0.{name}({})?", floats(params))
        }
        Op::Unary(_) => format!("x0.{name}()?"),
        Op::Binary(_) | Op::Broadcast(_) => format!("x0.{name}(&x1)?"),
        Op::Cast(_) => format!("x0.to_dtype({})?", dtype(case.op.result_dtype(case.dtype))),
        Op::Where(_) => "x0.where_cond(&x1, &x2)?".to_owned(),
        Op::Reduce(Reduce::Sum | Reduce::Mean | Reduce::LogSumExp, Keep::Nothing | Keep::One) => {
            format!("x0.{name}([{}])?", args(params))
        }
        Op::Reduce(..) => format!("x0.{name}({})?", args(params)),
        Op::Indexing(Indexing::IndexSelect | Indexing::Gather) => {
            format!("x0.{name}(&x1, {})?", args(params))
        }
        Op::Indexing(Indexing::ScatterSet | Indexing::ScatterAddSet) => format!(
            "{{\n    let out = x0.force_contiguous()?;\n    out.{name}(&x1, &x2, {})?;\n    out\n}}",
            args(params)
        ),
        Op::Indexing(_) => format!("x0.{name}(&x1, &x2, {})?", args(params)),
        Op::Matmul(_) => format!("x0.{name}(&x1)?"),
        Op::Conv(_) => format!("x0.{name}(&x1, {})?", args(params)),
        Op::Pool(Pool::AvgPool2d | Pool::MaxPool2d) => {
            let (kernel, stride) = params.split_at(params.len().min(2));
            format!("x0.{name}_with_stride(({}), ({}))?", args(kernel), args(stride))
        }
        Op::Upsample(Upsample::Bilinear2d) => {
            let (size, align) = params.split_at(params.len().min(2));
            format!("x0.{name}({}, {})?", args(size), align == [1.0])
        }
        Op::Upsample(Upsample::BilinearScale) => {
            let (scale, align) = params.split_at(params.len().min(2));
            format!("x0.{name}({}, {})?", floats(scale), align == [1.0])
        }
        Op::Upsample(_) => format!("x0.{name}({})?", args(params)),
        Op::Copies(op) => copies(op, case),
        Op::Sort(Sort::ArgSortAsc | Sort::ArgSortDesc) => {
            format!("x0.arg_sort_last_dim({})?", case.op == Op::Sort(Sort::ArgSortAsc))
        }
        Op::Sort(Sort::SortAsc | Sort::SortDesc) => {
            format!("x0.sort_last_dim({})?.0", case.op == Op::Sort(Sort::SortAsc))
        }
        Op::Nn(op) => nn(op, params),
        Op::Layers(op) => layers::layers(op, case.dtype, params),
        Op::Random(op) => layers::random(op, params),
        Op::Grad(op) => layers::grad(op, case),
        Op::Quantized(op) => quantized(op),
    }
}

fn copies(op: Copies, case: &Case) -> String {
    let (dtype, params) = (case.dtype, &case.params);
    let whole = |i: usize| params.get(i).copied().unwrap_or(0.0);
    let all = || params.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    match op {
        Copies::Copy => "x0.force_contiguous()?".to_owned(),
        Copies::Cat => format!("Tensor::cat(&[&x0, &x1], {})?", whole(0)),
        Copies::SliceSet => format!(
            "{{\n    let out = x0.force_contiguous()?;\n    out.slice_set(&x1, {}, {})?;\n    out\n}}",
            whole(0),
            whole(1)
        ),
        Copies::Fill => format!(
            "{{\n    let out = x0.copy()?;\n    out.narrow({}, {}, {})?.const_set(({}).into())?;\n    out\n}}",
            whole(1),
            whole(2),
            whole(3),
            scalar(dtype, whole(0))
        ),
        Copies::PadZeros | Copies::PadSame | Copies::SliceScatter | Copies::Roll | Copies::Unfold => {
            let source = if op == Copies::SliceScatter { "&x1, " } else { "" };
            format!("x0.{op}({source}{})?", all())
        }
        Copies::Stack => format!("Tensor::stack(&[&x0, &x1], {})?", whole(0)),
        Copies::Repeat => format!("x0.repeat(vec![{}])?", all()),
        Copies::Flip => format!("x0.flip(&[{}])?", all()),
        Copies::Chunk => format!("x0.chunk({}, {})?[{}].clone()", whole(0), whole(1), whole(2)),
        Copies::PixelShuffle | Copies::PixelUnshuffle | Copies::ReplicationPad2d => {
            format!("candle_nn::ops::{op}(&x0, {})?", whole(0))
        }
        _ => views::copies(op, case),
    }
}

/// `value` as a number of a dtype, converted as Rust's `as` does.
fn scalar(dtype: DType, value: f64) -> String {
    match dtype {
        DType::U8 | DType::U32 | DType::I16 | DType::I32 | DType::I64 | DType::F32 | DType::F64 => {
            format!("{value:?}_f64 as {}", dtype.name())
        }
        DType::BF16 | DType::F16 => format!("half::{}::from_f64({value:?})", dtype.name()),
        DType::F8E4M3 => format!("float8::F8E4M3::from_f64({value:?})"),
    }
}

fn nn(op: Nn, params: &[f64]) -> String {
    let param = params.first().copied().unwrap_or(0.0);
    match op {
        Nn::Sigmoid | Nn::SoftmaxLastDim | Nn::HardSigmoid | Nn::Mish | Nn::Swiglu => {
            format!("candle_nn::ops::{op}(&x0)?")
        }
        Nn::Softmax | Nn::LogSoftmax => format!("candle_nn::ops::{op}(&x0, {param})?"),
        Nn::LeakyRelu => format!("candle_nn::ops::{op}(&x0, {param:?})?"),
        Nn::Selu => {
            let gamma = params.get(1).copied().unwrap_or(0.0);
            format!("candle_nn::ops::{op}(&x0, {param:?}, {gamma:?})?")
        }
        Nn::RmsNorm => format!("candle_nn::ops::{op}(&x0, &x1, {param:?})?"),
        Nn::LayerNorm => format!("candle_nn::ops::{op}(&x0, &x1, &x2, {param:?})?"),
        Nn::Rope | Nn::RopeI | Nn::RopeThd => format!("candle_nn::rotary_emb::{op}(&x0, &x1, &x2)?"),
    }
}

fn quantized(op: Quantized) -> String {
    const QUANTIZED: &str = "candle_core::quantized";
    let format = op.format();
    let weights = |x: &str| weights(x, format);
    match op {
        Quantized::Dequantize(_) => format!("{}.dequantize(&device)?", weights("x0")),
        Quantized::DequantizeF16(_) => format!("{}.dequantize_f16(&device)?", weights("x0")),
        Quantized::Qmatmul(_) => format!(
            "candle_core::Module::forward(&{QUANTIZED}::QMatMul::from_qtensor({})?, &x0)?",
            weights("x1")
        ),
        Quantized::Embedding(_) => format!("{}.embedding(&x1)?", weights("x0")),
        Quantized::IndexedMoe(_) => format!(
            "{QUANTIZED}::QMatMul::from_qtensor({})?.indexed_moe_forward(&x0, &x2)?",
            weights("x1")
        ),
        Quantized::Quantize(_) => format!(
            "{QUANTIZED}::QTensor::quantize(&x0, {QUANTIZED}::GgmlDType::{})?.dequantize(&device)?",
            variant(format)
        ),
    }
}

/// candle's name for a format.
fn variant(format: BlockFormat) -> String {
    format.name().replace("_K", "K").to_uppercase()
}

/// The bytes in `x` as a tensor of weights.
fn weights(x: &str, format: BlockFormat) -> String {
    let name = variant(format);
    let (bytes, len) = (format.block_bytes(), format.block_len());
    format!(
        "{{\n    use candle_core::quantized::{{GgmlDType, QStorage, QTensor}};\n    let mut shape = {x}.dims().to_vec();\n    \
         if let Some(last) = shape.last_mut() {{\n        *last = *last / {bytes} * {len};\n    }}\n    \
         let bytes: Vec<u8> = {x}.flatten_all()?.to_vec1()?;\n    \
         QTensor::new(QStorage::from_data(bytes.into(), &device, GgmlDType::{name})?, shape)?\n}}"
    )
}

/// The Rust type of a dtype's numbers.
fn rust_type(dtype: DType) -> String {
    match dtype {
        DType::BF16 | DType::F16 => format!("half::{}", dtype.name()),
        DType::F8E4M3 => "float8::F8E4M3".to_owned(),
        _ => dtype.name().to_owned(),
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
fn number(dtype: DType, bits: u64) -> String {
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
