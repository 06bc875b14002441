//! Ops of ONNX that candle-onnx has none for, or for some attributes alone. The formulas are those of ONNX's Operators.md.

use candle_core::{D, Result, Tensor, bail};
use candle_onnx::onnx::NodeProto;

use super::{Graph, constant};

/// The node's only result; none where candle-onnx computes it.
pub(super) fn compute(
    node: &NodeProto,
    inputs: &[Option<Tensor>],
    graph: &Graph<'_>,
) -> Result<Option<Tensor>> {
    let get = |place: usize| match inputs.get(place) {
        Some(Some(input)) => Ok(input),
        _ => bail!("input {place} is missing"),
    };
    let output = match node.op_type.as_str() {
        "HardSigmoid" => {
            let (alpha, beta) = (float(node, "alpha", 0.2), float(node, "beta", 0.5));
            get(0)?.affine(alpha, beta)?.clamp(0f64, 1f64)?
        }
        "Reciprocal" => get(0)?.recip()?,
        "Max" => {
            let others = inputs.iter().skip(1).flatten();
            others.fold(get(0).cloned(), |most, input| most?.broadcast_maximum(input))?
        }
        "GlobalAveragePool" => pooled(get(0)?, |flat| flat.mean_keepdim(D::Minus1))?,
        "GlobalMaxPool" => pooled(get(0)?, |flat| flat.max_keepdim(D::Minus1))?,
        "ConstantOfShape" => filled(node, get(0)?, graph)?,
        "Gemm" => gemm(node, get(0)?, get(1)?, inputs.get(2).and_then(Option::as_ref))?,
        // candle-onnx reads the axes of opset 13 and later, which are an input.
        "Squeeze" if !ints(node, "axes").is_empty() => squeezed(get(0)?, &ints(node, "axes"))?,
        // And of means those of opset 17 and before, which are an attribute.
        "ReduceMean" if inputs.len() > 1 => {
            let input = get(0)?;
            let axes = axes(input, &get(1)?.to_vec1::<i64>()?)?;
            if int(node, "keepdims", 1) == 1 {
                input.mean_keepdim(axes)?
            } else {
                input.mean(axes)?
            }
        }
        "Conv" if uneven(&ints(node, "strides")) => conv(node, get(0)?, get(1)?, inputs)?,
        "ConvTranspose" => conv_transpose(node, get(0)?, get(1)?, inputs)?,
        _ => return Ok(None),
    };
    Ok(Some(output))
}

fn attribute<'n>(node: &'n NodeProto, name: &str) -> Option<&'n candle_onnx::onnx::AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

fn float(node: &NodeProto, name: &str, otherwise: f32) -> f64 {
    f64::from(attribute(node, name).map_or(otherwise, |attribute| attribute.f))
}

fn int(node: &NodeProto, name: &str, otherwise: i64) -> i64 {
    attribute(node, name).map_or(otherwise, |attribute| attribute.i)
}

fn ints(node: &NodeProto, name: &str) -> Vec<i64> {
    attribute(node, name).map_or(vec![], |attribute| attribute.ints.clone())
}

/// Whole numbers that count something.
fn counts(node: &NodeProto, name: &str) -> Result<Vec<usize>> {
    let counts = ints(node, name).into_iter().map(usize::try_from);
    counts
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| candle_core::Error::msg(format!("{name} has a number below 0")))
}

/// A number that all of an attribute's are.
fn only(node: &NodeProto, name: &str, otherwise: usize) -> Result<usize> {
    let all = counts(node, name)?;
    let first = all.first().copied().unwrap_or(otherwise);
    if all.iter().any(|count| *count != first) {
        bail!("{name} are {all:?}, and candle has one for all dimensions")
    }
    Ok(first)
}

/// Dimensions counted from the front.
fn axes(input: &Tensor, axes: &[i64]) -> Result<Vec<usize>> {
    axes.iter().map(|axis| input.normalize_axis(*axis)).collect()
}

