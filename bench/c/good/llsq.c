/* Least squares: a polynomial against the sign function, LANES points at a time. */
#include "bench.h"

enum { LANES = 32 };

/* sizes: m; args: x, n */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t m = sizes[0], n = *(const int64_t *)args[1];
  const double *restrict x = args[0];
  double sum = 0;
  for (int64_t start = 0; start < n; start += LANES) {
    int count = n - start < LANES ? (int)(n - start) : LANES;
    double t[LANES], residual[LANES], power[LANES];
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) {
      t[lane] = -1 + 2 * (double)(start + lane) / (double)(n - 1);
      residual[lane] = t[lane] > 0 ? 1 : t[lane] < 0 ? -1 : 0;
      power[lane] = 1;
    }
    for (int64_t j = 0; j < m; j++) {
      double coefficient = x[j];
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) {
        residual[lane] -= coefficient * power[lane];
        power[lane] *= t[lane];
      }
    }
    for (int lane = 0; lane < count; lane++) sum += residual[lane] * residual[lane];
  }
  *out = 0.5 * sum;
}
