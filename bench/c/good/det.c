/* The determinant by expansion along the first row. The columns that are left are a linked list, so that none is looked
 * at in vain, and two rows are done at once. */
#include "bench.h"

/* `next[j]` is the column after j, `next[n]` the first. */
static double minor(int64_t n, const double *restrict a, int64_t left, int8_t *restrict next) {
  const double *row = a + (n - left) * n;
  if (left == 2) {
    int8_t i = next[n], j = next[i];
    return row[i] * row[n + j] - row[j] * row[n + i];
  }
  double total = 0, sign = 1;
  for (int8_t before = (int8_t)n, j = next[n]; j < n; before = j, j = next[j]) {
    next[before] = next[j];
    total += sign * row[j] * minor(n, a, left - 1, next);
    next[before] = j;
    sign = -sign;
  }
  return total;
}

/* sizes: n (below 64); args: a */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0];
  const double *a = args[0];
  int8_t next[65];
  next[n] = 0;
  for (int8_t j = 0; j < n; j++) next[j] = j + 1;
  *out = n == 0 ? 1 : n == 1 ? a[0] : minor(n, a, n, next);
}
