/* A recurrent network of LSTM cells with diagonal weights: the numbers of a layer padded to whole vectors, so that
 * every loop is one without rest. */
#include "bench.h"
#include "vector_math.h"
#include <stdlib.h>

enum { WIDTH = 8 };

static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* weight and bias hold the gates forget, in, out and change, `b` numbers each. */
static void advance(int64_t b, const double *restrict weight, const double *restrict bias, double *restrict hidden,
                    double *restrict cell, const double *restrict input) {
#pragma omp simd simdlen(WIDTH)
  for (int64_t i = 0; i < b; i++) {
    double forget = sigmoid(input[i] * weight[i] + bias[i]);
    double ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i]);
    double outgate = sigmoid(input[i] * weight[2 * b + i] + bias[2 * b + i]);
    double change = tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i]);
    cell[i] = cell[i] * forget + ingate * change;
    hidden[i] = outgate * tanh(cell[i]);
  }
}

/* Rows of b numbers as rows of `padded`, with zeros behind. */
static double *pad(int64_t rows, int64_t b, int64_t padded, const double *from) {
  double *to = aligned_alloc(64, rows * padded * sizeof(double));
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < padded; i++) to[r * padded + i] = i < b ? from[r * b + i] : 0;
  return to;
}

/* sizes: l, c, b; args: weights, biases (each l times four gates of b), extra (in_weight, out_weight, out_bias),
 * hidden, cell, sequence */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t l = sizes[0], c = sizes[1], b = sizes[2], padded = (b + WIDTH - 1) / WIDTH * WIDTH;
  double *weights = pad(4 * l, b, padded, args[0]), *biases = pad(4 * l, b, padded, args[1]);
  double *extra = pad(3, b, padded, args[2]), *hidden = pad(l, b, padded, args[3]), *cell = pad(l, b, padded, args[4]);
  const double *restrict sequence = args[5];
  double *input = aligned_alloc(64, padded * sizeof(double)), *output = aligned_alloc(64, padded * sizeof(double));
  for (int64_t i = b; i < padded; i++) input[i] = 0;
  double total = 0;
  for (int64_t t = 0; t < c - 1; t++) {
    for (int64_t i = 0; i < b; i++) input[i] = sequence[t * b + i] * extra[i];
    const double *x = input;
    for (int64_t k = 0; k < l; k++) {
      advance(padded, weights + 4 * padded * k, biases + 4 * padded * k, hidden + padded * k, cell + padded * k, x);
      x = hidden + padded * k;
    }
    double sum = 2 - (double)(padded - b); /* exp(0) for each number behind the last */
#pragma omp simd simdlen(WIDTH) reduction(+ : sum)
    for (int64_t i = 0; i < padded; i++) {
      output[i] = x[i] * extra[padded + i] + extra[2 * padded + i];
      sum += exp(output[i]);
    }
    double normaliser = log(sum);
    for (int64_t i = 0; i < b; i++) total += sequence[(t + 1) * b + i] * (output[i] - normaliser);
  }
  *out = -total / ((c - 1) * b);
  free(weights);
  free(biases);
  free(extra);
  free(hidden);
  free(cell);
  free(input);
  free(output);
}
