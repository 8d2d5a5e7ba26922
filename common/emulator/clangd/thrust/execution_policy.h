#include "transform.h"
