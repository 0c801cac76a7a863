/* half.h - moved to base, where render and the tools see it too */
#include "base/half.h"
