typedef struct NAME_context NAME_context;

/* A new context; null if there is no memory for it. */
NAME_context *NAME_new(void);

/* Frees a context and what is in it; the results of its calls stay. */
void NAME_free(NAME_context *context);

/* Frees the data of a result. */
void NAME_release(void *data);

/* The message of the last call that has failed, `FILE:LINE:COLUMN: MESSAGE`, until the next call; empty if the
 * last call has not failed. */
const char *NAME_message(const NAME_context *context);

/* The name of a status, such as `index-out-of-bounds`; empty for 0. */
const char *NAME_code(int32_t status);

/* Ends the call that runs in the context, with the status `interrupted`; from another thread or a signal
 * handler. */
void NAME_interrupt(NAME_context *context);

/* How many bytes a context may use; any number if it is 0. */
void NAME_set_memory_limit(NAME_context *context, int64_t bytes);

/* Takes the lines that the program prints by `trace`; by default they go to the standard error. */
void NAME_set_trace(NAME_context *context,
                    void (*trace)(void *data, const char *label, int64_t label_bytes, const char *value,
                                  int64_t value_bytes),
                    void *data);
