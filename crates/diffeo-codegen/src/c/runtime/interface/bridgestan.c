/* The log density NAME as a model of BridgeStan, for its clients and for nutpie. Parameters are unconstrained, as the
 * function takes them: what `propto` and `jacobian` ask for is not distinguished. A nan is given as any other number is.
 * Data are JSON, by the names of the parameters and fields that the function takes behind its first one.
 * This file needs NAME.h and C11. */
#include "NAME.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

