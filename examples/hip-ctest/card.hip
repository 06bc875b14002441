// What HIP's runtime says of a card, of limits and of its errors, a line each: for the comparison of two runtimes.
#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

int main() {
    hipDeviceProp_t card;
    memset(&card, 0, sizeof card);
    if (hipGetDeviceProperties(&card, 0) != hipSuccess) return 1;
    printf("name %s\narch %s\n", card.name, card.gcnArchName);
    // Words after the name and the identifiers, up to the processor's name.
    unsigned words[sizeof card / sizeof(unsigned)];
    memcpy(words, &card, sizeof card);
    for (size_t at = offsetof(hipDeviceProp_t, totalGlobalMem) / 4; at < offsetof(hipDeviceProp_t, gcnArchName) / 4; at++)
        if (words[at]) printf("property at %zu: %u\n", 4 * at, words[at]);
    for (auto [first, end] : {std::pair{0, 92}, std::pair{10000, 10019}})
        for (int number = first; number < end; number++) {
            int value;
            if (hipDeviceGetAttribute(&value, hipDeviceAttribute_t(number), 0) == hipSuccess) printf("attribute %d: %d\n", number, value);
        }
    for (int number : {0, 1, 2, 4096, 4097, 4098}) {
        size_t value = 0;
        hipError_t answer = hipDeviceGetLimit(&value, hipLimit_t(number));
        printf("limit %d: %d, %zu\n", number, answer, value);
    }
    for (int code = 0; code < 1100; code++) {
        hipError_t error = hipError_t(code);
        if (strcmp(hipGetErrorName(error), "hipErrorUnknown")) printf("error %d: %s\n", code, hipGetErrorName(error));
    }
}
