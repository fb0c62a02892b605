#pragma once

#include <span>
#include <vector>

namespace cohort {

/// The cores that the calling thread may run on, ascending; never empty.
std::vector<int> usable_cores();

/// The cores to spread streams and OpenMP's threads over: usable_cores(), or none where the user has said
/// by OMP_PROC_BIND how threads are bound.
///
/// Why bind at all: a kernel that puts OpenMP's helper on its caller's core leaves it there, as neither
/// is ever seen to wait long; each then waits for the other to give up spinning, and a step of 14 us
/// takes 440.
std::vector<int> cores_to_bind();

/// Keeps the calling thread on `core`. Does nothing where the system refuses.
void bind_to_core(int core);
/// The same for several cores, on any of which it may run.
void bind_to_cores(std::span<const int> cores);

/// Of `usable` cores: the first for the thread that drives a session, and one for each of `threads` that launch for it.
/// Empty where there are not as many: then nobody is bound.
std::vector<int> launch_cores(int threads, std::span<const int> usable);

/// Those of `usable` that are not `taken`, for threads that must not disturb who has those. Empty where nothing is
/// taken or nothing is left: such threads then run anywhere.
std::vector<int> cores_beside(std::span<const int> taken, std::span<const int> usable);

/// Moves the calling thread to `core` unless it is there, and leaves it as free as it was: threads that
/// it starts later must not inherit a single core.
void move_to_core(int core);

}  // namespace cohort
