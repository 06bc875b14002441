// A HIP program that hipRTC compiles kernels for while it runs: `halves OPTIONS..` hands the options on to it. The kernels move half
// floats between the halves of registers. It ends with 0 when the card's results are right, and names the kernel whose are not.
//
// For gfx1100 LLVM 21.1, which is in Debian's hipRTC 6.4, makes instructions on halves of registers and takes the lower half where
// the upper one is meant: `turn` at -O3 and -O1, `sign` at -O1. LLVM 22.1 does not, nor does LLVM 21.1 with the options
// `-Xclang -target-feature -Xclang -real-true16`. With `+real-true16` it does so for gfx1151 and gfx1200, too.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <cstdio>
#include <string>

#define CHECK(call)                                                                    \
    do {                                                                               \
        hipError_t error = (call);                                                     \
        if (error != hipSuccess) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));         \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

#define COMPILED(call)                                                                 \
    do {                                                                               \
        hiprtcResult result = (call);                                                  \
        if (result != HIPRTC_SUCCESS) {                                                \
            std::fprintf(stderr, "%s: %s\n", #call, hiprtcGetErrorString(result));     \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

constexpr unsigned SIDE = 8, ITEMS = SIDE * SIDE;
constexpr unsigned short ONE = 0x3c00, SIGN = 0x8000;

const char* const SOURCE = R"(
typedef _Float16 Line __attribute__((ext_vector_type(8)));
// Makes columns of the lines, eight for each work-item.
extern "C" __global__ void turn(const Line* in, Line* out) {
    Line lines[8];
    for (int i = 0; i < 8; i++) lines[i] = in[8 * threadIdx.x + i];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        Line column;
#pragma unroll
        for (int j = 0; j < 8; j++) column[j] = lines[j][i];
        out[8 * threadIdx.x + i] = column;
    }
}
// 1 or -1, as the number's sign is.
extern "C" __global__ void sign(const Line* in, Line* out) {
    Line line = in[threadIdx.x];
#pragma unroll
    for (int j = 0; j < 8; j++) line[j] = __builtin_copysignf16(_Float16(1), line[j]);
    out[threadIdx.x] = line;
}
)";

int main(int count, char** options) {
    hiprtcProgram program;
    COMPILED(hiprtcCreateProgram(&program, SOURCE, "halves.hip", 0, nullptr, nullptr));
    COMPILED(hiprtcCompileProgram(program, count - 1, const_cast<const char**>(options + 1)));
    size_t bytes;
    COMPILED(hiprtcGetCodeSize(program, &bytes));
    std::string code(bytes, 0);
    COMPILED(hiprtcGetCode(program, &code[0]));
    hipModule_t module;
    CHECK(hipModuleLoadData(&module, code.data()));

    unsigned short in[ITEMS], out[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++) in[i] = ONE + 17 * i + (i % 3 == 1 ? SIGN : 0);
    void *from, *to;
    CHECK(hipMalloc(&from, sizeof in));
    CHECK(hipMalloc(&to, sizeof out));
    CHECK(hipMemcpy(from, in, sizeof in, hipMemcpyHostToDevice));
    int failed = 0;
    for (const char* name : {"turn", "sign"}) {
        bool turns = name[0] == 't';
        hipFunction_t kernel;
        CHECK(hipModuleGetFunction(&kernel, module, name));
        CHECK(hipMemset(to, 0, sizeof out));
        void* arguments[] = {&from, &to};
        CHECK(hipModuleLaunchKernel(kernel, 1, 1, 1, turns ? 1 : SIDE, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(hipMemcpy(out, to, sizeof out, hipMemcpyDeviceToHost));
        unsigned wrong = 0;
        for (unsigned i = 0; i < ITEMS; i++) {
            unsigned short turned = in[i % SIDE * SIDE + i / SIDE], signed_one = ONE | (in[i] & SIGN);
            wrong += out[i] != (turns ? turned : signed_one);
        }
        std::printf("%s: %u of %u are wrong\n", name, wrong, ITEMS);
        failed |= wrong > 0;
    }
    return failed;
}
