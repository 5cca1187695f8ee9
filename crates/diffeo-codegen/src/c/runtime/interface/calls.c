static int failed(char **error, const char *message) {
  size_t n = strlen(message) + 1;
  if (error && (*error = malloc(n))) memcpy(*error, message, n);
  return 1;
}

static NAME_context *begin(void) {
  NAME_context *context = take_context();
  if (context) NAME_set_trace(context, printer ? print : NULL, NULL);
  return context;
}

static int end(NAME_context *context, int32_t status, char **error) {
  if (!context) return failed(error, "there is no memory");
  const char *message = NAME_message(context);
  int result = status ? failed(error, *message ? message : "what is reported has other sizes than at zero") : 0;
  give_context(context);
  return result;
}

/* How large a size is: a number, or what was said when the library was made, or what the data say. */
static bool size_of(const bs_model *m, const char *name, int64_t *n) {
  if (*name >= '0' && *name <= '9') return *n = strtoll(name, NULL, 10), true;
  for (int i = 0; known[i].name; i++)
    if (!strcmp(known[i].name, name)) return *n = known[i].size, true;
  for (int i = 0; *name && i < DATA; i++) {
    for (int j = 0; j < data[i].rank; j++)
      if (!strcmp(data[i].sizes[j], name) && m->data[i].shape[j] >= 0) return *n = m->data[i].shape[j], true;
    if (data[i].kind == 'i' && data[i].rank == 0 && !strcmp(data[i].name, name)) return *n = *INTS(i), true;
  }
  return false;
}

/* Checks the sizes of what was given, and fills in those that no element tells. */
static bool check(const bs_model *m, reader *r, const datum *expected, given *found, int count) {
  for (int i = 0; i < count; i++) {
    if (!found[i].there) return wrong(r, "`%s` is missing", expected[i].name);
    for (int j = 0; j < expected[i].rank; j++) {
      int64_t n, *size = found[i].shape + j;
      bool is = size_of(m, expected[i].sizes[j], &n);
      if (*size < 0) *size = is ? n : 0;
      if (is && n != *size)
        return wrong(r, "the size `%s` is %lld, and %lld in `%s`", expected[i].sizes[j], (long long)n, (long long)*size, expected[i].name);
    }
  }
  return true;
}

/* The names of the elements of values, their indices from 1 on; NULL if there is no memory. */
static char *names_of(const datum *d, int64_t (*shapes)[MOST_INDICES], int count, bool columns) {
  size_t room = 64, n = 0;
  char *text = calloc(room, 1);
  for (int i = 0; i < count; i++) {
    int64_t all = product(shapes[i], d[i].rank);
    for (int64_t k = 0; text && k < all; k++) {
      size_t most = strlen(d[i].name) + 21 * MOST_INDICES + 2;
      if (n + most > room) {
        char *more = realloc(text, room = 2 * room + most);
        if (!more) free(text);
        text = more;
      }
      if (!text) return NULL;
      n += (size_t)sprintf(text + n, "%s%s", n ? "," : "", d[i].name);
      int64_t at[MOST_INDICES], rest = k;
      for (int j = 0; j < d[i].rank; j++) {
        int axis = columns ? j : d[i].rank - 1 - j;
        at[axis] = rest % shapes[i][axis];
        rest /= shapes[i][axis];
      }
      for (int j = 0; j < d[i].rank; j++) n += (size_t)sprintf(text + n, ".%lld", (long long)at[j] + 1);
    }
  }
  return text;
}

static void drop(given *all, int count) {
  for (int i = 0; i < count; i++) free(all[i].data);
}

/* The text of a file; NULL if it cannot be read. */
static char *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  size_t room = 4096, n = 0, more = 0;
  char *text = malloc(room);
  while (text && (more = fread(text + n, 1, room - 1 - n, file)) > 0)
    if ((n += more) + 1 == room) {
      char *larger = realloc(text, room *= 2);
      if (!larger) free(text);
      text = larger;
    }
  fclose(file);
  if (text) text[n] = 0;
  return text;
}

