/* The gradient of a recurrent network of LSTM cells (lstm.c), by hand: forwards, with what each step computes kept, then
 * backwards. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* What a step of one layer keeps, b numbers each. */
enum { FORGET, INGATE, OUTGATE, CHANGE, CELL_BEFORE, HIDDEN_BEFORE, TANH_CELL, INPUT, KEPT };

/* weight and bias hold the gates forget, in, out and change, b numbers each. */
static void advance(int64_t b, const double *weight, const double *bias, double *hidden,
                    double *cell, const double *input, double *kept) {
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
static void retreat(int64_t b, const double *weight, const double *kept, double *hidden_bar,
                    double *cell_bar, double *input_bar, double *weight_bar, double *bias_bar) {
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

/* sizes: l, c, b; args: weights, biases (each l times four gates of b), extra (in_weight, out_weight, out_bias),
 * hidden, cell, sequence; the result: for each layer of its weights and its biases, then of extra */
void bench(const int64_t *sizes, const void *const *args, double *out) {
  int64_t l = sizes[0], c = sizes[1], b = sizes[2];
  const double *weights = args[0], *biases = args[1], *extra = args[2], *sequence = args[5];
  double *hidden = malloc(l * b * sizeof(double)), *cell = malloc(l * b * sizeof(double));
  memcpy(hidden, args[3], l * b * sizeof(double));
  memcpy(cell, args[4], l * b * sizeof(double));
  double *kept = malloc(c * l * KEPT * b * sizeof(double));
  double *outputs = malloc(c * b * sizeof(double)), *input = malloc(b * sizeof(double));
  double *input_bar = malloc(b * sizeof(double));
  double *hidden_bar = calloc(l * b, sizeof(double)), *cell_bar = calloc(l * b, sizeof(double));
  double *extra_bar = calloc(3 * b, sizeof(double));
  double *weights_bar = calloc(4 * l * b, sizeof(double)), *biases_bar = calloc(4 * l * b, sizeof(double));

  for (int64_t t = 0; t < c - 1; t++) {
    for (int64_t i = 0; i < b; i++) input[i] = sequence[t * b + i] * extra[i];
    const double *x = input;
    for (int64_t k = 0; k < l; k++) {
      advance(b, weights + 4 * b * k, biases + 4 * b * k, hidden + b * k, cell + b * k, x,
              kept + (t * l + k) * KEPT * b);
      x = hidden + b * k;
    }
    double *output = outputs + t * b;
    for (int64_t i = 0; i < b; i++) output[i] = x[i] * extra[b + i] + extra[2 * b + i];
  }

  double factor = -1.0 / (double)((c - 1) * b);
  for (int64_t t = c - 2; t >= 0; t--) {
    const double *output = outputs + t * b, *expected = sequence + (t + 1) * b, *last = kept + (t * l + l - 1) * KEPT * b;
    double *exps = input, sum = 2, all = 0;
    for (int64_t i = 0; i < b; i++) sum += exps[i] = exp(output[i]);
    for (int64_t i = 0; i < b; i++) all += expected[i];
    double share = all / sum;
    for (int64_t i = 0; i < b; i++) {
      double output_bar = factor * (expected[i] - share * exps[i]);
      double x = last[OUTGATE * b + i] * last[TANH_CELL * b + i];
      extra_bar[b + i] += output_bar * x;
      extra_bar[2 * b + i] += output_bar;
      hidden_bar[(l - 1) * b + i] += output_bar * extra[b + i];
    }
    for (int64_t k = l - 1; k >= 0; k--) {
      retreat(b, weights + 4 * b * k, kept + (t * l + k) * KEPT * b, hidden_bar + b * k, cell_bar + b * k, input_bar,
              weights_bar + 4 * b * k, biases_bar + 4 * b * k);
      if (k > 0)
        for (int64_t i = 0; i < b; i++) hidden_bar[b * (k - 1) + i] += input_bar[i];
    }
    for (int64_t i = 0; i < b; i++) extra_bar[i] += input_bar[i] * sequence[t * b + i];
  }

  for (int64_t k = 0; k < l; k++)
    for (int64_t gate = 0; gate < 4; gate++)
      for (int64_t i = 0; i < b; i++) {
        out[(8 * k + gate) * b + i] = weights_bar[(4 * k + gate) * b + i];
        out[(8 * k + 4 + gate) * b + i] = biases_bar[(4 * k + gate) * b + i];
      }
  for (int64_t r = 0; r < 3; r++)
    for (int64_t i = 0; i < b; i++) out[(8 * l + r) * b + i] = extra_bar[r * b + i];
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
