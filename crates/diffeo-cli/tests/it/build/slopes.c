/* Calls derivatives of the functions of slopes.deo; tells on standard output what is wrong. */

#include "pairs.h"
#include "slopes.h"
#include <math.h>
#include <stdio.h>

static int failures = 0;
#define CHECK(x) do { if (!(x)) { failures++; printf("line %d: %s\n", __LINE__, #x); } } while (0)

static int near(double a, double b) { return fabs(a - b) <= 1e-12 * (1 + fabs(b)); }

int main(void) {
  slopes_context *cx = slopes_new();
  double w[2] = {0.5, 2.0}, tangent[2] = {1.0, -1.0}, value, dot, rate_bar, x_bar, y_bar;
  int64_t two[1] = {2}, k;
  slopes_reals_1 bar;

  /* Value and gradient: what is no Real is that of the point. */
  CHECK(slopes_loss_gradient(cx, w, two, 2, 3.0, &value, &bar, &k, &rate_bar) == SLOPES_OK);
  CHECK(near(value, 6 * (sin(0.5) + sin(2.0))) && near(rate_bar, value / 3) && k == 2);
  CHECK(bar.shape[0] == 2 && near(bar.data[0], 6 * cos(0.5)) && near(bar.data[1], 6 * cos(2.0)));
  slopes_release(bar.data);

  /* For a cotangent, and again. */
  for (int i = 1; i < 3; i++) {
    CHECK(slopes_loss_vjp(cx, w, two, 2, 3.0, 10.0 * i, &value, &bar, &k, &rate_bar) == SLOPES_OK);
    CHECK(near(bar.data[0], 60 * i * cos(0.5)));
    slopes_release(bar.data);
  }

  /* Along a tangent. */
  CHECK(slopes_loss_jvp(cx, w, two, 2, 3.0, tangent, two, 0, 0.0, &value, &dot) == SLOPES_OK);
  CHECK(near(dot, 6 * (cos(0.5) - cos(2.0))));

  /* Derivatives up to order 2, and those by two variables. */
  double series[2][3] = {{0.5, 1, 0}, {2, 0, 0}}, rate[3] = {3, 0, 0};
  int64_t shape[2] = {2, 3}, three[1] = {3};
  slopes_reals_1 jet;
  CHECK(slopes_loss_jet_1_2(cx, series[0], shape, 2, rate, three, &jet) == SLOPES_OK);
  CHECK(jet.shape[0] == 3 && near(jet.data[1], 6 * cos(0.5)) && near(jet.data[2], -6 * sin(0.5)));
  slopes_release(jet.data);

  /* Several results. */
  pairs_context *other = pairs_new();
  double ones[2] = {0, 3};
  pairs_reals_1 second;
  CHECK(pairs_pair_vjp(other, 2, 5, 1.0, ones, two, &value, &second, &x_bar, &y_bar) == PAIRS_OK);
  CHECK(value == 10 && second.data[0] == 4 && x_bar == 5 && y_bar == 2 + 3);
  pairs_release(second.data);
  pairs_free(other);

  /* What does not exist is nan; the rest is there. */
  CHECK(slopes_root_gradient(cx, 0.0, 1.0, &value, &x_bar, &y_bar) == SLOPES_OK);
  CHECK(value == 1 && isnan(x_bar) && y_bar == 1);

  CHECK(slopes_inner(cx, 0.0, &value) == SLOPES_OK && isnan(value));

  /* What a branch guards does not matter where it is not taken. */
  CHECK(slopes_guarded_gradient(cx, 0.0, &value, &x_bar) == SLOPES_OK);
  CHECK(value == 3 && x_bar == 0);
  CHECK(slopes_guarded_gradient(cx, 4.0, &value, &x_bar) == SLOPES_OK);
  CHECK(value == 2 && x_bar == 0.25);

  /* Errors as those of the function. */
  CHECK(slopes_at_gradient(cx, w, two, 2, &value, &bar, &k) == SLOPES_INDEX_OUT_OF_BOUNDS);
  printf("%s\n", slopes_message(cx));
  double one[1] = {1};
  int64_t size[1] = {1};
  CHECK(slopes_loss_jvp(cx, w, two, 2, 3.0, one, size, 0, 0.0, &value, &dot) != SLOPES_OK);
  printf("%s\n", slopes_message(cx));
  slopes_free(cx);
  printf("%d failures\n", failures);
  return failures != 0;
}
