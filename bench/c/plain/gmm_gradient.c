/* The gradient of the log posterior of a Gaussian mixture (gmm.c): the derivatives of each point's likelihood, by hand,
 * from the results back to what is fitted. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What each term has to do with the log of the sum of the exponentials. */
static void softmax(int64_t n, const double *x, double *share) {
  double top = x[0];
  for (int64_t i = 1; i < n; i++)
    if (x[i] > top) top = x[i];
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += share[i] = exp(x[i] - top);
  for (int64_t i = 0; i < n; i++) share[i] /= sum;
}

/* sizes: n, d, k; args: alpha, mu, q, l, x, gamma, m; the result: of alpha, l, mu, q */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], d = sizes[1], k = sizes[2], t = d * (d - 1) / 2;
  const double *alpha = args[0], *mu = args[1], *q = args[2], *l = args[3], *x = args[4];
  double gamma = *(const double *)args[5];
  int64_t m = *(const int64_t *)args[6];
  double *alpha_bar = out, *l_bar = alpha_bar + k, *mu_bar = l_bar + k * t, *q_bar = mu_bar + k * d;
  memset(out, 0, (k + 2 * k * d + k * t) * sizeof(double));

  double *diagonal = malloc(k * d * sizeof(double));
  double *diagonal_bar = calloc(k * d, sizeof(double));
  double *weight = malloc(k * sizeof(double));
  double *weight_bar = calloc(k, sizeof(double));
  double *term = malloc(k * sizeof(double));
  double *share = malloc(k * sizeof(double));
  double *centred = malloc(k * d * sizeof(double));
  double *product = malloc(k * d * sizeof(double));
  double *centred_bar = malloc(d * sizeof(double));

  for (int64_t c = 0; c < k; c++) {
    weight[c] = alpha[c];
    for (int64_t i = 0; i < d; i++) {
      diagonal[c * d + i] = exp(q[c * d + i]);
      weight[c] += q[c * d + i];
    }
  }

  for (int64_t p = 0; p < n; p++) {
    for (int64_t c = 0; c < k; c++) {
      double *y = centred + c * d, *z = product + c * d;
      for (int64_t i = 0; i < d; i++) {
        y[i] = x[p * d + i] - mu[c * d + i];
        z[i] = diagonal[c * d + i] * y[i];
      }
      const double *element = l + c * t;
      for (int64_t j = 0; j < d; j++)
        for (int64_t i = j + 1; i < d; i++) z[i] += *element++ * y[j];
      double norm = 0;
      for (int64_t i = 0; i < d; i++) norm += z[i] * z[i];
      term[c] = weight[c] - 0.5 * norm;
    }
    softmax(k, term, share);
    for (int64_t c = 0; c < k; c++) {
      double *y = centred + c * d, *z_bar = product + c * d;
      weight_bar[c] += share[c];
      for (int64_t i = 0; i < d; i++) {
        z_bar[i] *= -share[c];
        centred_bar[i] = diagonal[c * d + i] * z_bar[i];
        diagonal_bar[c * d + i] += y[i] * z_bar[i];
      }
      const double *element = l + c * t;
      double *element_bar = l_bar + c * t;
      for (int64_t j = 0; j < d; j++)
        for (int64_t i = j + 1; i < d; i++) {
          centred_bar[j] += *element++ * z_bar[i];
          *element_bar++ += y[j] * z_bar[i];
        }
      for (int64_t i = 0; i < d; i++) mu_bar[c * d + i] -= centred_bar[i];
    }
  }

  softmax(k, alpha, share);
  for (int64_t c = 0; c < k; c++) {
    alpha_bar[c] = weight_bar[c] - n * share[c];
    for (int64_t i = 0; i < d; i++) {
      double e = diagonal[c * d + i];
      q_bar[c * d + i] = weight_bar[c] + m + e * (diagonal_bar[c * d + i] - gamma * gamma * e);
    }
    for (int64_t i = 0; i < t; i++) l_bar[c * t + i] -= gamma * gamma * l[c * t + i];
  }
  free(diagonal);
  free(diagonal_bar);
  free(weight);
  free(weight_bar);
  free(term);
  free(share);
  free(centred);
  free(product);
  free(centred_bar);
}
