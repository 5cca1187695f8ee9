/* The gradient of a recurrent network of LSTM cells (lstm.c), by hand: the numbers of a layer padded to whole vectors,
 * every loop one over vectors. */
#include "bench.h"
#include "vector_math.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 8 };

static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* What a step of one layer keeps, b numbers each. */
enum { FORGET, INGATE, OUTGATE, CHANGE, CELL_BEFORE, HIDDEN_BEFORE, TANH_CELL, INPUT, KEPT };

/* weight and bias hold the gates forget, in, out and change, b numbers each. */
static void advance(int64_t b, const double *restrict weight, const double *restrict bias, double *restrict hidden,
                    double *restrict cell, const double *restrict input, double *restrict kept) {
#pragma omp simd simdlen(WIDTH)
  for (int64_t i = 0; i < b; i++) {
    double forget = sigmoid(input[i] * weight[i] + bias[i]);
    double ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i]);
    double outgate = sigmoid(input[i] * weight[2 * b + i] + bias[2 * b + i]);
    double change = tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i]);
    kept[FORGET * b + i] = forget;
    kept[INGATE * b + i] = ingate;
    kept[OUTGATE * b + i] = outgate;
    kept[CHANGE * b + i] = change;
    kept[CELL_BEFORE * b + i] = cell[i];
    kept[HIDDEN_BEFORE * b + i] = hidden[i];
    kept[INPUT * b + i] = input[i];
    cell[i] = cell[i] * forget + ingate * change;
    kept[TANH_CELL * b + i] = tanh(cell[i]);
    hidden[i] = outgate * kept[TANH_CELL * b + i];
  }
}

/* Takes the cotangents of a step's hidden state and cell to those before it, and to the weights, the biases and the
 * input. */
static void retreat(int64_t b, const double *restrict weight, const double *restrict kept, double *restrict hidden_bar,
                    double *restrict cell_bar, double *restrict input_bar, double *restrict weight_bar, double *restrict bias_bar) {
#pragma omp simd simdlen(WIDTH)
  for (int64_t i = 0; i < b; i++) {
    double forget = kept[FORGET * b + i], ingate = kept[INGATE * b + i];
    double outgate = kept[OUTGATE * b + i], change = kept[CHANGE * b + i];
    double hidden = kept[HIDDEN_BEFORE * b + i], input = kept[INPUT * b + i], tanh_cell = kept[TANH_CELL * b + i];
    double cell = cell_bar[i] + hidden_bar[i] * outgate * (1 - tanh_cell * tanh_cell);
    double by_forget = cell * kept[CELL_BEFORE * b + i] * forget * (1 - forget);
    double by_ingate = cell * change * ingate * (1 - ingate);
    double by_outgate = hidden_bar[i] * tanh_cell * outgate * (1 - outgate);
    double by_change = cell * ingate * (1 - change * change);
    weight_bar[i] += by_forget * input;
    weight_bar[b + i] += by_ingate * hidden;
    weight_bar[2 * b + i] += by_outgate * input;
    weight_bar[3 * b + i] += by_change * hidden;
    bias_bar[i] += by_forget;
    bias_bar[b + i] += by_ingate;
    bias_bar[2 * b + i] += by_outgate;
    bias_bar[3 * b + i] += by_change;
    cell_bar[i] = cell * forget;
    hidden_bar[i] = by_ingate * weight[b + i] + by_change * weight[3 * b + i];
    input_bar[i] = by_forget * weight[i] + by_outgate * weight[2 * b + i];
  }
}

/* Rows of b numbers as rows of `padded`, with zeros behind. */
static double *pad(int64_t rows, int64_t b, int64_t padded, const double *from) {
  double *to = aligned_alloc(64, rows * padded * sizeof(double));
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < padded; i++) to[r * padded + i] = i < b ? from[r * b + i] : 0;
  return to;
}

static double *zeros(int64_t n) {
  double *to = aligned_alloc(64, n * sizeof(double));
  memset(to, 0, n * sizeof(double));
  return to;
}

