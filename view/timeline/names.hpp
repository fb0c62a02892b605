#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// What a kernel is called, without what it returns, where it lives and what it takes:
/// "void at::native::(anonymous namespace)::reduce_kernel<512, float>(int)" is "reduce_kernel". Names that are no C++
/// functions stay as they are: "Memcpy HtoD (Pinned -> Device)", "module.py(12): forward".
std::string_view short_name(std::string_view name);

/// A name for a line of text: without line breaks, its middle left out where it is longer than `most` bytes.
std::string shortened(std::string_view name, std::size_t most);

}  // namespace cohort
