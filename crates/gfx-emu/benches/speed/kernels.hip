// Kernels of the benchmark alone: two textbook matrix products, and a loop over each class of instructions. What the
// backend computes with is in rocm-backend/kernels.
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared)) static

using u32 = unsigned;
using u64 = unsigned long long;

// The mask a comparison writes.
#if __AMDGCN_WAVEFRONT_SIZE__ == 32
#define VCC "vcc_lo"
#else
#define VCC "vcc"
#endif

__attribute__((device)) inline u32 lane() { return __builtin_amdgcn_workitem_id_x(); }
__attribute__((device)) inline u32 index() { return __builtin_amdgcn_workgroup_id_x() * 256 + lane(); }
__attribute__((device)) inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// A result a thread, tiles of 16 x 16 in LDS.
KERNEL gemm_tiled(const float *a, const float *b, float *out, u32 side) {
    SHARED float left[16][16], right[16][16];
    const u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    const u32 tiles = side / 16, group = __builtin_amdgcn_workgroup_id_x();
    const u32 row = group / tiles * 16 + y, col = group % tiles * 16 + x;
    float sum = 0;
    for (u32 k = 0; k < side; k += 16) {
        left[y][x] = a[row * side + k + x];
        right[y][x] = b[(k + y) * side + col];
        barrier();
#pragma unroll
        for (u32 i = 0; i < 16; ++i) {
            sum = __builtin_fmaf(left[y][i], right[i][x], sum);
        }
        barrier();
    }
    out[row * side + col] = sum;
}

// 4 x 4 results a thread, tiles of 64 x 16 in LDS.
KERNEL gemm_4x4(const float *a, const float *b, float *out, u32 side) {
    SHARED float left[16][64], right[16][64];
    const u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    const u32 tiles = side / 64, group = __builtin_amdgcn_workgroup_id_x();
    const u32 row = group / tiles * 64, col = group % tiles * 64;
    float sum[4][4] = {};
    for (u32 k = 0; k < side; k += 16) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            left[x][y * 4 + i] = a[(row + y * 4 + i) * side + k + x];
            right[y][x * 4 + i] = b[(k + y) * side + col + x * 4 + i];
        }
        barrier();
#pragma unroll
        for (u32 step = 0; step < 16; ++step) {
            float l[4], r[4];
#pragma unroll
            for (u32 i = 0; i < 4; ++i) {
                l[i] = left[step][y * 4 + i];
                r[i] = right[step][x * 4 + i];
            }
#pragma unroll
            for (u32 i = 0; i < 4; ++i) {
#pragma unroll
                for (u32 j = 0; j < 4; ++j) {
                    sum[i][j] = __builtin_fmaf(l[i], r[j], sum[i][j]);
                }
            }
        }
        barrier();
    }
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
            out[(row + y * 4 + i) * side + col + x * 4 + j] = sum[i][j];
        }
    }
}

// Sixteen times four independent instructions a round.
#define TIMES4(text) text text text text
#define TIMES16(text) TIMES4(TIMES4(text))
#define CLASS(name, Type, code) \
    KERNEL class_##name(Type *out, u32 rounds) { \
        Type a = Type(lane()), b = a + Type(1), c = a + Type(2), d = a + Type(3); \
        for (u32 round = 0; round < rounds; ++round) { \
            asm volatile(TIMES16(code) : "+v"(a), "+v"(b), "+v"(c), "+v"(d) : : "vcc"); \
        } \
        *(float *)((char *)out + 4 * index()) = float(a + b + c + d); \
    }

