/* The mathematical functions with vector versions: from libmvec of the GNU C library, where it is. */
#ifndef VECTOR_MATH_H
#define VECTOR_MATH_H

#include <math.h>

#ifdef USE_LIBMVEC
__attribute__((__simd__("notinbranch"))) double exp(double);
__attribute__((__simd__("notinbranch"))) double log(double);
__attribute__((__simd__("notinbranch"))) double sin(double);
__attribute__((__simd__("notinbranch"))) double cos(double);
__attribute__((__simd__("notinbranch"))) double tanh(double);
#endif

/* The logarithm of the sum of exponentials of n numbers. */
static inline double log_sum_exp(int64_t n, const double *restrict x) {
  double top = x[0], sum = 0;
#pragma omp simd reduction(max : top)
  for (int64_t i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) sum += exp(x[i] - top);
  return top + log(sum);
}

#endif
