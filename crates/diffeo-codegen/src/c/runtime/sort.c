/* Stable sorting permutations: runs of a few by insertion, then merged. */

/* nan comes last. */
#define DF_AFTER_REAL(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#define DF_AFTER_INT(a, b) ((a) > (b))
#define DF_AFTER_TEXT(a, b) (df_compare_text(a, b) > 0)

/* `df_sort_NAME(cx, data, length, to)`: some permutation if the run is to end. Where there is no memory for the other
 * half of a merge, insertion does it all. */
#define DF_SORT(NAME, TYPE, AFTER)                                                                              \
  struct df_key_##NAME {                                                                                        \
    TYPE key;                                                                                                   \
    int64_t index;                                                                                              \
  };                                                                                                            \
  DF_FN void df_insert_##NAME(TYPE const *data, int64_t length, int64_t *to) {                                  \
    for (int64_t i = 0; i < length; i++) {                                                                      \
      int64_t j = i;                                                                                            \
      for (; j > 0 && AFTER(data[to[j - 1]], data[i]); j--) to[j] = to[j - 1];                                  \
      to[j] = i;                                                                                                \
    }                                                                                                           \
  }                                                                                                             \
  DF_FN void df_sort_##NAME(df_context *cx, char *from, int64_t length, char *out) {                            \
    TYPE const *data = (TYPE const *)from;                                                                      \
    int64_t *to = (int64_t *)out;                                                                               \
    const int64_t run = 16;                                                                                     \
    bool sorted = true;                                                                                         \
    for (int64_t i = 1; sorted && i < length; i++) sorted = !AFTER(data[i - 1], data[i]);                       \
    if (sorted) {                                                                                               \
      for (int64_t i = 0; i < length; i++) to[i] = i;                                                           \
      return;                                                                                                   \
    }                                                                                                           \
    struct df_key_##NAME *a = NULL;                                                                             \
    if (length > run) a = malloc((size_t)length * 2 * sizeof *a);                                               \
    if (!a) {                                                                                                   \
      df_insert_##NAME(data, length, to);                                                                       \
      return;                                                                                                   \
    }                                                                                                           \
    struct df_key_##NAME *b = a + length, *block = a;                                                           \
    for (int64_t lo = 0; lo < length; lo += run) {                                                              \
      int64_t hi = lo + run < length ? lo + run : length;                                                       \
      for (int64_t i = lo; i < hi; i++) {                                                                       \
        TYPE key = data[i];                                                                                     \
        int64_t j = i;                                                                                          \
        for (; j > lo && AFTER(a[j - 1].key, key); j--) a[j] = a[j - 1];                                        \
        a[j].key = key;                                                                                         \
        a[j].index = i;                                                                                         \
      }                                                                                                         \
    }                                                                                                           \
    for (int64_t width = run; width < length; width *= 2) {                                                     \
      for (int64_t lo = 0; lo < length; lo += 2 * width) {                                                      \
        if (df_poll(cx)) {                                                                                      \
          for (int64_t i = 0; i < length; i++) to[i] = i;                                                       \
          free(block);                                                                                          \
          return;                                                                                               \
        }                                                                                                       \
        int64_t middle = lo + width < length ? lo + width : length;                                             \
        int64_t hi = lo + 2 * width < length ? lo + 2 * width : length;                                         \
        int64_t i = lo, j = middle, k = lo;                                                                     \
        while (i < middle && j < hi) {                                                                          \
          bool second = AFTER(a[i].key, a[j].key);                                                              \
          b[k++] = a[second ? j : i];                                                                           \
          i += !second;                                                                                         \
          j += second;                                                                                          \
        }                                                                                                       \
        while (i < middle) b[k++] = a[i++];                                                                     \
        while (j < hi) b[k++] = a[j++];                                                                         \
      }                                                                                                         \
      struct df_key_##NAME *other = a;                                                                          \
      a = b;                                                                                                    \
      b = other;                                                                                                \
    }                                                                                                           \
    for (int64_t i = 0; i < length; i++) to[i] = a[i].index;                                                    \
    free(block);                                                                                                \
  }

DF_SORT(reals, double, DF_AFTER_REAL)
DF_SORT(ints, int64_t, DF_AFTER_INT)
DF_SORT(texts, const char *, DF_AFTER_TEXT)
