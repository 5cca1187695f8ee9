/* The determinant by expansion along the first row: only the columns that are left are looked at, and the last row ends
 * the recursion. */
#include "bench.h"

/* The determinant of the rows from `row` on and the columns in the set `left`. */
static double minor(int64_t n, const double *restrict row, uint64_t left) {
  double total = 0, sign = 1;
  for (uint64_t rest = left; rest; rest &= rest - 1, sign = -sign) {
    uint64_t column = rest & -rest;
    double element = row[__builtin_ctzll(rest)];
    if (left == column) return element;
    total += sign * element * minor(n, row + n, left ^ column);
  }
  return total;
}

/* sizes: n (below 64); args: a */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0];
  *out = n == 0 ? 1 : minor(n, args[0], ((uint64_t)1 << n) - 1);
}
