// gate / (1 + e^(-alpha gate)) up, element by element: in f32 for f16, with one rounding when it is stored.
template <typename T, typename W>
__device__ void quick_geglu(size_t n, W alpha, const T *gate, const T *up, T *out) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        W g = gate[i];
        out[i] = T(g / (W(1) + exp(-alpha * g)) * W(up[i]));
    }
}

extern "C" __global__ void quick_geglu_f16(size_t n, double alpha, const _Float16 *gate, const _Float16 *up, _Float16 *out) {
    quick_geglu<_Float16, float>(n, alpha, gate, up, out);
}
extern "C" __global__ void quick_geglu_f32(size_t n, double alpha, const float *gate, const float *up, float *out) {
    quick_geglu<float, float>(n, alpha, gate, up, out);
}
extern "C" __global__ void quick_geglu_f64(size_t n, double alpha, const double *gate, const double *up, double *out) {
    quick_geglu<double, double>(n, alpha, gate, up, out);
}
