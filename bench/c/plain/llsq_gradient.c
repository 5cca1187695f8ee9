/* The gradient of least squares (llsq.c), by hand. */
#include "bench.h"
#include <string.h>

/* sizes: m; args: x, n; the result: of x */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t m = sizes[0], n = *(const int64_t *)args[1];
  const double *x = args[0];
  memset(out, 0, m * sizeof(double));
  for (int64_t i = 0; i < n; i++) {
    double t = -1 + 2 * (double)i / (double)(n - 1);
    double residual = (t > 0) - (t < 0);
    double power = 1;
    for (int64_t j = 0; j < m; j++) {
      residual -= x[j] * power;
      power *= t;
    }
    power = 1;
    for (int64_t j = 0; j < m; j++) {
      out[j] -= residual * power;
      power *= t;
    }
  }
}
