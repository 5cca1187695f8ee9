/* What every file beside this one exports: one function, called `bench`. It takes the sizes of the data, pointers to
 * the data (arrays of double or int64_t, row-major; the comment above each `bench` gives their order) and the place of
 * the result. The good versions may allocate working memory; they write every element of the result. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

void bench(const int64_t *sizes, const void *const *args, double *out);

#endif
