#include "base/plugin.hpp"

// In every plugin: which build it is of.
extern "C" COHORT_PLUGIN_EXPORT const char* cohort_plugin_build() { return COHORT_BUILD; }
