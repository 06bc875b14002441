// What the C interface promises, from C. Prints the first broken promise and ends with 1.

#include "rocm_soft.h"

#include <stdio.h>
#include <string.h>

static const char *last = "";

#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("line %d: %s; last error: %s\n", __LINE__, #condition, last);                                             \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

static const uint32_t ONE[3] = {1, 1, 1};
static const uint32_t END[] = {0xbf810000}; // s_endpgm of gfx9

// gfx942: a value that went through LDS and the workgroup ids x and y, stored to an array.
static const uint32_t STORE[] = {
    0xc0060100, 0x00000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
    0x7e0202c0,             // v_mov_b32_e32 v1, 64
    0xd81a0004, 0x00000001, // ds_write_b32 v1, v0 offset:4
    0xd86c0004, 0x02000001, // ds_read_b32 v2, v1 offset:4
    0xbf8c0000,             // s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
    0x7e060202,             // v_mov_b32_e32 v3, s2
    0x7e080203,             // v_mov_b32_e32 v4, s3
    0x7e0a0280,             // v_mov_b32_e32 v5, 0
    0xdc788000, 0x00040205, // global_store_dwordx3 v5, v[2:4], s[4:5]
    0xbf810000,             // s_endpgm
};

static int run(const void *code, size_t len, const uint32_t *grid, const uint32_t *block, const void *kernarg, size_t size,
               uint32_t rsrc2) {
  int status = gfx_run("gfx942", code, len, grid, block, kernarg, size, rsrc2, 0);
  last = gfx_last_error();
  return status;
}

int main(void) {
  // Arguments that cannot be.
  EXPECT(run(END, sizeof END, ONE, ONE, NULL, 0, 4) == GFX_OK && strcmp(last, "no error") == 0);
  EXPECT(run(NULL, 4, ONE, ONE, NULL, 0, 4) == GFX_INVALID_ARGUMENT);
  EXPECT(run(END, sizeof END, NULL, ONE, NULL, 0, 4) == GFX_INVALID_ARGUMENT && strstr(last, "grid"));
  EXPECT(run(END, sizeof END, ONE, ONE, NULL, 8, 4) == GFX_INVALID_ARGUMENT && strstr(last, "kernarg"));
  EXPECT(gfx_run("gfx9", END, sizeof END, ONE, ONE, NULL, 0, 4, 0) == GFX_INVALID_ARGUMENT);
  EXPECT(strstr(gfx_last_error(), "gfx9") && strstr(gfx_last_error(), "gfx1100"));
  EXPECT(gfx_run(NULL, END, sizeof END, ONE, ONE, NULL, 0, 4, 0) == GFX_INVALID_ARGUMENT);

  // What is not executed.
  const uint32_t none[3] = {0, 1, 1}, many[3] = {1025, 1, 1};
  EXPECT(run(END, 0, ONE, ONE, NULL, 0, 4) == GFX_REFUSED);
  EXPECT(run(END, 3, ONE, ONE, NULL, 0, 4) == GFX_REFUSED);
  EXPECT(run(END, sizeof END, none, ONE, NULL, 0, 4) == GFX_REFUSED);
  EXPECT(run(END, sizeof END, ONE, many, NULL, 0, 4) == GFX_REFUSED && strstr(last, "1024"));
  EXPECT(run(END, sizeof END, ONE, ONE, NULL, 0, 0) == GFX_REFUSED && strstr(last, "user SGPRs"));
  const uint32_t unknown[] = {0xffffffff};
  EXPECT(run(unknown, sizeof unknown, ONE, ONE, NULL, 0, 4) == GFX_REFUSED && strstr(last, "ffffffff"));

  // Buffers: unaligned, empty, twice, not mapped.
  static uint64_t out[512];
  EXPECT(gfx_map((char *)out + 4, 8) == GFX_INVALID_ARGUMENT);
  EXPECT(gfx_map(out, 0) == GFX_INVALID_ARGUMENT);
  EXPECT(gfx_map(NULL, 8) == GFX_INVALID_ARGUMENT);
  EXPECT(gfx_map(out, 16) == GFX_OK);
  EXPECT(gfx_map(out, 8) == GFX_INVALID_ARGUMENT && strstr(gfx_last_error(), "overlap"));
  EXPECT(gfx_map(out + 1, 8) == GFX_INVALID_ARGUMENT);
  EXPECT(gfx_unmap(out + 1) == GFX_INVALID_ARGUMENT);

  // Two user SGPRs, then the ids x and y; one block of LDS.
  uint32_t words[4] = {7, 7, 7, 7};
  memcpy(out, words, sizeof words);
  const void *kernarg[1] = {out};
  const uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}; // one work-item in all
  const uint32_t ids = 2 << 1 | 1 << 7 | 1 << 8;
  EXPECT(run(STORE, sizeof STORE, grid, block, kernarg, sizeof kernarg, ids | 1 << 15) == GFX_OK);
  memcpy(words, out, sizeof words);
  EXPECT(words[0] == 0 && words[1] == 0 && words[2] == 0 && words[3] == 7);

  // Without LDS the store into it is a fault, and the buffer keeps its content.
  EXPECT(run(STORE, sizeof STORE, grid, block, kernarg, sizeof kernarg, ids) == GFX_FAULT && strstr(last, "LDS"));
  // Of several workgroups one stored last.
  const uint32_t four[3] = {2, 2, 1};
  EXPECT(run(STORE, sizeof STORE, four, block, kernarg, sizeof kernarg, ids | 1 << 15) == GFX_OK);
  memcpy(words, out, sizeof words);
  EXPECT(words[1] < 2 && words[2] < 2 && words[3] == 7);

  // Codes that ran are kept: each runs as itself, more of them than are kept, and again. Here v3 is a number in the place of s2.
  uint32_t changed[sizeof STORE / sizeof *STORE];
  memcpy(changed, STORE, sizeof STORE);
  for (uint32_t i = 0; i < 60; ++i) {
    changed[8] = 0x7e060280 + i % 20; // v_mov_b32_e32 v3, i % 20
    EXPECT(run(changed, sizeof changed, ONE, ONE, kernarg, sizeof kernarg, ids | 1 << 15) == GFX_OK);
    memcpy(words, out, sizeof words);
    EXPECT(words[1] == i % 20);
  }

  // A mapping that is too short: the fault names it; one that has ended is not there.
  EXPECT(gfx_unmap(out) == GFX_OK && gfx_map(out, 8) == GFX_OK);
  EXPECT(run(STORE, sizeof STORE, grid, block, kernarg, sizeof kernarg, ids | 1 << 15) == GFX_FAULT);
  EXPECT(strstr(last, "global_store_dwordx3") && strstr(last, "8 bytes inside"));
  EXPECT(gfx_unmap(out) == GFX_OK && gfx_unmap(out) == GFX_INVALID_ARGUMENT);
  EXPECT(run(STORE, sizeof STORE, grid, block, kernarg, sizeof kernarg, ids | 1 << 15) == GFX_FAULT);

  // A buffer that is only read may be read-only.
  static const uint64_t fixed[64] = {1};
  EXPECT(gfx_map((void *)fixed, sizeof fixed) == GFX_OK);
  EXPECT(run(END, sizeof END, ONE, ONE, NULL, 0, 4) == GFX_OK);
  EXPECT(gfx_unmap((void *)fixed) == GFX_OK);
  printf("kept\n");
  return 0;
}
