#include "nczchunk.h"
#include "nczchunk.h"
