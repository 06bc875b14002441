//! Networks of ONNX files. candle-onnx evaluates a graph at once and puts the graph's constants on the CPU, so that no other device
//! can compute it. Here a graph is walked node by node: constants are made once, on the device, and candle-onnx is handed each
//! node with its inputs. What it has no op for, or computes for some attributes alone, is below in candle's own ops.

mod ops;

use std::collections::{BTreeMap, HashMap, HashSet};

use candle_core::{DType, Device, Result, Tensor, bail};
use candle_onnx::onnx::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};

use super::Network;
use crate::context::{Context, Outputs};

pub(super) const NETWORKS: &[Network] = &[("onnx", onnx)];

/// The element types of ONNX that are rewritten where the network computes in f64: FLOAT and DOUBLE of `TensorProto.DataType`.
const FLOAT: i64 = 1;
const DOUBLE: i64 = 11;

/// Tensors by name, of the graph and of those inside it: ONNX has each name once.
type Values = HashMap<String, Tensor>;

/// Runs the file's graph on each call that another program made: with that program's inputs. A result has a row for each call, so that the
/// few numbers of a call are judged by what rounding does to all calls' ones.
fn onnx(context: &Context) -> Result<Outputs> {
    let Some(path) = context.file() else {
        bail!("an ONNX network needs a file of weights")
    };
    let model = candle_onnx::read_file(path)?;
    let Some(graph) = &model.graph else {
        bail!("{}: no graph", path.display())
    };
    let network = Graph::new(graph, context)?;
    let mut rows: Vec<Vec<Tensor>> = vec![vec![]; graph.output.len()];
    for call in context.calls() {
        let mut values = network.constants.clone();
        for (name, input) in &call.inputs {
            values.insert(name.clone(), network.moved(input)?);
        }
        network.walk(graph, &mut values)?;
        for (rows, output) in rows.iter_mut().zip(&graph.output) {
            rows.push(found(&values, &output.name)?);
        }
    }
    let named = graph.output.iter().zip(rows);
    named
        .map(|(output, rows)| Ok((output.name.clone(), Tensor::stack(&rows, 0)?)))
        .collect()
}

/// A graph's constants on a device, and the dtype of its floats.
struct Graph<'a> {
    constants: Values,
    dtype: DType,
    device: &'a Device,
}

