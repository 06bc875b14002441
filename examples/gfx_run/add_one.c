// Runs eleven instructions on the software GPU: adds one to each element of an array.
//
//   cargo build -p rocm-soft-c
//   cc -Icrates/rocm-soft-c/include examples/gfx_run/add_one.c -Ltarget/debug -lrocm_soft -o add_one
//   LD_LIBRARY_PATH=target/debug ./add_one

#include "rocm_soft.h"

#include <stdio.h>

// The kernel, as `llvm-mc-19 -triple=amdgcn -mcpu=gfx1100 -mattr=+wavefrontsize32 -show-encoding` assembles what stands
// beside the words. The arguments are a pointer and a count; two user SGPRs, so the workgroup id x is in s2.
static const uint32_t CODE[] = {
    0xf4080100, 0xf8000000, // s_load_b128 s[4:7], s[0:1], null
    0x840a8502,             // s_lshl_b32 s10, s2, 5
    0x4a02000a,             // v_add_nc_u32_e32 v1, s10, v0
    0xbf89fc07,             // s_waitcnt lgkmcnt(0)
    0x7d980206,             // v_cmpx_gt_u32_e32 s6, v1
    0x30020282,             // v_lshlrev_b32_e32 v1, 2, v1
    0xdc520000, 0x02040001, // global_load_b32 v2, v1, s[4:5]
    0xbf8903f7,             // s_waitcnt vmcnt(0)
    0x4a040481,             // v_add_nc_u32_e32 v2, 1, v2
    0xdc6a0000, 0x00040201, // global_store_b32 v1, v2, s[4:5]
    0xbfb00000,             // s_endpgm
};

enum { COUNT = 100, BLOCK = 32 };

int main(void) {
  static uint32_t data[COUNT];
  for (uint32_t i = 0; i < COUNT; ++i) {
    data[i] = 10 * i;
  }
  struct {
    uint32_t *pointer;
    uint32_t count;
    uint32_t padding;
  } arguments = {data, COUNT, 0};
  const uint32_t grid[3] = {(COUNT + BLOCK - 1) / BLOCK, 1, 1};
  const uint32_t block[3] = {BLOCK, 1, 1};
  const uint32_t rsrc2 = 2 << 1 | 1 << 7; // two user SGPRs, workgroup id x

  if (gfx_map(data, sizeof data) != GFX_OK ||
      gfx_run("gfx1100", CODE, sizeof CODE, grid, block, &arguments, sizeof arguments, rsrc2, 0) != GFX_OK) {
    fprintf(stderr, "%s\n", gfx_last_error());
    return 1;
  }
  gfx_unmap(data);
  for (uint32_t i = 0; i < COUNT; ++i) {
    if (data[i] != 10 * i + 1) {
      fprintf(stderr, "element %u is %u\n", i, data[i]);
      return 1;
    }
  }
  printf("%d elements, the last is %u\n", COUNT, data[COUNT - 1]);

  // Without the mapping the same launch stops at its first load, and says where.
  int status = gfx_run("gfx1100", CODE, sizeof CODE, grid, block, &arguments, sizeof arguments, rsrc2, 0);
  printf("%s: %s\n", status == GFX_FAULT ? "fault" : "no fault", gfx_last_error());
  return status == GFX_FAULT ? 0 : 1;
}