/* sizes: l, c, b; args: weights, biases (each l times four gates of b), extra (in_weight, out_weight, out_bias),
 * hidden, cell, sequence; the result: for each layer of its weights and its biases, then of extra */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t l = sizes[0], c = sizes[1], b = sizes[2], padded = (b + WIDTH - 1) / WIDTH * WIDTH;
  double *weights = pad(4 * l, b, padded, args[0]), *biases = pad(4 * l, b, padded, args[1]);
  double *extra = pad(3, b, padded, args[2]), *hidden = pad(l, b, padded, args[3]), *cell = pad(l, b, padded, args[4]);
  const double *restrict sequence = args[5];
  double *kept = aligned_alloc(64, c * l * KEPT * padded * sizeof(double));
  double *outputs = zeros(c * padded), *input = zeros(padded), *input_bar = zeros(padded);
  double *hidden_bar = zeros(l * padded), *cell_bar = zeros(l * padded), *extra_bar = zeros(3 * padded);
  double *weights_bar = zeros(4 * l * padded), *biases_bar = zeros(4 * l * padded);

  for (int64_t t = 0; t < c - 1; t++) {
    for (int64_t i = 0; i < b; i++) input[i] = sequence[t * b + i] * extra[i];
    const double *x = input;
    for (int64_t k = 0; k < l; k++) {
      advance(padded, weights + 4 * padded * k, biases + 4 * padded * k, hidden + padded * k, cell + padded * k, x,
              kept + (t * l + k) * KEPT * padded);
      x = hidden + padded * k;
    }
    double *output = outputs + t * padded;
    for (int64_t i = 0; i < padded; i++) output[i] = x[i] * extra[padded + i] + extra[2 * padded + i];
  }

  double factor = -1.0 / (double)((c - 1) * b);
  for (int64_t t = c - 2; t >= 0; t--) {
    const double *output = outputs + t * padded, *expected = sequence + (t + 1) * b, *last = kept + (t * l + l - 1) * KEPT * padded;
    double *exps = input, sum = 2, all = 0;
#pragma omp simd simdlen(WIDTH) reduction(+ : sum)
    for (int64_t i = 0; i < padded; i++) sum += exps[i] = exp(output[i]);
    sum -= (double)(padded - b); /* exp(0) for each number behind the last */
    for (int64_t i = 0; i < b; i++) all += expected[i];
    double share = all / sum;
    for (int64_t i = 0; i < b; i++) {
      double output_bar = factor * (expected[i] - share * exps[i]);
      double x = last[OUTGATE * padded + i] * last[TANH_CELL * padded + i];
      extra_bar[padded + i] += output_bar * x;
      extra_bar[2 * padded + i] += output_bar;
      hidden_bar[(l - 1) * padded + i] += output_bar * extra[padded + i];
    }
    for (int64_t k = l - 1; k >= 0; k--) {
      retreat(padded, weights + 4 * padded * k, kept + (t * l + k) * KEPT * padded, hidden_bar + padded * k, cell_bar + padded * k, input_bar,
              weights_bar + 4 * padded * k, biases_bar + 4 * padded * k);
      if (k > 0)
        for (int64_t i = 0; i < padded; i++) hidden_bar[padded * (k - 1) + i] += input_bar[i];
    }
    for (int64_t i = 0; i < b; i++) extra_bar[i] += input_bar[i] * sequence[t * b + i];
  }

  for (int64_t k = 0; k < l; k++)
    for (int64_t gate = 0; gate < 4; gate++)
      for (int64_t i = 0; i < b; i++) {
        out[(8 * k + gate) * b + i] = weights_bar[(4 * k + gate) * padded + i];
        out[(8 * k + 4 + gate) * b + i] = biases_bar[(4 * k + gate) * padded + i];
      }
  for (int64_t r = 0; r < 3; r++)
    for (int64_t i = 0; i < b; i++) out[(8 * l + r) * b + i] = extra_bar[r * padded + i];
  free(weights);
  free(biases);
  free(extra);
  free(hidden);
  free(cell);
  free(kept);
  free(outputs);
  free(input);
  free(input_bar);
  free(hidden_bar);
  free(cell_bar);
  free(extra_bar);
  free(weights_bar);
  free(biases_bar);
}
