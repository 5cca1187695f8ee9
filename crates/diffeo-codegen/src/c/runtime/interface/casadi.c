/* External functions of CasADi for the functions of NAME: `NAME_loss` is
 * casadi.external("NAME_loss_casadi", "libNAME.so"), with its derivatives of the first two orders.
 * Arrays of one index are columns, those of two are matrices; Int and Bool are numbers. A nan is given as any other
 * number is. An error is printed on standard error, and the evaluation fails. This file needs NAME.h and C11. */
#include "NAME.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef long long casadi_int;

#if defined(__GNUC__)
#define MAYBE __attribute__((unused)) static inline
#else
#define MAYBE static inline
#endif

/* An argument or a result: its name, and its sparsity, which is dense. */
typedef struct value { const char *name; casadi_int sparsity[3]; } value;

/* The elements of a matrix, row after row: CasADi has column after column, and NULL for zeros. */
#define TAKE(TYPE, SUFFIX, ZERO)                                                                          \
  MAYBE TYPE *take_##SUFFIX(double **work, const double *from, int64_t rows, int64_t columns) {         \
    TYPE *to = (TYPE *)(void *)*work;                                                                     \
    *work += rows * columns + 1;                                                                          \
    for (int64_t i = 0; i < rows; i++)                                                                    \
      for (int64_t j = 0; j < columns; j++) to[i * columns + j] = from ? (TYPE)(from[j * rows + i] ZERO) : (TYPE)0; \
    return to;                                                                                            \
  }
TAKE(double, reals, )
TAKE(int64_t, ints, )
TAKE(bool, bools, != 0)

/* Gives such elements to CasADi, if the sizes are those that it was told. */
#define GIVE(TYPE, SUFFIX)                                                                                \
  MAYBE bool give_##SUFFIX(double *to, const TYPE *from, const int64_t *shape, int rank, int64_t rows,   \
                           int64_t columns) {                                                             \
    if ((rank > 0 && shape[0] != rows) || (rank > 1 && shape[1] != columns)) return false;                \
    for (int64_t i = 0; to && i < rows; i++)                                                              \
      for (int64_t j = 0; j < columns; j++) to[j * rows + i] = (double)from[i * columns + j];             \
    return true;                                                                                          \
  }
GIVE(double, reals)
GIVE(int64_t, ints)
GIVE(bool, bools)

/* The derivative of what is no Real. */
MAYBE bool give_zeros(double *to, int64_t count) {
  if (to) memset(to, 0, (size_t)count * sizeof *to);
  return true;
}

/* What CasADi asks of a function. */
#define EXTERNAL(F, TAKES, GIVES, WORK)                                                                   \
  casadi_int F##_n_in(void);                                                                              \
  casadi_int F##_n_out(void);                                                                             \
  const char *F##_name_in(casadi_int i);                                                                  \
  const char *F##_name_out(casadi_int i);                                                                 \
  const casadi_int *F##_sparsity_in(casadi_int i);                                                        \
  const casadi_int *F##_sparsity_out(casadi_int i);                                                       \
  int F##_work(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w);                          \
  int F(const double **arg, double **res, casadi_int *iw, double *w, int mem);                            \
  casadi_int F##_n_in(void) { return TAKES; }                                                             \
  casadi_int F##_n_out(void) { return GIVES; }                                                            \
  const char *F##_name_in(casadi_int i) { return F##_takes[i].name; }                                     \
  const char *F##_name_out(casadi_int i) { return F##_gives[i].name; }                                    \
  const casadi_int *F##_sparsity_in(casadi_int i) { return F##_takes[i].sparsity; }                       \
  const casadi_int *F##_sparsity_out(casadi_int i) { return F##_gives[i].sparsity; }                      \
  int F##_work(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w) {                         \
    *arg = TAKES;                                                                                         \
    *res = GIVES;                                                                                         \
    *iw = 0;                                                                                              \
    *w = WORK;                                                                                            \
    return 0;                                                                                             \
  }

