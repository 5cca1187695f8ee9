/* The log posterior of a Gaussian mixture with triangular factors of precision matrices and a Wishart prior. */
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

/* The logarithm of the multivariate gamma function. */
static double log_gamma(int64_t d, double a) {
  double result = 0.25 * d * (d - 1) * log(M_PI);
  for (int64_t j = 0; j < d; j++) result += lgamma(a - 0.5 * j);
  return result;
}

static double objective(int64_t n, int64_t d, int64_t k, const double *alpha, const double *mu, const double *q,
                        const double *l, const double *x, double gamma, int64_t m) {
  int64_t t = d * (d - 1) / 2;
  double *diagonal = malloc(k * d * sizeof(double));
  double *sum_q = malloc(k * sizeof(double));
  double *term = malloc(k * sizeof(double));
  double *centred = malloc(d * sizeof(double));
  double *product = malloc(d * sizeof(double));

  for (int64_t c = 0; c < k; c++) {
    sum_q[c] = 0;
    for (int64_t i = 0; i < d; i++) {
      diagonal[c * d + i] = exp(q[c * d + i]);
      sum_q[c] += q[c * d + i];
    }
  }

  double likelihood = 0;
  for (int64_t p = 0; p < n; p++) {
    for (int64_t c = 0; c < k; c++) {
      for (int64_t i = 0; i < d; i++) {
        centred[i] = x[p * d + i] - mu[c * d + i];
        product[i] = diagonal[c * d + i] * centred[i];
      }
      const double *element = l + c * t;
      for (int64_t j = 0; j < d; j++)
        for (int64_t i = j + 1; i < d; i++) product[i] += *element++ * centred[j];
      double norm = 0;
      for (int64_t i = 0; i < d; i++) norm += product[i] * product[i];
      term[c] = alpha[c] + sum_q[c] - 0.5 * norm;
    }
    likelihood += log_sum_exp(k, term);
  }

  double dof = d + m + 1;
  double prior = k * (dof * d * log(gamma / sqrt(2)) - log_gamma(d, 0.5 * dof));
  for (int64_t c = 0; c < k; c++) {
    double frobenius = 0;
    for (int64_t i = 0; i < d; i++) frobenius += diagonal[c * d + i] * diagonal[c * d + i];
    for (int64_t i = 0; i < t; i++) frobenius += l[c * t + i] * l[c * t + i];
    prior -= 0.5 * gamma * gamma * frobenius - m * sum_q[c];
  }

  double result = -n * (0.5 * d * log(2 * M_PI) + log_sum_exp(k, alpha)) + likelihood + prior;
  free(diagonal);
  free(sum_q);
  free(term);
  free(centred);
  free(product);
  return result;
}

/* sizes: n, d, k; args: alpha, mu, q, l, x, gamma, m */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  *out = objective(sizes[0], sizes[1], sizes[2], args[0], args[1], args[2], args[3], args[4],
                   *(const double *)args[5], *(const int64_t *)args[6]);
}
