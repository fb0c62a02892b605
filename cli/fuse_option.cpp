#include "cli/fuse_option.hpp"

#include <algorithm>

namespace cohort {

Result<FuseRequest> parse_fuse(const std::string& text) {
  FuseRequest request;
  if (text == "none") return request;
  if (text == "auto") {
    request.choice = FuseChoice::kAuto;
    return request;
  }
  request.choice = FuseChoice::kNamed;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    request.names.push_back(text.substr(start, comma - start));
    if (request.names.back().empty()) return fail(ErrorCode::kUsage, "--fuse '{}': an empty name", text);
    start = comma + 1;
  }
  return request;
}

}  // namespace cohort
