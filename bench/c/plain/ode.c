/* A chain of differential equations by the classical Runge-Kutta method. */
#include "bench.h"
#include <stdlib.h>

static void slope(int64_t n, const double *x, const double *y, double *out) {
  out[0] = x[0];
  for (int64_t i = 1; i < n; i++) out[i] = x[i] * y[i - 1];
}

/* out = y + h * k */
static void step(int64_t n, const double *y, double h, const double *k, double *out) {
  for (int64_t i = 0; i < n; i++) out[i] = y[i] + h * k[i];
}

/* sizes: n; args: x, s */
void bench(const int64_t *sizes, const void *const *args, double *y) {
  int64_t n = sizes[0], s = *(const int64_t *)args[1];
  const double *x = args[0];
  double h = 2 / (double)s;
  double *k1 = malloc(n * sizeof(double)), *k2 = malloc(n * sizeof(double)), *k3 = malloc(n * sizeof(double)),
         *k4 = malloc(n * sizeof(double)), *at = malloc(n * sizeof(double));
  for (int64_t i = 0; i < n; i++) y[i] = 0;
  for (int64_t t = 0; t < s; t++) {
    slope(n, x, y, k1);
    step(n, y, 0.5 * h, k1, at);
    slope(n, x, at, k2);
    step(n, y, 0.5 * h, k2, at);
    slope(n, x, at, k3);
    step(n, y, h, k3, at);
    slope(n, x, at, k4);
    for (int64_t i = 0; i < n; i++) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  }
  free(k1);
  free(k2);
  free(k3);
  free(k4);
  free(at);
}
