/* A matrix times a vector. */
#include "bench.h"

/* sizes: n, m; args: a, x */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], m = sizes[1];
  const double *a = args[0], *x = args[1];
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < m; j++) sum += a[i * m + j] * x[j];
    out[i] = sum;
  }
}
