/* The inner product of two vectors, in vectors. */
#include "bench.h"

/* sizes: n; args: x, y */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  const double *restrict x = args[0], *restrict y = args[1];
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < sizes[0]; i++) sum += x[i] * y[i];
  *out = sum;
}
