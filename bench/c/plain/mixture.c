/* The log likelihood of a mixture of Gaussians with independent coordinates. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>

static double log_sum_exp(int64_t n, const double *x) {
  double top = x[0];
  for (int64_t i = 1; i < n; i++)
    if (x[i] > top) top = x[i];
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += exp(x[i] - top);
  return top + log(sum);
}

/* sizes: n, d, k; args: x, alpha, mu, r */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], d = sizes[1], k = sizes[2];
  const double *x = args[0], *alpha = args[1], *mu = args[2], *r = args[3];
  double *weight = malloc(k * sizeof(double)), *term = malloc(k * sizeof(double));
  for (int64_t j = 0; j < k; j++) {
    weight[j] = alpha[j];
    for (int64_t i = 0; i < d; i++) weight[j] += log(r[j * d + i]);
  }
  double total = 0;
  for (int64_t p = 0; p < n; p++) {
    for (int64_t j = 0; j < k; j++) {
      double sum = 0;
      for (int64_t i = 0; i < d; i++) {
        double scaled = r[j * d + i] * (x[p * d + i] - mu[j * d + i]);
        sum += scaled * scaled;
      }
      term[j] = weight[j] - 0.5 * sum;
    }
    total += log_sum_exp(k, term);
  }
  *out = total - n * log_sum_exp(k, alpha);
  free(weight);
  free(term);
}
