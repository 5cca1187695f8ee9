/* Calls the functions of lists.deo; tells on standard output what is wrong. */

#include "lists.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
#define CHECK(x) do { if (!(x)) { failures++; printf("line %d: %s\n", __LINE__, #x); } } while (0)
#define SAME(text, with) CHECK(!strcmp((text).data, with) && (text).length == (int64_t)strlen(with))

int main(void) {
  lists_context *cx = lists_new();
  int64_t n, none[1] = {0}, two[1] = {2}, three[1] = {3}, six[2] = {2, 3};
  lists_text text;
  lists_texts_1 texts, more;
  lists_texts_2 grid;
  lists_reals_1 reals;
  lists_ints_1 ints;
  lists_bools_1 bools;
  double x, xs[3] = {1, -2, 3};
  /* What is given may be freed after the call, and what is taken outlives the context. */
  char **words = malloc(3 * sizeof *words);
  const char *const spelled[3] = {"a", "", "\xc3\xa9"};
  for (int i = 0; i < 3; i++) {
    words[i] = malloc(8);
    strcpy(words[i], spelled[i]);
  }
  CHECK(lists_shout(cx, (const char *const *)words, three, &texts) == LISTS_OK && texts.shape[0] == 3);
  for (int i = 0; i < 3; i++) free(words[i]);
  free(words);
  SAME(texts.data[0], "a!");
  SAME(texts.data[1], "!");
  SAME(texts.data[2], "\xc3\xa9!");
  lists_release(texts.data);
  const char *const table[6] = {"a", "b", "c", "d", NULL, "f"};
  CHECK(lists_grid(cx, table, six, 7, &grid) == LISTS_OK && grid.shape[0] == 2 && grid.shape[1] == 3);
  SAME(grid.data[3], "d7");
  SAME(grid.data[4], "7");
  lists_release(grid.data);
  CHECK(lists_long(cx, table, three, 2, &texts) == LISTS_OK && texts.shape[0] == 2);
  SAME(texts.data[1], "c");
  lists_release(texts.data);
  CHECK(lists_shout(cx, NULL, none, &texts) == LISTS_OK && texts.shape[0] == 0);
  lists_release(texts.data);
  CHECK(lists_kinds(cx, table, two, xs, two, &texts, &reals) == LISTS_OK && reals.data[1] == -4);
  SAME(texts.data[1], "b?");
  lists_release(texts.data);
  lists_release(reals.data);
  CHECK(lists_kinds(cx, table, two, xs, three, &texts, &reals) == LISTS_SIZE_MISMATCH);
  printf("%s\n", lists_message(cx));
  /* Lists. */
  CHECK(lists_total(cx, xs, three, &x) == LISTS_OK && x == 14);
  CHECK(lists_total(cx, NULL, none, &x) == LISTS_OK && x == 0);
  CHECK(lists_total_gradient(cx, xs, three, &x, &reals) == LISTS_OK && x == 14 && reals.shape[0] == 3);
  CHECK(reals.data[0] == 2 && reals.data[1] == -4 && reals.data[2] == 6);
  lists_release(reals.data);
  int64_t whole[3] = {1, 2, 3};
  CHECK(lists_turned(cx, whole, three, 5, table, two, &ints, &texts) == LISTS_OK);
  CHECK(ints.shape[0] == 3 && ints.data[0] == 3 && ints.data[2] == 1 && texts.shape[0] == 2);
  SAME(texts.data[1], "b5");
  lists_release(ints.data);
  lists_release(texts.data);
  CHECK(lists_turned(cx, NULL, none, 5, NULL, none, &ints, &texts) == LISTS_OK);
  CHECK(ints.shape[0] == 0 && texts.shape[0] == 0);
  lists_release(ints.data);
  lists_release(texts.data);
  CHECK(lists_pairs(cx, whole, two, table, two, &texts, &ints, &bools) == LISTS_OK && ints.data[1] == 3);
  SAME(texts.data[1], "bb");
  CHECK(!bools.data[0] && bools.data[1] && bools.shape[0] == 2);
  lists_release(texts.data);
  lists_release(ints.data);
  lists_release(bools.data);
  CHECK(lists_upto(cx, 100000, &ints) == LISTS_OK && ints.shape[0] == 100000 && ints.data[99999] == 1);
  lists_release(ints.data);
  CHECK(lists_constant(cx, &more) == LISTS_OK && more.shape[0] == 2);
  /* Results that are not wanted, alone and beside others. */
  CHECK(lists_at(cx, table, two, 1, NULL) == LISTS_OK);
  CHECK(lists_said(cx, table, two, NULL) == LISTS_OK);
  CHECK(lists_kinds(cx, table, two, xs, two, NULL, &reals) == LISTS_OK && reals.data[1] == -4);
  lists_release(reals.data);
  CHECK(lists_kinds(cx, table, two, xs, two, &texts, NULL) == LISTS_OK && texts.shape[0] == 2);
  SAME(texts.data[1], "b?");
  lists_release(texts.data);
  CHECK(lists_kinds(cx, table, two, xs, two, NULL, NULL) == LISTS_OK);
  /* Errors. */
  const char *const unsound[2] = {"a", "b\xff"};
  CHECK(lists_shout(cx, unsound, two, &texts) == LISTS_INVALID_TEXT);
  printf("%s\n", lists_message(cx));
  CHECK(lists_at(cx, table, two, 1, &text) == LISTS_OK);
  SAME(text, "b");
  lists_release(text.data);
  CHECK(lists_at(cx, table, two, 2, &text) == LISTS_INDEX_OUT_OF_BOUNDS);
  printf("%s\n", lists_message(cx));
  lists_set_memory_limit(cx, 1 << 16);
  const char **many = malloc(20000 * sizeof *many);
  for (int i = 0; i < 20000; i++) many[i] = "a text of some letters";
  int64_t all[1] = {20000}, beyond[1] = {INT64_MAX};
  CHECK(lists_said(cx, many, all, &n) == LISTS_OUT_OF_MEMORY);
  printf("%s\n", lists_message(cx));
  free(many);
  CHECK(lists_said(cx, table, beyond, &n) == LISTS_OUT_OF_MEMORY);
  int64_t negative[1] = {-1};
  CHECK(lists_said(cx, table, negative, &n) == LISTS_SIZE_MISMATCH);
  lists_free(cx);
  SAME(more.data[1], "bc");
  lists_release(more.data);
  printf("%d failures\n", failures);
  return failures != 0;
}
