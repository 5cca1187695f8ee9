/* The inner product of two vectors. */
#include "bench.h"

/* sizes: n; args: x, y */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  const double *x = args[0], *y = args[1];
  double sum = 0;
  for (int64_t i = 0; i < sizes[0]; i++) sum += x[i] * y[i];
  *out = sum;
}