API int bs_major_version = 2, bs_minor_version = 9, bs_patch_version = 0;

API void bs_model_destruct(bs_model *m) {
  if (!m) return;
  drop(m->data, DATA);
  free(m->names);
  free(m->free_names);
  free(m);
}

API bs_model *bs_model_construct(const char *text, unsigned int seed, char **error) {
  (void)seed;
  bs_model *m = calloc(1, sizeof *m);
  if (!m) return failed(error, "there is no memory"), NULL;
  size_t length = text ? strlen(text) : 0;
  char *file = length > 5 && !strcmp(text + length - 5, ".json") ? contents(text) : NULL;
  reader r = {file ? file : text ? text : "", "", 0};
  bool good = !next(&r) || (read_object(&r, "", data, m->data, DATA) && (!next(&r) || wrong(&r, "JSON: more follows at `%.20s`", here(&r))));
  good = good && check(m, &r, data, m->data, DATA);
  for (int i = 0; good && i < PARAMETERS; i++) {
    for (int j = 0; good && j < parameters[i].rank; j++)
      good = (size_of(m, parameters[i].sizes[j], &m->shape[i][j]) && m->shape[i][j] >= 0) ||
             wrong(&r, "the data do not say the size `%s` of `%s`", parameters[i].sizes[j], parameters[i].name);
    if (good) m->at[i + 1] = m->at[i] + product(m->shape[i], parameters[i].rank);
  }
  free(file);
  if (!good) {
    failed(error, r.message);
    return bs_model_destruct(m), NULL;
  }
  m->count = m->at[PARAMETERS];
  if (REPORTED > 0) {
    double *zero = calloc((size_t)m->count + 1, sizeof *zero);
    NAME_context *context = zero ? begin() : NULL;
    int result = end(context, context ? call_reported(m, context, zero, NULL) : 0, error);
    free(zero);
    if (result) return bs_model_destruct(m), NULL;
  }
  m->out_count = REPORTED > 0 ? m->out_at[REPORTED] : m->count;
  m->names = REPORTED > 0 ? names_of(reported, m->out_shape, REPORTED, true) : names_of(parameters, m->shape, PARAMETERS, true);
  m->free_names = names_of(parameters, m->shape, PARAMETERS, false);
  if (m->names && m->free_names) return m;
  failed(error, "there is no memory");
  return bs_model_destruct(m), NULL;
}

API void bs_free_error_msg(char *error) { free(error); }
API const char *bs_name(const bs_model *m) { return (void)m, "NAME"; }
API const char *bs_model_info(const bs_model *m) { return (void)m, "made by diffeo build\nSTAN_THREADS=true\n"; }
API const char *bs_param_names(const bs_model *m, bool tp, bool gq) { return (void)tp, (void)gq, m->names; }
API const char *bs_param_unc_names(const bs_model *m) { return m->free_names; }
API int bs_param_num(const bs_model *m, bool tp, bool gq) { return (void)tp, (void)gq, (int)m->out_count; }
API int bs_param_unc_num(const bs_model *m) { return (int)m->count; }

API int bs_set_print_callback(print_callback callback, char **error) {
  (void)error;
  printer = callback;
  return 0;
}

API int bs_param_constrain(const bs_model *m, bool tp, bool gq, const double *theta, double *to, bs_rng *rng, char **error) {
  (void)tp, (void)gq, (void)rng;
  if (REPORTED > 0) {
    NAME_context *context = begin();
    return end(context, context ? call_reported((bs_model *)(intptr_t)m, context, theta, to) : 0, error);
  }
  for (int i = 0; i < PARAMETERS; i++) turn(to + m->at[i], theta + m->at[i], m->shape[i], parameters[i].rank, false);
  return 0;
}

static const char *const one_way = "NAME reports a function of its parameters, which is not inverted: give parameters as its log density takes them";

