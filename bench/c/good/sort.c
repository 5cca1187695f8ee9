/* Sorting by the digits of the numbers' bits, the last first: six passes of eleven bits. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

enum { BITS = 11, PASSES = 6, DIGITS = 1 << BITS };

/* sizes: n; args: x */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0];
  uint64_t *from = malloc(n * sizeof(uint64_t)), *to = malloc(n * sizeof(uint64_t));
  static int64_t counts[PASSES][DIGITS];
  memset(counts, 0, sizeof counts);
  memcpy(from, args[0], n * sizeof(uint64_t));
  for (int64_t i = 0; i < n; i++) {
    /* The order of these bits is that of the numbers: all are turned round if negative, the sign else. */
    uint64_t bits = from[i] ^ ((uint64_t)((int64_t)from[i] >> 63) | (uint64_t)1 << 63);
    from[i] = bits;
    for (int pass = 0; pass < PASSES; pass++) counts[pass][(bits >> (BITS * pass)) & (DIGITS - 1)]++;
  }
  for (int pass = 0; pass < PASSES; pass++) {
    int64_t place = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
      int64_t count = counts[pass][digit];
      counts[pass][digit] = place;
      place += count;
    }
    for (int64_t i = 0; i < n; i++) to[counts[pass][(from[i] >> (BITS * pass)) & (DIGITS - 1)]++] = from[i];
    uint64_t *other = from;
    from = to;
    to = other;
  }
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = from[i] ^ (((from[i] >> 63) - 1) | (uint64_t)1 << 63);
    memcpy(out + i, &bits, sizeof bits);
  }
  free(from);
  free(to);
}
