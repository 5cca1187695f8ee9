/* The determinant by expansion along the first row. */
#include "bench.h"

/* The determinant of the rows from `row` on, without the columns in the set `taken`. */
static double minor(int64_t n, const double *a, int64_t row, uint64_t taken) {
  if (row == n) return 1;
  double total = 0, sign = 1;
  for (int64_t j = 0; j < n; j++) {
    uint64_t column = (uint64_t)1 << j;
    if (taken & column) continue;
    total += sign * a[row * n + j] * minor(n, a, row + 1, taken | column);
    sign = -sign;
  }
  return total;
}

/* sizes: n; args: a */
void bench(const int64_t *sizes, const void *const *args, double *out) { *out = minor(sizes[0], args[0], 0, 0); }
