/* A matrix times a vector: rows side by side, so that their sums do not wait for one another. */
#include "bench.h"

/* sizes: n, m; args: a, x */
void bench(const int64_t *sizes, const void *const *args, double *restrict out) {
  int64_t n = sizes[0], m = sizes[1], i = 0;
  const double *restrict a = args[0], *restrict x = args[1];
  for (; i + 4 <= n; i += 4) {
    const double *restrict row = a + i * m;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (int64_t j = 0; j < m; j++) {
      s0 += row[j] * x[j];
      s1 += row[m + j] * x[j];
      s2 += row[2 * m + j] * x[j];
      s3 += row[3 * m + j] * x[j];
    }
    out[i] = s0;
    out[i + 1] = s1;
    out[i + 2] = s2;
    out[i + 3] = s3;
  }
  for (; i < n; i++) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < m; j++) sum += a[i * m + j] * x[j];
    out[i] = sum;
  }
}
