/* What every program needs, whoever has its memory. */

/* Copies; they do not overlap. */
DF_FN void df_copy(char *to, const char *from, int64_t bytes) {
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
}

/* Whether the stack is nearly used up, or the run is to end (then the end of the stack is the highest
 * address). */
#if defined(__GNUC__)
#define DF_STACK_LOW(cx) DF_UNLIKELY((char *)__builtin_frame_address(0) < (cx)->stack_end)
#else
DF_FN bool df_stack_low(const df_context *cx) {
  char here;
  char *volatile address = &here;
  return address < cx->stack_end;
}
#define DF_STACK_LOW(cx) DF_UNLIKELY(df_stack_low(cx))
#endif
