/* The gradient of least squares: LANES points at a time, whose sums stay apart until the end. */
#include "bench.h"
#include <stdlib.h>

enum { LANES = 32, SUMS = 8 };

/* sizes: m; args: x, n; the result: of x */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t m = sizes[0], n = *(const int64_t *)args[1];
  const double *restrict x = args[0];
  double (*restrict sums)[SUMS] = calloc(m, sizeof *sums);
  for (int64_t start = 0; start < n; start += LANES) {
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
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) power[lane] = start + lane < n ? residual[lane] : 0;
    for (int64_t j = 0; j < m; j++) {
      double *restrict sum = sums[j];
      for (int part = 0; part < LANES; part += SUMS)
#pragma omp simd
        for (int lane = 0; lane < SUMS; lane++) sum[lane] += power[part + lane];
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) power[lane] *= t[lane];
    }
  }
  for (int64_t j = 0; j < m; j++) {
    double sum = 0;
    for (int lane = 0; lane < SUMS; lane++) sum += sums[j][lane];
    out[j] = -sum;
  }
  free(sums);
}
