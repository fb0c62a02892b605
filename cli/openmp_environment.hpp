#pragma once

namespace cohort {

/// OpenMP's idle threads spin for milliseconds by default and hold cores that concurrent members and
/// decoding need; but one that sleeps at once makes every op on several cores wait for it to wake.
/// Unless the user has chosen, starts the program again with a short spin: the library reads its
/// environment once, before main().
void set_openmp_environment(char** argv);

}  // namespace cohort
