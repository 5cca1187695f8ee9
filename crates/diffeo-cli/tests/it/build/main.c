/* Calls the functions of demo.deo; tells on standard output what is wrong. */

#include "demo.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;
#define CHECK(x) do { if (!(x)) { failures++; printf("line %d: %s\n", __LINE__, #x); } } while (0)

static void traced(void *data, const char *label, int64_t m, const char *value, int64_t n) {
  snprintf(data, 64, "%.*s=%.*s", (int)m, label, (int)n, value);
}

static void *thread(void *unused) {
  demo_context *cx = demo_new();
  for (int64_t i = 0; i < 200; i++) {
    double ys[3] = {1, 2, (double)i};
    int64_t shape[1] = {3};
    demo_reals_1 result;
    CHECK(demo_scale(cx, 2.0, ys, shape, &result) == DEMO_OK);
    CHECK(result.data[2] == 2.0 * (double)i && result.shape[0] == 3);
    demo_release(result.data);
  }
  demo_free(cx);
  return unused;
}

int main(void) {
  demo_context *cx = demo_new();
  double xs[4] = {1, 2, 3, -4};
  int64_t four[1] = {4}, two[1] = {2}, zero[1] = {0};
  double x, mean;
  int64_t n;
  demo_text text;
  demo_bools_1 flags;
  demo_reals_1 reals;
  demo_reals_2 matrix;
  CHECK(demo_stats(cx, "name", xs, four, 10, &x, &text, &n, &flags, &mean) == DEMO_OK);
  CHECK(x == 2 && n == 14 && mean == 0.5 && !strcmp(text.data, "name!") && text.length == 5);
  CHECK(flags.shape[0] == 4 && flags.data[0] && !flags.data[3]);
  demo_release(text.data);
  demo_release(flags.data);
  CHECK(demo_pick(cx, xs, four, 2, &x) == DEMO_OK && x == 3);
  CHECK(!strcmp(demo_message(cx), ""));
  CHECK(demo_pick(cx, xs, four, 4, &x) == DEMO_INDEX_OUT_OF_BOUNDS);
  printf("%s\n", demo_message(cx));
  CHECK(!strcmp(demo_code(DEMO_INDEX_OUT_OF_BOUNDS), "index-out-of-bounds"));
  CHECK(demo_deep(cx, 1000, &n) == DEMO_OK && n == 1000);
  CHECK(demo_deep(cx, -1, &n) == DEMO_TOO_DEEP);
  CHECK(strstr(demo_message(cx), "demo.deo:9:53: the recursion is too deep: ") == demo_message(cx));
  int64_t ints[2] = {3, 4};
  CHECK(demo_pairs(cx, xs, two, ints, two, &reals) == DEMO_OK && reals.data[1] == 8);
  demo_release(reals.data);
  CHECK(demo_pairs(cx, xs, four, ints, two, &reals) == DEMO_SIZE_MISMATCH);
  printf("%s\n", demo_message(cx));
  CHECK(demo_table(cx, &matrix) == DEMO_OK && matrix.shape[1] == 2 && matrix.data[3] == 4);
  int64_t shape[2] = {2, 2};
  demo_reals_2 more;
  CHECK(demo_cells(cx, matrix.data, shape, &more) == DEMO_OK && more.data[3] == 5);
  demo_release(matrix.data);
  demo_release(more.data);
  CHECK(demo_scale(cx, 1, NULL, zero, &reals) == DEMO_OK && reals.shape[0] == 0);
  demo_release(reals.data);
  char line[64] = "";
  demo_set_trace(cx, traced, line);
  CHECK(demo_tell(cx, "said", &n) == DEMO_OK && n == 3);
  printf("%s\n", line);
  const char *unsound[] = {"a\x80",       "\xc3",     "\xc0\xaf",         "\xe0\x9f\xbf", "\xed\xa0\x80",
                           "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"};
  for (size_t i = 0; i < sizeof unsound / sizeof *unsound; i++) {
    CHECK(demo_tell(cx, unsound[i], &n) == DEMO_INVALID_TEXT);
    CHECK(strcmp(demo_code(DEMO_INVALID_TEXT), "invalid-text") == 0);
    CHECK(strstr(demo_message(cx), "UTF-8 from byte") != NULL);
  }
  CHECK(demo_tell(cx, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\x9f\xbf", &n) == DEMO_OK);
  CHECK(demo_tell(cx, "", &n) == DEMO_OK && demo_tell(cx, NULL, &n) == DEMO_OK);
  demo_set_memory_limit(cx, 4096);
  demo_free(cx);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  printf("%d failures\n", failures);
  return failures != 0;
}
