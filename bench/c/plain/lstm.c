/* A recurrent network of LSTM cells with diagonal weights predicts characters. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* weight and bias hold the gates forget, in, out and change, b numbers each. */
static void advance(int64_t b, const double *weight, const double *bias, double *hidden, double *cell,
                    const double *input) {
  for (int64_t i = 0; i < b; i++) {
    double forget = sigmoid(input[i] * weight[i] + bias[i]);
    double ingate = sigmoid(hidden[i] * weight[b + i] + bias[b + i]);
    double outgate = sigmoid(input[i] * weight[2 * b + i] + bias[2 * b + i]);
    double change = tanh(hidden[i] * weight[3 * b + i] + bias[3 * b + i]);
    cell[i] = cell[i] * forget + ingate * change;
    hidden[i] = outgate * tanh(cell[i]);
  }
}

static double objective(int64_t l, int64_t c, int64_t b, const double *weights, const double *biases,
                        const double *extra, const double *hiddens, const double *cells, const double *sequence) {
  double *hidden = malloc(l * b * sizeof(double)), *cell = malloc(l * b * sizeof(double));
  double *input = malloc(b * sizeof(double)), *output = malloc(b * sizeof(double));
  memcpy(hidden, hiddens, l * b * sizeof(double));
  memcpy(cell, cells, l * b * sizeof(double));
  double total = 0;
  for (int64_t t = 0; t < c - 1; t++) {
    for (int64_t i = 0; i < b; i++) input[i] = sequence[t * b + i] * extra[i];
    const double *x = input;
    for (int64_t k = 0; k < l; k++) {
      advance(b, weights + 4 * b * k, biases + 4 * b * k, hidden + b * k, cell + b * k, x);
      x = hidden + b * k;
    }
    double sum = 2;
    for (int64_t i = 0; i < b; i++) {
      output[i] = x[i] * extra[b + i] + extra[2 * b + i];
      sum += exp(output[i]);
    }
    double normaliser = log(sum);
    for (int64_t i = 0; i < b; i++) total += sequence[(t + 1) * b + i] * (output[i] - normaliser);
  }
  free(hidden);
  free(cell);
  free(input);
  free(output);
  return -total / ((c - 1) * b);
}

/* sizes: l, c, b; args: weights, biases (each l times four gates of b), extra (in_weight, out_weight, out_bias),
 * hidden, cell, sequence */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  *out = objective(sizes[0], sizes[1], sizes[2], args[0], args[1], args[2], args[3], args[4], args[5]);
}
