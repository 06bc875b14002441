// librocm_soft.so: raw AMD GPU machine code run on the software GPU. No ROCm, no GPU.
//
// Link with -lrocm_soft. Every function may be called from any thread; runs follow each other.
#ifndef ROCM_SOFT_H
#define ROCM_SOFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gfx_status {
  GFX_OK = 0,
  GFX_INVALID_ARGUMENT = 1, // null, empty or unknown; nothing ran
  GFX_REFUSED = 2,          // code or launch that the software GPU does not execute; nothing ran
  GFX_FAULT = 3,            // the kernel accessed what is not its own, trapped or did not end
  GFX_INTERNAL = 4,         // a bug of this library
};

// Runs `code_len` bytes of instructions to their end.
//
//   target   "gfx1100", "gfx90a" or "gfx942"
//   grid     workgroups in x, y, z
//   block    work-items of a workgroup in x, y, z; at most 1024 in all
//   kernarg  the arguments, at most 4352 bytes. The kernel finds the address of a copy of them in s[0:1].
//   rsrc2    COMPUTE_PGM_RSRC2: bits 5:1 user SGPRs (2 to 31; those after s[0:1] are zero), bits 7, 8, 9 whether the
//            workgroup ids x, y, z follow them, bits 23:15 LDS of a workgroup in blocks of 512 bytes
//   scratch_bytes_per_lane  private memory, at offset 0 of each lane's scratch; at most 8 MiB for a wave
//
// v0 has the work-item ids, x in bits 9:0, y in 19:10, z in 29:20. The kernel accesses its code and mapped buffers, and
// nothing else: everything else is a fault, named by instruction, lane and address. After a fault the buffers hold what had
// been written up to then.
//
// The last 16 codes of at most 1 MiB are kept, with what was decoded and compiled of them: a call with the same bytes, target, rsrc2
// and sizes runs them again.
int gfx_run(const char *target, const void *code, size_t code_len, const uint32_t grid[3], const uint32_t block[3],
            const void *kernarg, size_t kernarg_len, uint32_t rsrc2, uint32_t scratch_bytes_per_lane);

// Makes a buffer of the host visible to kernels at its own address, a multiple of 8. A run starts with a copy of its content
// and copies back what the kernel changed, in pieces of 64 KiB: what the host writes meanwhile the kernel does not see, and it
// may be overwritten. The buffer must live until gfx_unmap, and stay untouched while a run is in progress. A buffer that
// kernels only read may be read-only.
int gfx_map(void *ptr, size_t len);

// Ends a mapping by the pointer it was made with.
int gfx_unmap(void *ptr);

// Why the last of these calls of this thread failed, "no error" if it did not. Valid until this thread's next call.
const char *gfx_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