CLASS(f32_add, float, "v_add_f32 %0, %1, %2\n v_add_f32 %1, 1.0, %3\n v_mul_f32 %2, %0, %3\n v_max_f32 %3, %0, %2\n")
// These stay finite: NaNs take longer, and kernels hardly ever compute with them.
CLASS(f32_fma, float, "v_fma_f32 %0, %1, %2, %3\n v_fma_f32 %1, -%0, 0.5, %3\n v_fma_f32 %2, %2, 0.5, 0.5\n v_fma_f32 %3, -%3, 0.5, 1.0\n")
CLASS(f64_fma, double, "v_fma_f64 %0, %1, %2, %3\n v_fma_f64 %1, -%0, 0.5, %3\n v_fma_f64 %2, %2, 0.5, 0.5\n v_fma_f64 %3, -%3, 0.5, 1.0\n")
CLASS(f16x2_fma, u32, "v_pk_fma_f16 %0, %1, %2, %3\n v_pk_fma_f16 %1, %0, %2, %3\n v_pk_add_f16 %2, %0, %1\n v_pk_mul_f16 %3, %3, %1\n")
CLASS(i32_add, u32, "v_xor_b32 %0, %1, %2\n v_and_b32 %1, 63, %3\n v_lshlrev_b32 %2, 2, %3\n v_lshl_add_u32 %3, %0, 1, %2\n")
CLASS(i32_mul, u32, "v_mul_lo_u32 %0, %1, %2\n v_mul_hi_u32 %1, %0, %3\n v_mul_lo_u32 %2, %0, %3\n v_mul_hi_u32 %3, %1, %2\n")
CLASS(i64_shift, u64, "v_lshlrev_b64 %0, 3, %1\n v_lshrrev_b64 %1, 5, %2\n v_ashrrev_i64 %2, 1, %3\n v_lshlrev_b64 %3, 2, %0\n")
CLASS(compare, u32, "v_cmp_lt_u32 " VCC ", %0, %1\n v_cndmask_b32 %0, %2, %3, " VCC "\n"
      "v_cmp_gt_f32 " VCC ", %1, %2\n v_cndmask_b32 %2, %1, %0, " VCC "\n")
CLASS(exp, float, "v_exp_f32 %0, %1\n v_rcp_f32 %1, %2\n v_exp_f32 %2, %3\n v_sqrt_f32 %3, %0\n")

// Arithmetic with three of four lanes active.
KERNEL class_masked(float *out, u32 rounds) {
    float a = float(lane()), b = a + 1, c = a + 2, d = a + 3;
    if (lane() % 4 != 0) {
        for (u32 round = 0; round < rounds; ++round) {
            asm volatile(TIMES16("v_add_f32 %0, %1, %2\n v_add_f32 %1, 1.0, %3\n v_mul_f32 %2, %0, %3\n v_max_f32 %3, %0, %2\n")
                         : "+v"(a), "+v"(b), "+v"(c), "+v"(d));
        }
    }
    out[index()] = a + b + c + d;
}

// Loads and stores of LDS, adjacent and with a stride, and as many additions.
KERNEL class_lds(float *out, u32 rounds) {
    SHARED float share[1024];
    float sum = 0;
    for (u32 i = 0; i < 4; ++i) {
        share[lane() + 256 * i] = float(i);
    }
    for (u32 round = 0; round < rounds; ++round) {
#pragma unroll
        for (u32 i = 0; i < 16; ++i) {
            sum += share[lane() + 16 * i];
            sum += share[(lane() * 3 & 255) + i];
            share[lane() + 256] = sum;
            asm volatile("" ::: "memory");
        }
    }
    out[index()] = sum;
}

// Loads and stores of device memory, adjacent and with a stride, and as many additions.
KERNEL class_global(float *out, u32 rounds) {
    volatile float *mine = out + index() / 256 * 256;
    float sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
#pragma unroll
        for (u32 i = 0; i < 16; ++i) {
            sum += mine[lane()];
            sum += mine[lane() * 7 & 255];
            mine[lane()] = sum;
        }
    }
}

KERNEL class_shuffle(u32 *out, u32 rounds) {
    u32 sum = lane();
    for (u32 round = 0; round < rounds; ++round) {
#pragma unroll
        for (u32 i = 0; i < 16; ++i) {
            sum += __builtin_amdgcn_ds_bpermute(4 * ((lane() + i) ^ 1), sum);
        }
    }
    out[index()] = sum;
}

KERNEL class_scalar(u32 *out, u32 rounds) {
    u32 a = rounds, b = 2, c = 3;
    for (u32 round = 0; round < rounds; ++round) {
        asm volatile(TIMES16("s_add_u32 %0, %1, %2\n s_lshl_b32 %1, %0, 3\n s_and_b32 %2, %0, 0xff\n s_cmp_lt_u32 %0, %1\n")
                     : "+s"(a), "+s"(b), "+s"(c) : : "scc");
    }
    out[index()] = a + b + c;
}
