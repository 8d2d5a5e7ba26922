#include "../transform.h"
