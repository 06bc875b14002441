// Checks of HIP's modules: code objects that a program hands over itself. checks.hpp says how to run them.
#include "checks.hpp"

#include <link.h>
#include <unistd.h>

__global__ void fill(int* numbers, int first, int step) {
    numbers[blockIdx.x * blockDim.x + threadIdx.x] = first + step * int(blockIdx.x * blockDim.x + threadIdx.x);
}

// Modules are of what this program carries for the card.

extern "C" __device__ int module_numbers[4] = {3, 1, 4, 1};
extern "C" __device__ int module_count = 5;
extern "C" __constant__ double module_constant = 0.5;
extern "C" __global__ void module_kernel(const int* in, int* out, int factor, char plus) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = factor * in[i] + plus + module_numbers[i % 4] + int(4 * module_constant);
    if (i == 0) module_count++;
}

// The bundle of this program's code objects: clang puts it on a page of its own, and it begins with this text.
static const char* bundle() {
    const char* found = nullptr;
    dl_iterate_phdr(
        [](dl_phdr_info* loaded, size_t, void* found) {
            for (int i = 0; i < loaded->dlpi_phnum; i++) {
                const ElfW(Phdr)& part = loaded->dlpi_phdr[i];
                if (part.p_type != PT_LOAD || !(part.p_flags & PF_R)) continue;
                const char* at = reinterpret_cast<const char*>(loaded->dlpi_addr + part.p_vaddr);
                const char* end = at + part.p_filesz;
                for (at += -reinterpret_cast<uintptr_t>(at) % 4096; at + 32 < end; at += 4096)
                    if (!std::memcmp(at, "__CLANG_OFFLOAD_BUNDLE__", 24)) *static_cast<const char**>(found) = at;
            }
            // The first is the program.
            return 1;
        },
        &found);
    if (found == nullptr) throw Failure{"the program has no bundle", __LINE__};
    return found;
}

// The code object for the card alone.
static std::string code_object() {
    hipDeviceProp_t card;
    OK(hipGetDeviceProperties(&card, 0));
    std::string arch = card.gcnArchName;
    arch = arch.substr(0, arch.find(':'));
    const char *start = bundle(), *at = start + 32;
    uint64_t entries, entry[3];
    std::memcpy(&entries, start + 24, 8);
    for (uint64_t i = 0; i < entries; i++) {
        std::memcpy(entry, at, sizeof entry);
        std::string target(at + sizeof entry, entry[2]);
        at += sizeof entry + entry[2];
        if (target.size() > arch.size() && target.substr(target.size() - arch.size()) == arch) return std::string(start + entry[0], entry[1]);
    }
    throw Failure{"the program has no code for " + arch, __LINE__};
}