fn squeezed(input: &Tensor, from: &[i64]) -> Result<Tensor> {
    let mut axes = axes(input, from)?;
    axes.sort_unstable();
    axes.iter()
        .rev()
        .try_fold(input.clone(), |squeezed, axis| squeezed.squeeze(*axis))
}

/// All dimensions after the channels as one element each.
fn pooled(input: &Tensor, reduce: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let mut dims = input.dims().to_vec();
    dims.iter_mut().skip(2).for_each(|dim| *dim = 1);
    reduce(&input.flatten_from(2)?)?.reshape(dims)
}

/// candle-onnx fills on the CPU.
fn filled(node: &NodeProto, shape: &Tensor, graph: &Graph<'_>) -> Result<Tensor> {
    let dims = shape.to_vec1::<i64>()?.into_iter().map(usize::try_from);
    let dims: Vec<usize> = dims
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| candle_core::Error::msg("a dimension below 0"))?;
    let value = match attribute(node, "value").and_then(|value| value.t.as_ref()) {
        Some(proto) => constant(proto, "value")?.flatten_all()?.get(0)?,
        None => Tensor::new(0f32, &candle_core::Device::Cpu)?,
    };
    graph.moved(&value)?.broadcast_as(dims)?.contiguous()
}

/// alpha A B + beta C; candle-onnx makes alpha and beta on the CPU.
fn gemm(node: &NodeProto, a: &Tensor, b: &Tensor, c: Option<&Tensor>) -> Result<Tensor> {
    let turned = |matrix: &Tensor, word| match int(node, word, 0) {
        0 => Ok(matrix.clone()),
        _ => matrix.t()?.contiguous(),
    };
    let product = turned(a, "transA")?.matmul(&turned(b, "transB")?)?;
    let product = product.affine(float(node, "alpha", 1.0), 0.0)?;
    match c {
        None => Ok(product),
        Some(c) => product.broadcast_add(&c.affine(float(node, "beta", 1.0), 0.0)?),
    }
}

/// Whether two dimensions have strides of their own, which candle's conv2d has not.
fn uneven(strides: &[i64]) -> bool {
    strides.windows(2).any(|pair| pair[0] != pair[1])
}

/// A convolution with strides of their own: every place in both dimensions, of which those that the strides name are kept.
fn conv(node: &NodeProto, input: &Tensor, weight: &Tensor, inputs: &[Option<Tensor>]) -> Result<Tensor> {
    let strides = counts(node, "strides")?;
    let padding = only(node, "pads", 0)?;
    let groups = usize::try_from(int(node, "group", 1)).unwrap_or(1);
    let mut output = input.conv2d(weight, padding, 1, only(node, "dilations", 1)?, groups)?;
    for (place, stride) in strides.iter().enumerate().filter(|(_, stride)| **stride > 1) {
        let step = u32::try_from(*stride).map_err(candle_core::Error::wrap)?;
        let end = u32::try_from(output.dim(2 + place)?).map_err(candle_core::Error::wrap)?;
        let kept = Tensor::arange_step(0, end, step, input.device())?;
        output = output.index_select(&kept, 2 + place)?;
    }
    biased(output, inputs)
}

fn conv_transpose(
    node: &NodeProto,
    input: &Tensor,
    weight: &Tensor,
    inputs: &[Option<Tensor>],
) -> Result<Tensor> {
    if int(node, "group", 1) != 1 || weight.rank() != 4 || !ints(node, "output_shape").is_empty() {
        bail!("groups, other ranks than 4 and output_shape are not known here")
    }
    let (padding, more) = (only(node, "pads", 0)?, only(node, "output_padding", 0)?);
    let (stride, dilation) = (only(node, "strides", 1)?, only(node, "dilations", 1)?);
    biased(
        input.conv_transpose2d(weight, padding, more, stride, dilation)?,
        inputs,
    )
}

/// The third input, where there is one, is added to each channel.
fn biased(output: Tensor, inputs: &[Option<Tensor>]) -> Result<Tensor> {
    match inputs.get(2) {
        Some(Some(bias)) => output.broadcast_add(&bias.reshape((1, bias.elem_count(), 1, 1))?),
        _ => Ok(output),
    }
}
