#include "cli/fuse_option.hpp"

#include "cli/list_option.hpp"

namespace cohort {

Result<FuseRequest> parse_fuse(const std::string& text) {
  FuseRequest request;
  if (text == "none") return request;
  if (text == "auto") {
    request.choice = FuseChoice::kAuto;
    return request;
  }
  request.choice = FuseChoice::kNamed;
  request.names = parts_of_list(text);
  for (const std::string& name : request.names) {
    if (name.empty()) return fail(ErrorCode::kUsage, "--fuse '{}': an empty name", text);
  }
  return request;
}

}  // namespace cohort
