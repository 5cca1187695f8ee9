/* Handlers of XLA's foreign function interface for the functions of NAME: `NAME_loss` is the handler `NAME_loss_xla`.
 * In Python: jax.ffi.register_ffi_target("loss", jax.ffi.pycapsule(ctypes.CDLL("libNAME.so").NAME_loss_xla)).
 * Buffers are those of the function in the header, results after arguments: Real is f64, Int s64, Bool pred.
 * A nan is given as any other number is. This file needs NAME.h and C11. */
#include "NAME.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What is needed of the interface, version 0.1: the layout of what XLA passes. */
typedef struct extension { size_t struct_size; int kind; struct extension *next; } extension;
typedef struct version { size_t struct_size; extension *start; int major, minor; } version;
typedef struct metadata { size_t struct_size; version version; uint32_t traits; } metadata;
typedef struct asking { extension base; metadata *metadata; } asking;
typedef struct failure { size_t struct_size; extension *start; const char *message; int code; } failure;
typedef struct api { size_t struct_size; extension *start; version version; const void *internal; void *(*error)(failure *); } api;
typedef struct buffer { size_t struct_size; extension *start; int dtype; void *data; int64_t rank; int64_t *dims; } buffer;
typedef struct list { size_t struct_size; extension *start; int64_t size; int *kinds; buffer **items; } list;
typedef struct frame { size_t struct_size; extension *start; const api *api; void *context; int stage; list takes, gives; } frame;

/* A buffer that a function takes or gives. */
typedef struct value { const char *name; int dtype; int64_t rank; } value;

static void *fail(const frame *call, int code, const char *message) {
  failure args = {sizeof args, NULL, message, code};
  return call->api->error(&args);
}

/* Whether XLA asks for the version, and tells it. */
static bool tells(const frame *call) {
  for (extension *e = call->start; e; e = e->next) {
    if (e->kind != 1) continue;
    metadata *about = ((asking *)(void *)e)->metadata;
    about->version.major = 0;
    about->version.minor = 1;
    return true;
  }
  return false;
}

static void *misfit(const frame *call, const char *function, const list *given, const value *expected, int64_t count) {
  char text[400];
  if (given->size != count) {
    snprintf(text, sizeof text, "%s: %lld buffers are expected, not %lld", function, (long long)count, (long long)given->size);
    return fail(call, 3, text);
  }
  for (int64_t i = 0; i < count; i++) {
    const buffer *b = given->items[i];
    if (b->dtype == expected[i].dtype && b->rank == expected[i].rank) continue;
    const char *type = expected[i].dtype == 12 ? "f64" : expected[i].dtype == 5 ? "s64" : "pred";
    snprintf(text, sizeof text, "%s: %s is expected as an array of %s with %lld dimensions, not %lld dimensions of type %d%s",
             function, expected[i].name, type, (long long)expected[i].rank, (long long)b->rank, b->dtype,
             b->dtype == 11 || b->dtype == 4 ? " (32 bits: set jax_enable_x64)" : "");
    return fail(call, 3, text);
  }
  return NULL;
}

/* Copies a result into its buffer, if that has its sizes. */
static bool put(const buffer *to, const void *from, const int64_t *shape, size_t bytes) {
  for (int64_t i = 0; i < to->rank; i++) {
    if (to->dims[i] != shape[i]) return false;
    bytes *= (size_t)shape[i];
  }
  if (bytes) memcpy(to->data, from, bytes);
  return true;
}

