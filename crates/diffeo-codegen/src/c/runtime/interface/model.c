/* A model: data, sizes, and where each parameter begins. */
typedef struct bs_model {
  given data[DATA + 1];
  int64_t at[PARAMETERS + 1], shape[PARAMETERS + 1][MOST_INDICES], count;
  int64_t out_at[REPORTED + 1], out_shape[REPORTED + 1][MOST_INDICES], out_count;
  char *names, *free_names;
} bs_model;

typedef struct bs_rng { uint64_t state; } bs_rng;

#define REALS(I) ((const double *)(const void *)m->data[I].data)
#define INTS(I) ((const int64_t *)(const void *)m->data[I].data)
#define BOOLS(I) ((const bool *)(const void *)m->data[I].data)
#define API __attribute__((visibility("default")))

static int64_t product(const int64_t *shape, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= shape[i];
  return n;
}

/* Moves elements from rows one behind the other to columns, or back. */
static void turn(double *to, const double *from, const int64_t *shape, int rank, bool back) {
  int64_t count = product(shape, rank);
  for (int64_t k = 0; k < count; k++) {
    int64_t rest = k, column = 0;
    for (int i = rank - 1; i >= 0; i--) {
      column = column * shape[i] + rest % shape[i];
      rest /= shape[i];
    }
    to[back ? k : column] = from[back ? column : k];
  }
}

/* Takes a result that is reported: its sizes if there is no place for it, else its elements. */
static bool report(bs_model *m, int i, const void *data, const int64_t *shape, double *to) {
  const datum *d = reported + i;
  if (to && memcmp(m->out_shape[i], shape ? shape : m->out_shape[i], (size_t)d->rank * sizeof *shape)) return false;
  if (!to) {
    if (d->rank > 0) memcpy(m->out_shape[i], shape, (size_t)d->rank * sizeof *shape);
    m->out_at[i + 1] = m->out_at[i] + product(m->out_shape[i], d->rank);
    return true;
  }
  int64_t count = product(m->out_shape[i], d->rank);
  double *rows = malloc((size_t)(count + 1) * sizeof *rows);
  if (!rows) return false;
  for (int64_t k = 0; k < count; k++)
    rows[k] = d->kind == 'r'   ? ((const double *)data)[k]
              : d->kind == 'i' ? (double)((const int64_t *)data)[k]
                               : (double)((const bool *)data)[k];
  turn(to + m->out_at[i], rows, m->out_shape[i], d->rank, false);
  free(rows);
  return true;
}

/* What prints the lines of `trace`. */
typedef void (*print_callback)(const char *text, int length);
static print_callback _Atomic printer;

static void print(void *data, const char *label, int64_t label_bytes, const char *value, int64_t value_bytes) {
  (void)data;
  print_callback callback = printer;
  char *line = malloc((size_t)(label_bytes + value_bytes) + 4);
  if (line && callback) {
    int n = sprintf(line, "%.*s: %.*s\n", (int)label_bytes, label, (int)value_bytes, value);
    callback(line, n);
  }
  free(line);
}

