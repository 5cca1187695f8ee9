/* What compiled Diffeo programs are written with. */

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif

/* Functions have the parameters of their kind, and variables for all that they take apart, whether they use them or
 * not, and say which loops may be done in lanes to compilers that look at it. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif

#if defined(__GNUC__)
#define DF_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define DF_COLD __attribute__((cold, noinline))
#define DF_UNUSED __attribute__((unused))
#else
#define DF_UNLIKELY(x) (x)
#define DF_COLD
#define DF_UNUSED
#endif

/* Everything the runtime has is for the program in this file alone; it need not use all of it. */
#define DF_FN DF_UNUSED static

/* Ints: modulo 2^64. */
#define DF_ADD(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define DF_SUB(a, b) ((int64_t)((uint64_t)(a) - (uint64_t)(b)))
#define DF_MUL(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define DF_SHL(a, b) ((int64_t)((uint64_t)(a) << (b)))
#define DF_SHR(a, b) ((int64_t)((uint64_t)(a) >> (b)))
#define DF_SAR(a, b) ((int64_t)(a) >> (b))
#define DF_BELOW(a, b) ((uint64_t)(a) < (uint64_t)(b))

/* The same, and whether the result is another number. */
#if defined(__GNUC__) || __has_builtin(__builtin_add_overflow)
#define DF_CHECKED_ADD(a, b, r) __builtin_add_overflow((int64_t)(a), (int64_t)(b), r)
#define DF_CHECKED_SUB(a, b, r) __builtin_sub_overflow((int64_t)(a), (int64_t)(b), r)
#define DF_CHECKED_MUL(a, b, r) __builtin_mul_overflow((int64_t)(a), (int64_t)(b), r)
#else
#define DF_CHECKED_ADD(a, b, r) df_checked_add(a, b, r)
#define DF_CHECKED_SUB(a, b, r) df_checked_sub(a, b, r)
#define DF_CHECKED_MUL(a, b, r) df_checked_mul(a, b, r)
DF_FN bool df_checked_add(int64_t a, int64_t b, int64_t *r) {
  *r = DF_ADD(a, b);
  return b < 0 ? *r >= a : *r < a;
}
DF_FN bool df_checked_sub(int64_t a, int64_t b, int64_t *r) {
  *r = DF_SUB(a, b);
  return b < 0 ? *r <= a : *r > a;
}
DF_FN bool df_checked_mul(int64_t a, int64_t b, int64_t *r) {
  *r = DF_MUL(a, b);
  if (a == 0 || b == 0) return false;
  if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)) return true;
  return *r / b != a;
}
#endif
