/* Reprojection and weight errors of bundle adjustment. */
#include "bench.h"
#include <math.h>

/* A camera is rotation (3), centre (3), focal length, principal point (2), radial distortion (2). */
enum { ROTATION = 0, CENTRE = 3, FOCAL = 6, PRINCIPAL = 7, RADIAL = 9, CAMERA = 11 };

static void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void rotate(const double *rotation, const double *p, double *out) {
  double angle_sq = dot(rotation, rotation);
  if (angle_sq == 0) {
    cross(rotation, p, out);
    for (int i = 0; i < 3; i++) out[i] += p[i];
    return;
  }
  double angle = sqrt(angle_sq), c = cos(angle), s = sin(angle);
  double axis[3], perpendicular[3];
  for (int i = 0; i < 3; i++) axis[i] = rotation[i] / angle;
  cross(axis, p, perpendicular);
  double along = dot(axis, p) * (1 - c);
  for (int i = 0; i < 3; i++) out[i] = c * p[i] + s * perpendicular[i] + along * axis[i];
}

static void project(const double *camera, const double *point, double *out) {
  double from_centre[3], p[3];
  for (int i = 0; i < 3; i++) from_centre[i] = point[i] - camera[CENTRE + i];
  rotate(camera + ROTATION, from_centre, p);
  double x = p[0] / p[2], y = p[1] / p[2];
  double r_sq = x * x + y * y;
  double factor = 1 + camera[RADIAL] * r_sq + camera[RADIAL + 1] * r_sq * r_sq;
  out[0] = camera[FOCAL] * (factor * x) + camera[PRINCIPAL];
  out[1] = camera[FOCAL] * (factor * y) + camera[PRINCIPAL + 1];
}

static void objective(int64_t p, const double *cameras, const double *points, const double *weights,
                      const int64_t *observations, const double *features, double *reprojection, double *weight) {
  for (int64_t i = 0; i < p; i++) {
    double image[2];
    project(cameras + CAMERA * observations[2 * i], points + 3 * observations[2 * i + 1], image);
    reprojection[2 * i] = weights[i] * (image[0] - features[2 * i]);
    reprojection[2 * i + 1] = weights[i] * (image[1] - features[2 * i + 1]);
  }
  for (int64_t i = 0; i < p; i++) weight[i] = 1 - weights[i] * weights[i];
}

/* sizes: p; args: cameras, points, weights, observations (camera and point), features */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  objective(sizes[0], args[0], args[1], args[2], args[3], args[4], out, out + 2 * sizes[0]);
}
