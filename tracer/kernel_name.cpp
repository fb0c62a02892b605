#include "tracer/kernel_name.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"

namespace cohort {
namespace {

struct Type {
  std::string_view name;
  bool narrow;  ///< 16 bits or fewer
};
/// As NVIDIA's libraries spell them in kernels' names.
constexpr std::array<Type, 13> kTypes = {{{"bf16", true},
                                          {"fp16", true},
                                          {"f16", true},
                                          {"e4m3", true},
                                          {"e5m2", true},
                                          {"i8", true},
                                          {"u8", true},
                                          {"i4", true},
                                          {"u4", true},
                                          {"tf32", false},
                                          {"f32", false},
                                          {"f64", false},
                                          {"i32", false}}};

/// Takes a type off the front of a word.
std::optional<Type> take_type(std::string_view& word) {
  for (const Type& type : kTypes) {
    if (!word.starts_with(type.name)) continue;
    word.remove_prefix(type.name.size());
    return type;
  }
  return std::nullopt;
}

bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Calls `visit` with one run of letters and digits after another.
template <class Visitor>
void for_each_word(std::string_view name, Visitor&& visit) {
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_word(name[end])) ++end;
    if (end > at) visit(name.substr(at, end - at));
    at = end + 1;
  }
}

/// What the places say where libraries put the types of operands (rules 1 and 2).
std::optional<bool> named_operands(std::string_view kernel) {
  std::optional<bool> of_pair;
  std::optional<bool> behind_gemm;
  bool gemm = false;
  for_each_word(kernel, [&](std::string_view word) {
    std::string_view rest = word;
    const std::optional<Type> first = take_type(rest);
    if (first && rest.empty() && gemm && !behind_gemm) behind_gemm = first->narrow;
    if (first && !rest.empty() && take_type(rest) && rest.empty() && !of_pair) of_pair = first->narrow;
    gemm = word.ends_with("gemm");
  });
  return of_pair ? of_pair : behind_gemm;
}

/// By the letters that stand for the types of a product of cuBLAS (rule 3).
std::optional<bool> nvjet_operands(std::string_view kernel) {
  std::optional<bool> narrow;
  bool nvjet = false;
  for_each_word(kernel, [&](std::string_view word) {
    constexpr std::string_view kWide = "sdcz";
    if (nvjet && !narrow && !word.starts_with("sm")) narrow = kWide.find(word.front()) == std::string_view::npos;
    nvjet = nvjet || word == "nvjet";
  });
  return narrow;
}

/// By the letters behind the indices of a product of rocBLAS or hipBLASLt: "Cijk_Ailk_Bljk_HHS_BH_...".
std::optional<bool> tensile_operands(std::string_view kernel) {
  constexpr int kIndices = 3;  // of C, A and B
  std::optional<bool> narrow;
  int words = 0;
  for_each_word(kernel, [&](std::string_view word) {
    if (words == 0 && word != "Cijk") return;
    if (words++ == kIndices) narrow = std::string_view("SDCZ").find(word.front()) == std::string_view::npos;
  });
  return narrow;
}

bool is_narrow_word(std::string_view word) {
  constexpr std::array<std::string_view, 9> kWords = {"bf16",     "fp16",      "f16",     "Half",   "BFloat16",
                                                      "bfloat16", "bfloat162", "float16", "Float16"};
  constexpr std::array<std::string_view, 11> kStarts = {"e4m3",  "e5m2",   "hmma",   "hgemm",   "h884",   "s884",
                                                        "h1688", "h16816", "s16816", "h161616", "s161616"};
  const auto starts = [&](std::string_view start) { return word.starts_with(start); };
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  if (std::any_of(kStarts.begin(), kStarts.end(), starts)) return true;
  constexpr std::string_view kHalf = "half";  // and half2, half8
  return starts(kHalf) && std::all_of(word.begin() + kHalf.size(), word.end(), is_digit);
}

}  // namespace

bool is_collective(std::string_view kernel) {
  constexpr std::string_view kReturns = "void ";
  if (kernel.starts_with(kReturns)) kernel.remove_prefix(kReturns.size());
  return kernel.starts_with("nccl") || kernel.starts_with("rccl") || kernel.starts_with("msccl");
}

bool computes_in_16_bits(std::string_view kernel) {
  if (const auto narrow = named_operands(kernel)) return *narrow;
  if (const auto narrow = nvjet_operands(kernel)) return *narrow;
  if (const auto narrow = tensile_operands(kernel)) return *narrow;
  if (kernel.find("tf32") != std::string_view::npos) return false;
  bool narrow = kernel.find("OpaqueType<2") != std::string_view::npos;  // PyTorch's, of so many bytes
  for_each_word(kernel, [&](std::string_view word) { narrow = narrow || is_narrow_word(word); });
  return narrow;
}

}  // namespace cohort
