/* Real operations that C does not have, or has otherwise. */

DF_FN int64_t df_bits(double x) {
  int64_t bits;
  memcpy(&bits, &x, 8);
  return bits;
}

DF_FN double df_from_bits(int64_t bits) {
  double x;
  memcpy(&x, &bits, 8);
  return x;
}

/* A nan is preferred; -0 is smaller than 0. */
DF_FN double df_min(double a, double b) {
  return (a != a) | (a < b) | ((a == b) & (df_bits(a) < 0)) ? a : b;
}
DF_FN double df_max(double a, double b) {
  return (a != a) | (a > b) | ((a == b) & (df_bits(a) >= 0)) ? a : b;
}

/* Halves to even, whatever the direction of rounding is. */
#if __has_builtin(__builtin_roundeven) && defined(__SSE4_1__)
#define df_round_even(x) __builtin_roundeven(x)
#else
#define df_round_even(x) rint(x)
#endif

DF_FN double df_sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x; }

DF_FN double df_sigmoid(double x) {
  if (x >= 0) return 1.0 / (1.0 + exp(-x));
  double e = exp(x);
  return e / (1.0 + e);
}

DF_FN double df_sech(double x) {
  double e = exp(-fabs(x));
  return 2.0 * e / (1.0 + e * e);
}

DF_FN double df_one_minus_square(double x) { return (1.0 - x) * (1.0 + x); }

/* x / hypot(x, y) */
DF_FN double df_unit(double x, double y) {
  double a = fabs(x), b = fabs(y);
  double length = a < b ? b : a, ratio = (a < b ? a : b) / length;
  double value = x / length / sqrt(1.0 + ratio * ratio);
  return (a == INFINITY) & (b < INFINITY) ? copysign(1.0, x) : value;
}

DF_FN double df_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

/* The C function writes the sign of gamma into a global variable. */
DF_FN double df_lgamma(double x) {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign;
  return lgamma_r(x, &sign);
#else
  return lgamma(x);
#endif
}

/* x^n by repeated multiplication. */
DF_FN double df_pow_int(double x, int64_t n) {
  uint64_t exponent = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  double base = x, result = 1.0;
  while (exponent > 0) {
    if (exponent & 1) result *= base;
    exponent >>= 1;
    if (exponent > 0) base *= base;
  }
  return n < 0 ? 1.0 / result : result;
}

/* For n > 0 and x > 0: (-1)^(n+1) times the sum over k of n!/(x+k)^(n+1), the tail by the formula of Euler and
 * Maclaurin. */
DF_FN double df_polygamma_term(uint32_t n, double z) {
  double term = 1.0 / z;
  for (uint32_t i = 1; i <= n; i++) term *= (double)i / z;
  return term;
}

DF_FN double df_polygamma_positive(uint32_t n, double x) {
  /* B_2j / (2j)! for j from 1. */
  static const double bernoulli[15] = {
      0.08333333333333333,     -0.001388888888888889,   3.306878306878307e-05,   -8.267195767195768e-07,
      2.08767569878681e-08,    -5.284190138687493e-10,  1.3382536530684679e-11,  -3.3896802963225827e-13,
      8.586062056277845e-15,   -2.174868698558062e-16,  5.5090028283602295e-18,  -1.3954464685812522e-19,
      3.534707039629467e-21,   -8.953517427037546e-23,  2.267952452337683e-24};
  double sign = n % 2 == 0 ? -1.0 : 1.0;
  if (x == INFINITY) return sign * 0.0;
  double start = 10.0 + (double)n / 2.0, z = x, sum = 0.0;
  while (z < start) {
    sum += df_polygamma_term(n, z);
    z += 1.0;
  }
  double last = df_polygamma_term(n, z);
  /* The integral, (n-1)!/z^n, is more than the smallest number where the term may be less. */
  sum += df_polygamma_term(n - 1, z) + 0.5 * last;
  double s = (double)n + 1.0, factor = s / z;
  for (int j = 0; j < 15; j++) {
    double next = last * bernoulli[j] * factor;
    sum += next;
    if (fabs(next) < 1e-18 * fabs(sum)) break;
    double i = 2.0 * j + 1.0;
    factor *= (s + i) / z * ((s + i + 1.0) / z);
  }
  return sign * sum;
}

/* For x > 0: the recurrence up to where the asymptotic series holds; near the zero, where that cancels, the
 * Taylor series there. */
DF_FN double df_digamma_positive(double x) {
  /* B_2j / 2j for j from 1. */
  static const double bernoulli[8] = {0.08333333333333333,  -0.008333333333333333, 0.003968253968253968,
                                      -0.004166666666666667, 0.007575757575757576, -0.021092796092796094,
                                      0.08333333333333333,  -0.4432598039215686};
  const double zero = 1.4616321449683622, rest = 9.549995429965697e-17;
  double d = (x - zero) - rest;
  if (fabs(d) < 0.2) {
    double sum = 0.0, power = 1.0;
    for (uint32_t n = 1; n <= 20; n++) {
      power *= d / (double)n;
      sum += df_polygamma_positive(n, zero) * power;
    }
    return sum;
  }
  double z = x, shift = 0.0;
  while (z < 10.0) {
    shift += 1.0 / z;
    z += 1.0;
  }
  double inverse = 1.0 / (z * z), tail = 0.0, power = 1.0;
  for (int j = 0; j < 8; j++) {
    power *= inverse;
    tail += bernoulli[j] * power;
  }
  return log(z) - 0.5 / z - tail - shift;
}

/* The derivative of order n of pi cot(pi x): a polynomial in c = cot(pi x), as c' = -pi (1 + c^2). */
DF_FN double df_cotangent_derivative(uint32_t n, double x) {
  const double pi = 3.14159265358979323846;
  double c = 1.0 / tan(pi * (x - round(x)));
  double local[2 * 32], *p = local;
  size_t size = (size_t)n + 3;
  if (size > 32) {
    p = malloc(2 * size * sizeof(double));
    if (!p) return NAN;
  }
  double *next = p + size;
  memset(p, 0, 2 * size * sizeof(double));
  double *block = p;
  p[1] = 1.0;
  for (uint32_t k = 0; k < n; k++) {
    memset(next, 0, size * sizeof(double));
    for (size_t i = 1; i <= (size_t)k + 1; i++) {
      double a = -p[i] * (double)i;
      next[i - 1] += a;
      next[i + 1] += a;
    }
    double *other = p;
    p = next;
    next = other;
  }
  double value = 0.0;
  for (size_t i = (size_t)n + 2; i > 0; i--) value = value * c + p[i - 1];
  for (uint32_t k = 0; k <= n; k++) value *= pi;
  if (block != local) free(block);
  return value;
}

/* The derivative of order n + 1 of the logarithm of the gamma function. */
DF_FN double df_polygamma(uint32_t n, double x) {
  if (x != x || x == -INFINITY) return NAN;
  if (x > 0) return n == 0 ? df_digamma_positive(x) : df_polygamma_positive(n, x);
  if (floor(x) == x) return n % 2 == 0 ? NAN : INFINITY;
  double mirrored = 1.0 - x;
  mirrored = n == 0 ? df_digamma_positive(mirrored) : df_polygamma_positive(n, mirrored);
  return (n % 2 == 0 ? mirrored : -mirrored) - df_cotangent_derivative(n, x);
}
