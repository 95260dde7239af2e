/* The comparison of two trees that the mount's tests use, for those here. */
#include "mount/twin.c"
