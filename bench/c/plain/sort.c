/* Sorting by the C library's qsort. */
#include "bench.h"
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* sizes: n; args: x */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  memcpy(out, args[0], sizes[0] * sizeof(double));
  qsort(out, sizes[0], sizeof(double), compare);
}
