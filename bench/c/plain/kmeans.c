/* The cost of a clustering. */
#include "bench.h"
#include <math.h>

/* sizes: n, k, d; args: points, centroids */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], k = sizes[1], d = sizes[2];
  const double *points = args[0], *centroids = args[1];
  double cost = 0;
  for (int64_t i = 0; i < n; i++) {
    double nearest = INFINITY;
    for (int64_t c = 0; c < k; c++) {
      double distance = 0;
      for (int64_t j = 0; j < d; j++) {
        double difference = points[i * d + j] - centroids[c * d + j];
        distance += difference * difference;
      }
      if (distance < nearest) nearest = distance;
    }
    cost += nearest;
  }
  *out = cost;
}
