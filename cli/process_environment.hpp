#pragma once

#include <string>
#include <vector>

namespace cohort {

/// Starts the program again with what libraries read from the environment once, before main(), unless the user has
/// chosen:
///
/// - OpenMP's idle threads spin for milliseconds by default and hold cores that concurrent members and decoding need;
///   but one that sleeps at once makes every op on several cores wait for it to wake. They get a short spin.
/// - Weights and activations in pages of 4 KiB take up to a tenth longer to read than in huge pages, and how much
///   longer varies from one loading to the next. glibc asks for huge pages.
void set_process_environment(char** argv);

/// `environment`, of lines NAME=VALUE, with the settings above added, and a line for each that says so; unchanged where
/// nothing is to be added.
std::vector<std::string> with_own_settings(std::vector<std::string> environment);
/// The reverse: what the user gave, for programs of theirs.
std::vector<std::string> without_own_settings(std::vector<std::string> environment);

}  // namespace cohort
