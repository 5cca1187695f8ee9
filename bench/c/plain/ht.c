/* Distances of measured points from the surface of a posed hand. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double Matrix[4][4];

static void multiply(const Matrix a, const Matrix b, Matrix out) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      out[i][j] = 0;
      for (int k = 0; k < 4; k++) out[i][j] += a[i][k] * b[k][j];
    }
}

/* The rotation about x, then y, then z. */
static void euler(double x, double y, double z, Matrix out) {
  Matrix about_x = {{1, 0, 0, 0}, {0, cos(x), -sin(x), 0}, {0, sin(x), cos(x), 0}, {0, 0, 0, 1}};
  Matrix about_y = {{cos(y), 0, sin(y), 0}, {0, 1, 0, 0}, {-sin(y), 0, cos(y), 0}, {0, 0, 0, 1}};
  Matrix about_z = {{cos(z), -sin(z), 0, 0}, {sin(z), cos(z), 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  Matrix zy;
  multiply(about_z, about_y, zy);
  multiply(zy, about_x, out);
}

/* The rotation about an axis, by its length. */
static void rotation(const double *axis, double r[3][3]) {
  double angle = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  if (angle < 0.0001) {
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) r[i][j] = i == j;
    return;
  }
  double x = axis[0] / angle, y = axis[1] / angle, z = axis[2] / angle;
  double s = sin(angle), c = cos(angle), t = 1 - c;
  r[0][0] = x * x + (1 - x * x) * c;
  r[0][1] = x * y * t - z * s;
  r[0][2] = x * z * t + y * s;
  r[1][0] = x * y * t + z * s;
  r[1][1] = y * y + (1 - y * y) * c;
  r[1][2] = y * z * t - x * s;
  r[2][0] = x * z * t - y * s;
  r[2][1] = y * z * t + x * s;
  r[2][2] = z * z + (1 - z * z) * c;
}

/* theta is the global rotation and translation and four angles for each of five fingers; a finger has four bones,
 * the first of which does not move against the wrist. */
static void bone_angles(const double *theta, int64_t bone, double *x, double *z) {
  *x = *z = 0;
  int64_t finger = (bone - 1) / 4, joint = (bone - 1) % 4;
  if (bone == 0 || finger >= 5 || joint == 0) return;
  const double *angles = theta + 6 + 4 * finger;
  *x = joint == 1 ? angles[0] : angles[joint];
  if (joint == 1) *z = angles[1];
}

static void vertices(int64_t bones, int64_t n, const double *theta, const int64_t *parents, const Matrix *relatives,
                     const Matrix *inverses, const double *positions, const double *weights, int mirrored,
                     double (*out)[3]) {
  Matrix *absolute = malloc(bones * sizeof(Matrix)), *transform = malloc(bones * sizeof(Matrix));
  for (int64_t b = 0; b < bones; b++) {
    double x, z;
    Matrix turn, relative;
    bone_angles(theta, b, &x, &z);
    euler(x, 0, z, turn);
    multiply(relatives[b], turn, relative);
    if (parents[b] < 0)
      memcpy(absolute[b], relative, sizeof(Matrix));
    else
      multiply(absolute[parents[b]], relative, absolute[b]);
    multiply(absolute[b], inverses[b], transform[b]);
  }
  double r[3][3];
  rotation(theta, r);
  for (int64_t v = 0; v < n; v++) {
    double p[3] = {0, 0, 0};
    for (int64_t b = 0; b < bones; b++)
      for (int i = 0; i < 3; i++) {
        double moved = 0;
        for (int j = 0; j < 4; j++) moved += transform[b][i][j] * positions[4 * v + j];
        p[i] += weights[bones * v + b] * moved;
      }
    if (mirrored) p[0] = -p[0];
    for (int i = 0; i < 3; i++) out[v][i] = r[i][0] * p[0] + r[i][1] * p[1] + r[i][2] * p[2] + theta[3 + i];
  }
  free(absolute);
  free(transform);
}

/* sizes: points, bones, vertices, triangles, 1 if points are on triangles and 0 if they are on vertices;
 * args: theta, us, parents, base_relatives, inverse_base_absolutes, positions, weights, triangles, mirrored,
 * correspondences, points */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  const double *theta = args[0], *us = args[1], *points = args[10];
  const int64_t *triangles = args[7], *correspondences = args[9];
  double(*placed)[3] = malloc(sizes[2] * sizeof *placed);
  vertices(sizes[1], sizes[2], theta, args[2], args[3], args[4], args[5], args[6], *(const int64_t *)args[8] != 0,
           placed);
  for (int64_t i = 0; i < sizes[0]; i++)
    for (int j = 0; j < 3; j++) {
      double at;
      if (sizes[4]) {
        const int64_t *corner = triangles + 3 * correspondences[i];
        double u = us[2 * i], v = us[2 * i + 1];
        at = u * placed[corner[0]][j] + v * placed[corner[1]][j] + (1 - u - v) * placed[corner[2]][j];
      } else {
        at = placed[correspondences[i]][j];
      }
      out[3 * i + j] = points[3 * i + j] - at;
    }
  free(placed);
}
