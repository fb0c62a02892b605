/// cuDNN and cuBLASLt keep blocks until the process ends, some from modules that are gone by then and cannot be
/// named in a suppression; so leaks are not looked for in programs with this file. All else of the sanitizer is.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
