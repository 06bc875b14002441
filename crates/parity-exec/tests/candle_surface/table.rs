//! What becomes of the functions of candle's that are no ops by their name.

/// Why a function needs no op of its name.
pub(crate) enum Why {
    /// An op of another name runs it.
    By(&'static str),
    /// It computes nothing that could differ between backends, or only what ops compute.
    No(&'static str),
}

use Why::{By, No};

const METADATA: &str = "says what a tensor is; the executor reads shape, strides and dtype of every output";
const TO_HOST: &str = "copies to the host, as the executor does with every output";
const FROM_HOST: &str = "copies from the host, as the executor does with every input";
const CALLERS_OWN: &str =
    "runs an op that the caller brings; candle's own are sigmoid, softmax_last_dim, rope and others";
const BUILDS: &str = "reads weights by name and builds a layer, whose forward is an op";
const HOST_ONLY: &str = "works on slices of the host's memory and takes no tensor of a device";

/// `Device`. What a backend does by itself, its storage, copies and random numbers, is called through tensors.
pub(crate) const DEVICE: &[(&str, Why)] = &[
    ("set_seed get_current_seed", By("rand_uniform_seeded")),
    (
        "new_cuda new_cuda_with_stream new_metal cuda_if_available metal_if_available",
        No("opens a device, as a worker does before its first case"),
    ),
    (
        "synchronize with_context",
        No("computes nothing; every copy to the host waits for the device"),
    ),
    (
        "as_cuda_device as_metal_device same_device location is_cpu is_cuda is_metal supports_bf16 bf16_default_to_f32",
        No("says what a device is"),
    ),
];

/// `Tensor`. Names that one row is about are separated by a blank.
pub(crate) const METHODS: &[(&str, Why)] = &[
    ("const_set zero_set one_set", By("fill")),
    ("ones_like", By("ones")),
    ("zeros_like", By("zeros")),
    ("rand rand_like", By("rand_uniform")),
    ("randn randn_like", By("rand_normal")),
    ("arange", By("arange_step")),
    (
        "new from_iter from_vec from_slice from_storage from_raw_buffer",
        No(FROM_HOST),
    ),
    (
        "read_npy read_npz read_npz_by_name",
        No("reads a file into the host's memory, and that to a device"),
    ),
    (
        "write_bytes write_npy write_npz save_safetensors",
        No("copies to the host, and writes that to a file"),
    ),
    ("to_scalar to_vec0 to_vec1 to_vec2 to_vec3 to_device", No(TO_HOST)),
    ("cmp", By("eq")),
    ("interpolate1d", By("upsample_nearest1d")),
    ("interpolate2d", By("upsample_nearest2d")),
    ("avg_pool2d_with_stride", By("avg_pool2d")),
    ("max_pool2d_with_stride", By("max_pool2d")),
    ("slice_scatter0", By("slice_scatter")),
    ("arg_sort_last_dim", By("argsort_asc")),
    ("sort_last_dim", By("sort_asc")),
    ("conv1d_with_algo", By("conv1d")),
    ("conv2d_with_algo", By("conv2d")),
    ("flatten_to flatten_from flatten_all", By("flatten")),
    ("get", By("get_on_dim")),
    ("t", By("transpose")),
    ("broadcast_left", By("grad_broadcast_left")),
    ("expand", By("broadcast_as")),
    ("to_dtype", By("to_f32")),
    ("contiguous force_contiguous", By("copy")),
    ("backward sorted_nodes", By("grad_exp")),
    (
        "track_op id is_variable detach",
        No("belongs to the graph that gradients are taken of, and copies nothing"),
    ),
    ("strided_index strided_blocks storage_and_layout", No(METADATA)),
    (
        "dtype device shape dims dim layout stride rank elem_count is_contiguous is_fortran_contiguous",
        No(METADATA),
    ),
    ("normalize_axis", No("turns a negative dimension into its place")),
    ("apply apply_t", No("calls the layer that it is given")),
    (
        "apply_op1 apply_op2 apply_op3 apply_op1_arc apply_op2_arc apply_op3_arc",
        No(CALLERS_OWN),
    ),
    (
        "apply_op1_no_bwd apply_op2_no_bwd apply_op3_no_bwd",
        No(CALLERS_OWN),
    ),
    (
        "inplace_op1 inplace_op2 inplace_op3",
        No("runs an op that the caller brings, and candle brings none"),
    ),
];

/// `QTensor` and `QMatMul`.
pub(crate) const QUANTIZED: &[(&str, Why)] = &[
    ("new from_arc from_qtensor", By("qmatmul_q4_0")),
    ("quantize", By("quantize_q4_0")),
    (
        "quantize_onto",
        No("as `quantize`, from the host's memory to a device"),
    ),
    (
        "quantize_imatrix quantize_imatrix_onto",
        No("as `quantize`, with weights for the search; on every backend the CPU's code"),
    ),
    ("dequantize", By("dequantize_q4_0")),
    (
        "forward_via_f16",
        No("`dequantize_f16` and a matmul in f16, both ops"),
    ),
    ("indexed_moe_forward", By("indexed_moe_q8_0")),
    (
        "gemv_fused_shared_lhs indexed_gemv",
        No("hands out what the CPU's repacked weights give, which `qmatmul` runs as well"),
    ),
    ("dtype device shape rank storage_size_in_bytes", No(METADATA)),
    ("data", No(TO_HOST)),
    (
        "device_ptr device_ptr_with_guard",
        No("hands out a pointer for other libraries' kernels"),
    ),
];

/// The functions and types of candle-nn.
pub(crate) const NN: &[(&str, Why)] = &[
    ("Linear linear_no_bias linear_b", By("linear")),
    ("Conv1d Conv1dConfig conv1d_no_bias", By("conv1d_bias")),
    ("Conv2d Conv2dConfig conv2d_no_bias", By("conv2d_bias")),
    (
        "ConvTranspose1d ConvTranspose1dConfig conv_transpose1d_no_bias",
        By("conv_transpose1d_bias"),
    ),
    (
        "ConvTranspose2d ConvTranspose2dConfig conv_transpose2d_no_bias",
        By("conv_transpose2d_bias"),
    ),
    ("Embedding", By("embedding")),
    ("GroupNorm", By("group_norm")),
    ("BatchNorm BatchNormConfig batch_norm", By("batch_norm_train")),
    (
        "LayerNorm LayerNormConfig layer_norm_no_bias",
        By("layer_norm_layer"),
    ),
    ("RmsNorm", By("rms_norm_layer")),
    ("PReLU", By("prelu")),
    ("LSTM LSTMState LSTMConfig lstm Direction", By("lstm_step")),
    ("GRU GRUState GRUConfig gru", By("gru_step")),
    ("binary_cross_entropy_with_logit", By("bce_with_logit")),
    (
        "Activation",
        No("names one of the activations, which are ops: relu, gelu, silu, elu, sigmoid and others"),
    ),
    (
        "AttnMask run_flash_attn_cpu run_causal_attn_cpu",
        By("flash_attn"),
    ),
    ("flash_attn_varlen_cpu", By("flash_attn")),
    (
        "flash_attn_varlen_unfused",
        No("matmul, softmax and masks for each sequence of a batch, all of them ops"),
    ),
    ("causal_decode_f32_interleaved rope_i_inplace", No(HOST_ONLY)),
    ("InterleavedKvCache RawInterleavedKvCache", No(HOST_ONLY)),
    ("Cache KvCache ConcatKvCache", By("kv_cache")),
    ("RotatingCache RotatingKvCache", By("rotating_kv_cache")),
    (
        "ScatteredKvCache ScatteredCacheBuilder IndicesAndMask",
        No("`scatter_set` at ids that the host computes, with a mask from the host"),
    ),
    (
        "moe_gemm_gguf routed_grouped_matmul warmup_routed_grouped_matmul MoeRouting MoeInputMode",
        No(
            "candle-nn's own CUDA kernels behind features of their own, an error everywhere else; `indexed_moe` is the op that backends have",
        ),
    ),
    (
        "dropout Dropout",
        No("a mask of random numbers, `ge` and a product; without training the tensor itself"),
    ),
    ("Identity", No("hands back its argument")),
    (
        "gumbel_softmax",
        No("`rand_uniform`, logarithms and `argmax`, all of them ops; what comes out is random"),
    ),
    (
        "Func FuncT func func_t Sequential seq",
        No("calls what it is given"),
    ),
    (
        "Init FanInOut NormalOrUniform NonLinearity",
        No("draws weights by `rand_uniform` or `rand_normal`, or fills them"),
    ),
    (
        "SGD AdamW ParamsAdamW",
        No("sums and products of a variable and its gradient, all of them ops"),
    ),
    (
        "VarBuilderArgs SafeTensorWithRouting ShardedSafeTensors Shard Rename VarMap",
        No(BUILDS),
    ),
];
