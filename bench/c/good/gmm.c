/* The log posterior of a Gaussian mixture: LANES points at a time, one in each lane. */
#include "bench.h"
#include "vector_math.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 32 };

static double log_gamma(int64_t d, double a) {
  double result = 0.25 * d * (d - 1) * log(M_PI);
  for (int64_t j = 0; j < d; j++) result += lgamma(a - 0.5 * j);
  return result;
}

/* The squared norm of Q (x - mu) for each lane. `factor` has the rows of Q, the diagonal last in each. */
static void norms(int64_t d, const double *restrict factor, const double *restrict mu,
                  const double (*restrict x)[LANES], double (*restrict centred)[LANES], double *restrict norm) {
  for (int64_t i = 0; i < d; i++)
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) centred[i][lane] = x[i][lane] - mu[i];
  double total[LANES] = {0};
  for (int64_t i = 0; i < d; i++) {
    double sum[LANES] = {0};
    for (int64_t j = 0; j <= i; j++) {
      double element = *factor++;
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) sum[lane] += element * centred[j][lane];
    }
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) total[lane] += sum[lane] * sum[lane];
  }
  memcpy(norm, total, sizeof total);
}

/* sizes: n, d, k; args: alpha, mu, q, l, x, gamma, m */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], d = sizes[1], k = sizes[2], t = d * (d - 1) / 2, size = d * (d + 1) / 2;
  const double *alpha = args[0], *mu = args[1], *q = args[2], *l = args[3], *x = args[4];
  double gamma = *(const double *)args[5];
  int64_t m = *(const int64_t *)args[6];
  double *factors = malloc(k * size * sizeof(double)), *sum_q = malloc(k * sizeof(double));
  double(*block)[LANES] = aligned_alloc(64, d * sizeof *block);
  double(*centred)[LANES] = aligned_alloc(64, d * sizeof *centred);
  double(*term)[LANES] = aligned_alloc(64, k * sizeof *term);

  double frobenius = 0, all_q = 0;
  for (int64_t c = 0; c < k; c++) {
    double *element = factors + c * size;
    sum_q[c] = 0;
    for (int64_t i = 0; i < d; i++) {
      for (int64_t j = 0; j < i; j++) *element++ = l[c * t + j * (2 * d - j - 1) / 2 + i - j - 1];
      *element++ = exp(q[c * d + i]);
      sum_q[c] += q[c * d + i];
    }
    all_q += sum_q[c];
  }
#pragma omp simd reduction(+ : frobenius)
  for (int64_t i = 0; i < k * size; i++) frobenius += factors[i] * factors[i];

  double likelihood = 0;
  for (int64_t p = 0; p < n; p += LANES) {
    int64_t count = n - p < LANES ? n - p : LANES;
    for (int64_t lane = 0; lane < LANES; lane++) {
      const double *point = x + (p + (lane < count ? lane : 0)) * d;
      for (int64_t i = 0; i < d; i++) block[i][lane] = point[i];
    }
    double top[LANES], sum[LANES] = {0};
    for (int lane = 0; lane < LANES; lane++) top[lane] = -INFINITY;
    for (int64_t c = 0; c < k; c++) {
      norms(d, factors + c * size, mu + c * d, block, centred, term[c]);
      double weight = alpha[c] + sum_q[c];
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) {
        double value = weight - 0.5 * term[c][lane];
        term[c][lane] = value;
        top[lane] = value > top[lane] ? value : top[lane];
      }
    }
    for (int64_t c = 0; c < k; c++)
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) sum[lane] += exp(term[c][lane] - top[lane]);
    for (int64_t lane = 0; lane < count; lane++) likelihood += top[lane] + log(sum[lane]);
  }

  double dof = d + m + 1;
  double prior = k * (dof * d * log(gamma / sqrt(2)) - log_gamma(d, 0.5 * dof)) - 0.5 * gamma * gamma * frobenius +
                 m * all_q;
  *out = -n * (0.5 * d * log(2 * M_PI) + log_sum_exp(k, alpha)) + likelihood + prior;
  free(factors);
  free(sum_q);
  free(block);
  free(centred);
  free(term);
}
