/* The gradient of the log posterior of a Gaussian mixture: LANES points at a time, one in each lane. */
#include "bench.h"
#include "vector_math.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 32 };
typedef double lanes[LANES];

static inline double dot(const double *restrict a, const double *restrict b) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int lane = 0; lane < LANES; lane++) sum += a[lane] * b[lane];
  return sum;
}

/* Q (x - mu) for each lane. `factor` has the rows of Q, the diagonal last in each. */
static void products(int64_t d, const double *restrict factor, const double *restrict mu, const lanes *restrict x,
                     lanes *restrict centred, lanes *restrict product) {
  for (int64_t i = 0; i < d; i++)
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) centred[i][lane] = x[i][lane] - mu[i];
  for (int64_t i = 0; i < d; i++) {
    lanes sum = {0};
    for (int64_t j = 0; j <= i; j++) {
      double element = *factor++;
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) sum[lane] += element * centred[j][lane];
    }
    memcpy(product[i], sum, sizeof sum);
  }
}

/* sizes: n, d, k; args: alpha, mu, q, l, x, gamma, m; the result: of alpha, l, mu, q */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], d = sizes[1], k = sizes[2], t = d * (d - 1) / 2, size = d * (d + 1) / 2;
  const double *alpha = args[0], *mu = args[1], *q = args[2], *l = args[3], *x = args[4];
  double gamma = *(const double *)args[5];
  int64_t m = *(const int64_t *)args[6];
  double *alpha_bar = out, *l_bar = alpha_bar + k, *mu_bar = l_bar + k * t, *q_bar = mu_bar + k * d;
  double *factors = malloc(k * size * sizeof(double)), *factors_bar = calloc(k * size, sizeof(double));
  double *weight = malloc(k * sizeof(double)), *weight_bar = calloc(k, sizeof(double));
  lanes *block = aligned_alloc(64, d * sizeof *block), *term = aligned_alloc(64, k * sizeof *term);
  lanes *centred = aligned_alloc(64, d * sizeof *centred), *product = aligned_alloc(64, d * sizeof *product);
  lanes *centred_bar = aligned_alloc(64, d * sizeof *centred_bar);
  memset(mu_bar, 0, k * d * sizeof(double));

  for (int64_t c = 0; c < k; c++) {
    double *element = factors + c * size;
    weight[c] = alpha[c];
    for (int64_t i = 0; i < d; i++) {
      for (int64_t j = 0; j < i; j++) *element++ = l[c * t + j * (2 * d - j - 1) / 2 + i - j - 1];
      *element++ = exp(q[c * d + i]);
      weight[c] += q[c * d + i];
    }
  }

  for (int64_t first = 0; first < n; first += LANES) {
    for (int64_t i = 0; i < d; i++)
      for (int lane = 0; lane < LANES; lane++) block[i][lane] = first + lane < n ? x[(first + lane) * d + i] : 0;
    for (int64_t c = 0; c < k; c++) {
      products(d, factors + c * size, mu + c * d, block, centred, product);
      lanes norm = {0};
      for (int64_t i = 0; i < d; i++)
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++) norm[lane] += product[i][lane] * product[i][lane];
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) term[c][lane] = weight[c] - 0.5 * norm[lane];
    }
    lanes top, sum = {0};
    memcpy(top, term[0], sizeof top);
    for (int64_t c = 1; c < k; c++)
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) top[lane] = term[c][lane] > top[lane] ? term[c][lane] : top[lane];
    for (int64_t c = 0; c < k; c++)
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) sum[lane] += term[c][lane] = exp(term[c][lane] - top[lane]);
    for (int64_t c = 0; c < k; c++) {
      lanes share;
      double all = 0;
#pragma omp simd reduction(+ : all)
      for (int lane = 0; lane < LANES; lane++) {
        share[lane] = first + lane < n ? term[c][lane] / sum[lane] : 0;
        all += share[lane];
      }
      weight_bar[c] += all;
      /* To keep the products of all components takes more time than to compute them again. */
      products(d, factors + c * size, mu + c * d, block, centred, product);
      memset(centred_bar, 0, d * sizeof *centred_bar);
      const double *element = factors + c * size;
      double *element_bar = factors_bar + c * size;
      for (int64_t i = 0; i < d; i++) {
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++) product[i][lane] *= -share[lane];
        for (int64_t j = 0; j <= i; j++) {
          *element_bar++ += dot(centred[j], product[i]);
#pragma omp simd
          for (int lane = 0; lane < LANES; lane++) centred_bar[j][lane] += *element * product[i][lane];
          element++;
        }
      }
      for (int64_t i = 0; i < d; i++) {
        double all = 0;
#pragma omp simd reduction(+ : all)
        for (int lane = 0; lane < LANES; lane++) all += centred_bar[i][lane];
        mu_bar[c * d + i] -= all;
      }
    }
  }

  double top = alpha[0], sum = 0;
  for (int64_t c = 1; c < k; c++) top = alpha[c] > top ? alpha[c] : top;
  for (int64_t c = 0; c < k; c++) sum += exp(alpha[c] - top);
  for (int64_t c = 0; c < k; c++) {
    alpha_bar[c] = weight_bar[c] - n * exp(alpha[c] - top) / sum;
    const double *element = factors + c * size, *element_bar = factors_bar + c * size;
    for (int64_t i = 0; i < d; i++) {
      for (int64_t j = 0; j < i; j++)
        l_bar[c * t + j * (2 * d - j - 1) / 2 + i - j - 1] = *element_bar++ - gamma * gamma * *element++;
      double e = *element++;
      q_bar[c * d + i] = weight_bar[c] + m + e * (*element_bar++ - gamma * gamma * e);
    }
  }
  free(factors);
  free(factors_bar);
  free(weight);
  free(weight_bar);
  free(block);
  free(term);
  free(centred);
  free(product);
  free(centred_bar);
}
