/* The gradient of the logarithm of the sum of exponentials, in vectors. */
#include "bench.h"
#include "vector_math.h"

/* sizes: n; args: x; the result: of x */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0];
  const double *restrict x = args[0];
  double *restrict y = out;
  double top = x[0], sum = 0;
#pragma omp simd reduction(max : top)
  for (int64_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += y[i] = exp(x[i] - top);
  double factor = 1 / sum;
#pragma omp simd
  for (int64_t i = 0; i < n; i++) y[i] *= factor;
}
