/* The cost of a clustering: the centroids in the lanes. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>

enum { LANES = 8, TILE = 4 };

/* sizes: n, k, d; args: points, centroids */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], k = sizes[1], d = sizes[2], blocks = (k + LANES - 1) / LANES;
  const double *restrict points = args[0], *restrict centroids = args[1];
  double(*restrict lanes)[LANES] = aligned_alloc(64, blocks * d * sizeof *lanes);
  for (int64_t block = 0; block < blocks; block++)
    for (int64_t j = 0; j < d; j++)
      for (int64_t lane = 0; lane < LANES; lane++) {
        int64_t c = block * LANES + lane;
        lanes[block * d + j][lane] = centroids[(c < k ? c : 0) * d + j];
      }
  double cost = 0;
  /* TILE points at a time: a vector of centroids is read once for all of them. */
  for (int64_t start = 0; start < n; start += TILE) {
    const double *tile[TILE];
    double nearest[TILE][LANES];
    for (int p = 0; p < TILE; p++) {
      tile[p] = points + (start + p < n ? start + p : 0) * d;
      for (int lane = 0; lane < LANES; lane++) nearest[p][lane] = INFINITY;
    }
    for (int64_t block = 0; block < blocks; block++) {
      double distance[TILE][LANES] = {{0}};
      for (int64_t j = 0; j < d; j++)
        for (int p = 0; p < TILE; p++)
#pragma omp simd
          for (int lane = 0; lane < LANES; lane++) {
            double difference = tile[p][j] - lanes[block * d + j][lane];
            distance[p][lane] += difference * difference;
          }
      for (int p = 0; p < TILE; p++)
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++)
          nearest[p][lane] = distance[p][lane] < nearest[p][lane] ? distance[p][lane] : nearest[p][lane];
    }
    for (int p = 0; p < TILE && start + p < n; p++) {
      double best = INFINITY;
      for (int lane = 0; lane < LANES; lane++) best = nearest[p][lane] < best ? nearest[p][lane] : best;
      cost += best;
    }
  }
  *out = cost;
  free(lanes);
}
