/* A chain of differential equations by the classical Runge-Kutta method: all four stages of a block in the cache. */
#include "bench.h"

enum { BLOCK = 512 };

/* sizes: n; args: x, s */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], s = *(const int64_t *)args[1];
  const double *restrict x = args[0];
  double *restrict y = out;
  double h = 2 / (double)s;
  for (int64_t i = 0; i < n; i++) y[i] = 0;
  /* Index 0 holds the number before the block: the equation of y[0] is that of the others with y[-1] = 1 there and no
   * slope. */
  double old[BLOCK + 1], k1[BLOCK + 1], k2[BLOCK + 1], k3[BLOCK + 1];
  for (int64_t t = 0; t < s; t++) {
    old[0] = 1;
    k1[0] = k2[0] = k3[0] = 0;
    for (int64_t start = 0; start < n; start += BLOCK) {
      int count = n - start < BLOCK ? (int)(n - start) : BLOCK;
      const double *at = x + start;
#pragma omp simd
      for (int i = 0; i < count; i++) old[i + 1] = y[start + i];
#pragma omp simd
      for (int i = 0; i < count; i++) k1[i + 1] = at[i] * old[i];
#pragma omp simd
      for (int i = 0; i < count; i++) k2[i + 1] = at[i] * (old[i] + 0.5 * h * k1[i]);
#pragma omp simd
      for (int i = 0; i < count; i++) k3[i + 1] = at[i] * (old[i] + 0.5 * h * k2[i]);
#pragma omp simd
      for (int i = 0; i < count; i++) {
        double k4 = at[i] * (old[i] + h * k3[i]);
        y[start + i] = old[i + 1] + h / 6 * (k1[i + 1] + 2 * k2[i + 1] + 2 * k3[i + 1] + k4);
      }
      old[0] = old[count];
      k1[0] = k1[count];
      k2[0] = k2[count];
      k3[0] = k3[count];
    }
  }
}
