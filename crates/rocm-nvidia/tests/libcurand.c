// A stand-in for cuRAND, for tests on machines without one: device memory is the host's, each call is noted, and the numbers count up from
// the place in the sequence. Written after NVIDIA's "cuRAND"; compiled by rand.rs beside it.
#include <stdint.h>
#include <stdlib.h>

#include "mock.h"

typedef struct { unsigned long long seed, place; } Generator;

Status curandCreateGenerator(Handle *out, unsigned kind) { NOTE(" %u", kind); *out = calloc(1, sizeof(Generator)); return 0; }
Status curandDestroyGenerator(Handle generator) { NOTE("%s", ""); free(generator); return 0; }
Status curandSetStream(Handle generator, Handle stream) { NOTE(" %d %zx", generator != NULL, (size_t)stream); return 0; }
Status curandSetPseudoRandomGeneratorSeed(Handle generator, unsigned long long seed) {
    NOTE(" %llu", seed);
    ((Generator *)generator)->seed = seed;
    return 0;
}
Status curandSetGeneratorOffset(Handle generator, unsigned long long place) {
    NOTE(" %llu", place);
    ((Generator *)generator)->place = place;
    return 0;
}

#define DRAWN(name, type) \
    Status name(Handle generator, type *out, size_t n) { \
        NOTE(" %zu", n); \
        for (size_t i = 0; i < n; ++i) out[i] = (type)(((Generator *)generator)->place + i); \
        return 0; \
    }
DRAWN(curandGenerateUniform, float)
DRAWN(curandGenerateUniformDouble, double)
#define NORMAL(name, type) \
    Status name(Handle generator, type *out, size_t n, type mean, type deviation) { \
        NOTE(" %zu %g %g", n, (double)mean, (double)deviation); \
        if (n % 2 != 0) return 105; \
        for (size_t i = 0; i < n; ++i) out[i] = mean + deviation * (type)(((Generator *)generator)->place + i); \
        return 0; \
    }
NORMAL(curandGenerateNormal, float)
NORMAL(curandGenerateNormalDouble, double)