API int bs_param_unconstrain(const bs_model *m, const double *from, double *theta, char **error) {
  if (REPORTED > 0) return failed(error, one_way);
  for (int i = 0; i < PARAMETERS; i++) turn(theta + m->at[i], from + m->at[i], m->shape[i], parameters[i].rank, true);
  return 0;
}

/* Parameters by name; those that are missing stay. */
static int read_parameters(const bs_model *m, const char *text, double *theta, bool all, char **error) {
  if (REPORTED > 0) return failed(error, one_way);
  given found[PARAMETERS + 1];
  memset(found, 0, sizeof found);
  reader r = {text, "", 0};
  bool good = read_object(&r, "", parameters, found, PARAMETERS);
  for (int i = 0; good && i < PARAMETERS; i++) {
    if (found[i].there) {
      good = check(m, &r, parameters + i, found + i, 1);
      if (good && found[i].count) memcpy(theta + m->at[i], found[i].data, (size_t)found[i].count * sizeof *theta);
    } else if (all) {
      good = wrong(&r, "`%s` is missing", parameters[i].name);
    }
  }
  drop(found, PARAMETERS);
  return good ? 0 : failed(error, r.message);
}

API int bs_param_unconstrain_json(const bs_model *m, const char *text, double *theta, char **error) {
  return read_parameters(m, text, theta, true, error);
}

API int bs_log_density(const bs_model *m, bool propto, bool jacobian, const double *theta, double *value, char **error) {
  (void)propto, (void)jacobian;
  NAME_context *context = begin();
  return end(context, context ? call_density(m, context, theta, value) : 0, error);
}

API int bs_log_density_gradient(const bs_model *m, bool propto, bool jacobian, const double *theta, double *value, double *gradient, char **error) {
  (void)propto, (void)jacobian;
  NAME_context *context = begin();
  return end(context, context ? call_gradient(m, context, theta, value, gradient) : 0, error);
}

API int bs_log_density_hessian_vector_product(const bs_model *m, bool propto, bool jacobian, const double *theta, const double *along, double *value, double *to, char **error) {
  (void)propto, (void)jacobian;
  NAME_context *context = begin();
  return end(context, context ? call_product(m, context, theta, along, value, NULL, to) : 0, error);
}

API int bs_log_density_hessian(const bs_model *m, bool propto, bool jacobian, const double *theta, double *value, double *gradient, double *hessian, char **error) {
  (void)propto, (void)jacobian;
  double *unit = calloc((size_t)m->count + 1, sizeof *unit);
  NAME_context *context = unit ? begin() : NULL;
  int32_t status = 0;
  for (int64_t i = 0; context && !status && i < m->count; i++) {
    unit[i] = 1;
    status = call_product(m, context, theta, unit, value, gradient, hessian + i * m->count);
    unit[i] = 0;
  }
  free(unit);
  return end(context, status, error);
}

API bs_rng *bs_rng_construct(unsigned int seed, char **error) {
  bs_rng *rng = malloc(sizeof *rng);
  if (!rng) return failed(error, "there is no memory"), NULL;
  rng->state = seed;
  return rng;
}

API void bs_rng_destruct(bs_rng *rng) { free(rng); }

/* A number in [0, 1) by SplitMix64. */
static double uniform(bs_rng *rng) {
  uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

API int bs_param_initialize(const bs_model *m, const char *text, bs_rng *rng, double radius, int tries, bool jacobian, double *theta, char **error) {
  for (int n = 0; n < tries; n++) {
    double value = 0;
    for (int64_t i = 0; i < m->count; i++) theta[i] = radius * (2 * uniform(rng) - 1);
    if (text && *text && read_parameters(m, text, theta, false, error)) return 1;
    if (bs_log_density(m, true, jacobian, theta, &value, error)) return 1;
    if (value - value == 0) return 0;
  }
  return failed(error, "no point with a finite log density was found");
}
