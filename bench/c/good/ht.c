/* Distances of measured points from the surface of a posed hand. Only the vertices that are looked at are placed, by
 * the mean of their bones' transforms, which has four numbers in each row of a vector. */
#include "bench.h"
#include "vector_math.h"
#include <stdlib.h>
#include <string.h>

typedef double Matrix[16]; /* row-major */

static inline void multiply(const double *restrict a, const double *restrict b, double *restrict out) {
  for (int i = 0; i < 4; i++)
#pragma omp simd
    for (int j = 0; j < 4; j++)
      out[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j] + a[4 * i + 3] * b[12 + j];
}

static void rotation(const double *axis, double r[3][3]) {
  double angle = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  if (angle < 0.0001) {
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) r[i][j] = i == j;
    return;
  }
  double x = axis[0] / angle, y = axis[1] / angle, z = axis[2] / angle;
  double s = sin(angle), c = cos(angle), t = 1 - c;
  double matrix[3][3] = {{x * x + (1 - x * x) * c, x * y * t - z * s, x * z * t + y * s},
                         {x * y * t + z * s, y * y + (1 - y * y) * c, y * z * t - x * s},
                         {x * z * t - y * s, y * z * t + x * s, z * z + (1 - z * z) * c}};
  memcpy(r, matrix, sizeof matrix);
}

/* The bones' transforms; each bone turns about x, then z. */
static void transforms(int64_t bones, const double *theta, const int64_t *parents, const Matrix *relatives,
                       const Matrix *inverses, Matrix *restrict absolute, Matrix *restrict out) {
  for (int64_t b = 0; b < bones; b++) {
    int64_t finger = (b - 1) / 4, joint = (b - 1) % 4;
    const double *relative = relatives[b];
    Matrix moved;
    if (b != 0 && finger < 5 && joint != 0) {
      const double *angles = theta + 6 + 4 * finger;
      double x = joint == 1 ? angles[0] : angles[joint], z = joint == 1 ? angles[1] : 0;
      double cx = cos(x), sx = sin(x), cz = cos(z), sz = sin(z);
      Matrix turn = {cz, -sz * cx, sz * sx, 0, sz, cz * cx, -cz * sx, 0, 0, sx, cx, 0, 0, 0, 0, 1};
      multiply(relatives[b], turn, moved);
      relative = moved;
    }
    if (parents[b] < 0)
      memcpy(absolute[b], relative, sizeof(Matrix));
    else
      multiply(absolute[parents[b]], relative, absolute[b]);
    multiply(absolute[b], inverses[b], out[b]);
  }
}

/* sizes: points, bones, vertices, triangles, 1 if points are on triangles and 0 if they are on vertices;
 * args: theta, us, parents, base_relatives, inverse_base_absolutes, positions, weights, triangles, mirrored,
 * correspondences, points */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t n = sizes[0], bones = sizes[1], vertices = sizes[2];
  const double *theta = args[0], *restrict us = args[1], *restrict positions = args[5], *restrict weights = args[6],
               *restrict points = args[10];
  const int64_t *restrict triangles = args[7], *restrict correspondences = args[9];
  Matrix *absolute = malloc(bones * sizeof(Matrix)), *transform = malloc(bones * sizeof(Matrix));
  transforms(bones, theta, args[2], args[3], args[4], absolute, transform);

  char *needed = calloc(vertices, 1);
  for (int64_t i = 0; i < n; i++)
    if (sizes[4])
      for (int j = 0; j < 3; j++) needed[triangles[3 * correspondences[i] + j]] = 1;
    else
      needed[correspondences[i]] = 1;

  double r[3][3], sign = *(const int64_t *)args[8] ? -1 : 1;
  rotation(theta, r);
  double(*placed)[3] = malloc(vertices * sizeof *placed);
  for (int64_t v = 0; v < vertices; v++) {
    if (!needed[v]) continue;
    double blend[12] = {0};
    for (int64_t b = 0; b < bones; b++) {
      double w = weights[bones * v + b];
#pragma omp simd
      for (int i = 0; i < 12; i++) blend[i] += w * transform[b][i];
    }
    const double *at = positions + 4 * v;
    double p[3];
    for (int i = 0; i < 3; i++)
      p[i] = blend[4 * i] * at[0] + blend[4 * i + 1] * at[1] + blend[4 * i + 2] * at[2] + blend[4 * i + 3] * at[3];
    p[0] *= sign;
    for (int i = 0; i < 3; i++) placed[v][i] = r[i][0] * p[0] + r[i][1] * p[1] + r[i][2] * p[2] + theta[3 + i];
  }
  for (int64_t i = 0; i < n; i++) {
    if (sizes[4]) {
      const int64_t *corner = triangles + 3 * correspondences[i];
      const double *a = placed[corner[0]], *b = placed[corner[1]], *c = placed[corner[2]];
      double u = us[2 * i], v = us[2 * i + 1], w = 1 - u - v;
      for (int j = 0; j < 3; j++) out[3 * i + j] = points[3 * i + j] - (u * a[j] + v * b[j] + w * c[j]);
    } else {
      const double *at = placed[correspondences[i]];
      for (int j = 0; j < 3; j++) out[3 * i + j] = points[3 * i + j] - at[j];
    }
  }
  free(absolute);
  free(transform);
  free(needed);
  free(placed);
}