static void check_module(hipModule_t module) {
    hipFunction_t kernel = nullptr;
    OK(hipModuleGetFunction(&kernel, module, "module_kernel"));
    FAILS(hipErrorNotFound, hipModuleGetFunction(&kernel, module, "no_kernel"));
    FAILS(hipErrorInvalidValue, hipModuleGetFunction(&kernel, module, nullptr));
    FAILS(hipErrorInvalidValue, hipModuleGetFunction(nullptr, module, "module_kernel"));
    OK(hipModuleGetFunction(&kernel, module, "module_kernel"));
    Numbers<int> in(96), out(96);
    fill<<<1, 96>>>(in, 0, 10);

    int *from = in, *to = out, factor = 3;
    char plus = -5;
    void* arguments[] = {&from, &to, &factor, &plus};
    OK(hipModuleLaunchKernel(kernel, 3, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    int digits[4] = {3, 1, 4, 1};
    auto got = out.read();
    ALL(got, 96, i, 30 * int(i) - 5 + digits[i % 4] + 2);

    // A module has variables of its own, which its kernels and copies change.
    hipDeviceptr_t variable = nullptr;
    size_t bytes = 0;
    OK(hipModuleGetGlobal(&variable, &bytes, module, "module_numbers"));
    SAME(bytes, sizeof digits);
    OK(hipMemcpyDtoH(digits, variable, bytes));
    SAME(digits[2], 4);
    int count = 0;
    OK(hipModuleGetGlobal(&variable, &bytes, module, "module_count"));
    SAME(bytes, sizeof count);
    OK(hipMemcpyDtoH(&count, variable, bytes));
    SAME(count, 6);
    OK(hipModuleGetGlobal(&variable, &bytes, module, "module_numbers"));
    int changed[4] = {20, 30, 40, 50};
    OK(hipMemcpyHtoD(variable, changed, sizeof changed));
    double constant = 1.5;
    OK(hipModuleGetGlobal(&variable, &bytes, module, "module_constant"));
    SAME(bytes, sizeof constant);
    OK(hipMemcpyHtoD(variable, &constant, sizeof constant));
    FAILS(hipErrorNotFound, hipModuleGetGlobal(&variable, &bytes, module, "no_variable"));

    // Arguments as one buffer.
    struct {
        int *from, *to;
        int factor;
        char plus;
    } packed = {in, out, -2, 7};
    size_t size = sizeof packed;
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    OK(hipModuleLaunchKernel(kernel, 3, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    got = out.read();
    ALL(got, 96, i, -20 * int(i) + 7 + changed[i % 4] + 6);

    // The size in work-items. clang compiles for whole blocks.
    OK(hipMemset(out, 0, out.bytes()));
    Event start, stop;
    OK(hipExtModuleLaunchKernel(kernel, 64, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr, start, stop, 0));
    OK(hipEventSynchronize(stop));
    float milliseconds = -1;
    OK(hipEventElapsedTime(&milliseconds, start, stop));
    TRUE(milliseconds >= 0);
    got = out.read();
    ALL(got, 96, i, i < 64 ? 30 * int(i) - 5 + changed[i % 4] + 6 : 0);

    FAILS(hipErrorInvalidValue, hipExtModuleLaunchKernel(kernel, 80, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr, nullptr, nullptr, 0));
    FAILS(hipErrorInvalidValue, hipModuleLaunchKernel(kernel, 0, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    FAILS(hipErrorInvalidValue, hipModuleLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr));
    FAILS(hipErrorInvalidResourceHandle, hipModuleLaunchKernel(nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    FAILS(hipErrorInvalidValue, hipModuleLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, extra));
}

CHECK(module_of_bundle) {
    hipModule_t module = nullptr;
    OK(hipModuleLoadData(&module, bundle()));
    check_module(module);
    OK(hipModuleUnload(module));
}

CHECK(module_of_code_object) {
    std::string code = code_object();
    hipModule_t module = nullptr, second = nullptr;
    OK(hipModuleLoadData(&module, code.data()));
    OK(hipModuleLoadDataEx(&second, code.data(), 0, nullptr, nullptr));
    check_module(module);
    check_module(second);
    OK(hipModuleUnload(module));
    OK(hipModuleUnload(second));
    FAILS(hipErrorInvalidValue, hipModuleLoadData(&module, nullptr));
    FAILS(hipErrorInvalidValue, hipModuleLoadData(nullptr, code.data()));
    FAILS(hipErrorInvalidImage, hipModuleLoadData(&module, std::string(4096, 'x').data()));
}

CHECK(module_of_file) {
    std::string path = name_of_a_file();
    int file = mkstemp(path.data());
    const char* name = path.c_str();
    TRUE(file >= 0);
    std::string code = code_object();
    bool written = write(file, code.data(), code.size()) == ssize_t(code.size());
    close(file);
    hipModule_t module = nullptr;
    hipError_t loaded = hipModuleLoad(&module, name);
    unlink(name);
    TRUE(written);
    OK(loaded);
    check_module(module);
    OK(hipModuleUnload(module));
    FAILS(hipErrorFileNotFound, hipModuleLoad(&module, name));
    FAILS(hipErrorInvalidValue, hipModuleLoad(&module, nullptr));
}
