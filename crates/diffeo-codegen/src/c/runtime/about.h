/* The library NAME, made by `diffeo build`.
 *
 * Everything happens in a context. A context is used by one thread at a time; any number of threads can each
 * have one. Constants of the program are computed once in each context.
 *
 * A function gives 0, or the status of the error that it has stopped with. Results that are texts or arrays
 * belong to the caller, who gives their `data` to NAME_release. After an error no result is given. The pointer to a
 * result that is not wanted may be NULL, and so may the data of an argument that is an array without elements.
 * A nan is a value: one that is given or computed, and a derivative that does not exist, whether the caller or the
 * program asks for it, is given as nan, and the status is that of success.
 * The texts of an array are freed with its `data`.
 * Arguments are only read, and may be freed after the call. An array has its elements row after row, and its
 * sizes in `shape`. A list of the program is an array of one index. Texts are UTF-8 with a byte 0 behind them; others are
 * the error `invalid-text`.
 *
 * Deep recursion needs stack: a call that does not fit on the stack of its thread is the error `too-deep`. */
