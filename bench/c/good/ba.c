/* Reprojection and weight errors of bundle adjustment: LANES observations at a time, one in each lane. */
#include "bench.h"
#include "vector_math.h"

enum { LANES = 64, CAMERA = 11 };

/* sizes: p; args: cameras, points, weights, observations (camera and point), features */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0];
  const double *restrict cameras = args[0], *restrict points = args[1], *restrict weights = args[2],
                         *restrict features = args[4];
  const int64_t *restrict observations = args[3];
  double *restrict reprojection = out, *restrict weight = out + 2 * n;
  for (int64_t start = 0; start < n; start += LANES) {
    int count = n - start < LANES ? (int)(n - start) : LANES;
    double camera[CAMERA][LANES], p[3][LANES];
    for (int lane = 0; lane < LANES; lane++) {
      int64_t i = start + (lane < count ? lane : 0);
      const double *from = cameras + CAMERA * observations[2 * i], *point = points + 3 * observations[2 * i + 1];
      for (int j = 0; j < CAMERA; j++) camera[j][lane] = from[j];
      for (int j = 0; j < 3; j++) p[j][lane] = point[j] - from[3 + j];
    }
    /* Loops of their own: gcc makes one call of a sine and a cosine of the same angle, which has no vector version. */
    double angle[LANES], cosine[LANES], sine[LANES], image[2][LANES];
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) {
      double a = camera[0][lane], b = camera[1][lane], c = camera[2][lane];
      angle[lane] = sqrt(a * a + b * b + c * c);
    }
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) cosine[lane] = cos(angle[lane]);
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) sine[lane] = sin(angle[lane]);
#pragma omp simd
    for (int lane = 0; lane < LANES; lane++) {
      double a = camera[0][lane], b = camera[1][lane], c = camera[2][lane];
      double x = p[0][lane], y = p[1][lane], z = p[2][lane];
      /* Without an angle the axis is left as it is: p + rotation × p. */
      double still = angle[lane] == 0, scale = 1 / (angle[lane] + still), co = cosine[lane], si = sine[lane] + still;
      a *= scale, b *= scale, c *= scale;
      double along = (a * x + b * y + c * z) * (1 - co);
      double px = co * x + si * (b * z - c * y) + along * a;
      double py = co * y + si * (c * x - a * z) + along * b;
      double pz = co * z + si * (a * y - b * x) + along * c;
      double u = px / pz, v = py / pz, r_sq = u * u + v * v;
      double factor = 1 + camera[9][lane] * r_sq + camera[10][lane] * r_sq * r_sq;
      image[0][lane] = camera[6][lane] * (factor * u) + camera[7][lane];
      image[1][lane] = camera[6][lane] * (factor * v) + camera[8][lane];
    }
#pragma omp simd
    for (int lane = 0; lane < count; lane++) {
      double w = weights[start + lane];
      reprojection[2 * (start + lane)] = w * (image[0][lane] - features[2 * (start + lane)]);
      reprojection[2 * (start + lane) + 1] = w * (image[1][lane] - features[2 * (start + lane) + 1]);
      weight[start + lane] = 1 - w * w;
    }
  }
}
