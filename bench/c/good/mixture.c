/* The log likelihood of a mixture of Gaussians with independent coordinates: LANES points at a time. */
#include "bench.h"
#include "vector_math.h"
#include <stdlib.h>

enum { LANES = 32 };

/* sizes: n, d, k; args: x, alpha, mu, r */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], d = sizes[1], k = sizes[2];
  const double *restrict x = args[0], *restrict alpha = args[1], *restrict mu = args[2], *restrict r = args[3];
  double *restrict weight = malloc(k * sizeof(double));
  double(*restrict block)[LANES] = aligned_alloc(64, d * sizeof *block);
  double(*restrict term)[LANES] = aligned_alloc(64, k * sizeof *term);
  for (int64_t j = 0; j < k; j++) {
    double sum = alpha[j];
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < d; i++) sum += log(r[j * d + i]);
    weight[j] = sum;
  }
  double total = 0;
  for (int64_t p = 0; p < n; p += LANES) {
    int64_t count = n - p < LANES ? n - p : LANES;
    for (int64_t lane = 0; lane < LANES; lane++) {
      const double *point = x + (p + (lane < count ? lane : 0)) * d;
      for (int64_t i = 0; i < d; i++) block[i][lane] = point[i];
    }
    double top[LANES], sum[LANES] = {0};
    for (int lane = 0; lane < LANES; lane++) top[lane] = -INFINITY;
    for (int64_t j = 0; j < k; j++) {
      double norm[LANES] = {0};
      for (int64_t i = 0; i < d; i++) {
        double scale = r[j * d + i], mean = mu[j * d + i];
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++) {
          double scaled = scale * (block[i][lane] - mean);
          norm[lane] += scaled * scaled;
        }
      }
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) {
        double value = weight[j] - 0.5 * norm[lane];
        term[j][lane] = value;
        top[lane] = value > top[lane] ? value : top[lane];
      }
    }
    for (int64_t j = 0; j < k; j++)
#pragma omp simd
      for (int lane = 0; lane < LANES; lane++) sum[lane] += exp(term[j][lane] - top[lane]);
    for (int64_t lane = 0; lane < count; lane++) total += top[lane] + log(sum[lane]);
  }
  *out = total - n * log_sum_exp(k, alpha);
  free(weight);
  free(block);
  free(term);
}