impl<'a> Graph<'a> {
    fn new(graph: &GraphProto, context: &'a Context) -> Result<Graph<'a>> {
        let mut network = Graph {
            constants: HashMap::new(),
            dtype: context.dtype(),
            device: context.device(),
        };
        let mut protos = BTreeMap::new();
        let mut uses = Uses::default();
        collect(graph, &mut protos, &mut uses)?;
        for (name, proto) in protos {
            let tensor = constant(proto, &name)?;
            let tensor = if tensor.dtype() != DType::F32 || uses.scales.contains(&name) {
                tensor.to_device(network.device)?
            } else {
                let values: Vec<f64> = tensor.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?;
                context.weights().count(values.len());
                let values = if uses.weights.contains(&name) {
                    context.weights().changed(&name, values)
                } else {
                    values
                };
                network.moved(&Tensor::from_vec(values, tensor.dims(), &Device::Cpu)?)?
            };
            network.constants.insert(name, tensor);
        }
        Ok(network)
    }

    /// A tensor on the device, in the network's dtype where it has floats. candle-onnx has i64 in the place of INT32.
    fn moved(&self, tensor: &Tensor) -> Result<Tensor> {
        let dtype = match tensor.dtype() {
            DType::F32 | DType::F64 => self.dtype,
            DType::I32 => DType::I64,
            other => other,
        };
        tensor.to_dtype(dtype)?.to_device(self.device)
    }

    /// Computes the nodes, which ONNX has in an order in which they can be.
    fn walk(&self, graph: &GraphProto, values: &mut Values) -> Result<()> {
        for node in &graph.node {
            self.node(node, values)
                .map_err(|why| candle_core::Error::msg(format!("{} `{}`: {why}", node.op_type, node.name)))?;
        }
        Ok(())
    }

    fn node(&self, node: &NodeProto, values: &mut Values) -> Result<()> {
        match node.op_type.as_str() {
            // It is among the constants.
            "Constant" => return Ok(()),
            "If" => return self.branch(node, values),
            _ => {}
        }
        let inputs: Vec<Option<Tensor>> = node
            .input
            .iter()
            .map(|name| (!name.is_empty()).then(|| found(values, name)).transpose())
            .collect::<Result<_>>()?;
        if let Some(output) = ops::compute(node, &inputs, self)? {
            let Some(name) = node.output.first() else {
                bail!("a node without an output")
            };
            values.insert(name.clone(), output);
            return Ok(());
        }
        self.by_candle(node.clone(), values)
    }

    /// One branch, whose nodes see the values around it.
    fn branch(&self, node: &NodeProto, values: &mut Values) -> Result<()> {
        let Some(condition) = node.input.first() else {
            bail!("no condition")
        };
        let condition = found(values, condition)?.flatten_all()?.get(0)?;
        let is_true = condition.to_dtype(DType::U8)?.to_scalar::<u8>()? != 0;
        let word = if is_true { "then_branch" } else { "else_branch" };
        let graph = node.attribute.iter().find(|attribute| attribute.name == word);
        let Some(graph) = graph.and_then(|attribute| attribute.g.as_ref()) else {
            bail!("no {word}")
        };
        self.walk(graph, values)?;
        for (outer, inner) in node.output.iter().zip(&graph.output) {
            values.insert(outer.clone(), found(values, &inner.name)?);
        }
        Ok(())
    }

    /// Has candle-onnx evaluate a graph of this node alone.
    fn by_candle(&self, mut node: NodeProto, values: &mut Values) -> Result<()> {
        if node.op_type == "Cast" && self.dtype == DType::F64 {
            for to in node
                .attribute
                .iter_mut()
                .filter(|attribute| attribute.name == "to")
            {
                to.i = if to.i == FLOAT { DOUBLE } else { to.i };
            }
        }
        let mut inputs = HashMap::new();
        for name in node.input.iter().filter(|name| !name.is_empty()) {
            inputs.insert(name.clone(), found(values, name)?);
        }
        let named = node.output.iter().filter(|name| !name.is_empty());
        let output = named.map(|name| ValueInfoProto {
            name: name.clone(),
            ..ValueInfoProto::default()
        });
        let graph = GraphProto {
            output: output.collect(),
            node: vec![node],
            ..GraphProto::default()
        };
        let model = ModelProto {
            graph: Some(graph),
            ..ModelProto::default()
        };
        values.extend(candle_onnx::simple_eval(&model, inputs)?);
        Ok(())
    }
}

fn found(values: &Values, name: &str) -> Result<Tensor> {
    match values.get(name) {
        Some(value) => Ok(value.clone()),
        None => bail!("the graph has no value `{name}` yet"),
    }
}

/// How constants are used.
#[derive(Default)]
struct Uses {
    /// Those that are multiplied with: the ones that a run with other weights changes.
    weights: HashSet<String>,
    /// Factors of shapes, which candle-onnx reads as f32.
    scales: HashSet<String>,
}

/// The constants of a graph and of those inside it, and their uses.
fn collect<'g>(
    graph: &'g GraphProto,
    protos: &mut BTreeMap<String, &'g TensorProto>,
    uses: &mut Uses,
) -> Result<()> {
    for proto in &graph.initializer {
        protos.insert(proto.name.clone(), proto);
    }
    for node in &graph.node {
        match node.op_type.as_str() {
            "Conv" | "ConvTranspose" | "Gemm" | "LSTM" | "MatMul" => {
                uses.weights.extend(node.input.iter().cloned());
            }
            "Resize" => uses.scales.extend(node.input.iter().skip(1).cloned()),
            "Constant" => {
                let tensor = node.attribute.iter().find_map(|attribute| attribute.t.as_ref());
                match (tensor, node.output.first()) {
                    (Some(tensor), Some(name)) => protos.insert(name.clone(), tensor),
                    _ => bail!("Constant `{}` has no tensor", node.name),
                };
            }
            _ => {}
        }
        for inner in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            collect(inner, protos, uses)?;
        }
    }
    Ok(())
}

/// A constant on the CPU. candle-onnx makes one dimension of every tensor of INT32.
fn constant(proto: &TensorProto, name: &str) -> Result<Tensor> {
    let dims: Vec<usize> = proto
        .dims
        .iter()
        .map(|dim| usize::try_from(*dim))
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| candle_core::Error::msg(format!("`{name}` has the shape {:?}", proto.dims)))?;
    candle_onnx::eval::get_tensor(proto, name)?.reshape(dims)
}
