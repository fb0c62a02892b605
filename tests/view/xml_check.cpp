#include "tests/view/xml_check.hpp"

#include <vector>

namespace cohort {
namespace {

class XmlReader {
 public:
  XmlReader(std::string_view content, const XmlVisitor& visitor) : content_(content), visitor_(visitor) {}

  std::string fault() {
    if (skip("<?xml")) at_ = after("?>");
    skip_space();
    if (skip("<!doctype html>")) skip_space();
    while (fault_.empty() && at_ < content_.size()) {
      if (content_[at_] == '<') {
        read_markup();
      } else {
        read_text();
      }
    }
    if (fault_.empty() && !open_.empty()) fail("<" + open_.back() + "> is never closed");
    if (fault_.empty() && roots_ != 1) fail("there is not one root");
    return fault_;
  }

 private:
  void fail(const std::string& what) {
    if (fault_.empty()) fault_ = what + " near: " + std::string(content_.substr(at_ < 40 ? 0 : at_ - 40, 80));
    at_ = content_.size();
  }

  bool skip(std::string_view text) {
    if (!content_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  std::size_t after(std::string_view text) {
    const std::size_t found = content_.find(text, at_);
    return found == std::string_view::npos ? content_.size() : found + text.size();
  }

  void skip_space() {
    while (at_ < content_.size() && (content_[at_] == ' ' || content_[at_] == '\n')) ++at_;
  }

  std::string read_name() {
    const std::size_t end = content_.find_first_of(" \n/>=\"", at_);
    std::string name(content_.substr(at_, end - at_));
    at_ += name.size();
    if (name.empty()) fail("a name is missing");
    return name;
  }

  std::string unescape(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '<') fail("a bare '<'");
      if (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n' && text[i] != '\t') fail("a control character");
      if (text[i] != '&') {
        plain += text[i];
        continue;
      }
      const std::map<std::string, char> kKnown = {
          {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
      const auto known = kKnown.find(std::string(text.substr(i, text.find(';', i) + 1 - i)));
      if (known == kKnown.end()) {
        fail("a bare '&'");
        return plain;
      }
      plain += known->second;
      i += known->first.size() - 1;
    }
    return plain;
  }

  void read_text() {
    const std::size_t end = std::min(content_.find('<', at_), content_.size());
    const std::string text = unescape(content_.substr(at_, end - at_));
    if (open_.empty() && text.find_first_not_of(" \n") != std::string::npos) fail("text outside of the root");
    if (fault_.empty()) at_ = end;
    if (fault_.empty() && visitor_.text) visitor_.text(text);
  }

  void read_markup() {
    if (skip("</")) {
      const std::string name = read_name();
      if (!skip(">")) fail("</" + name + " is not closed");
      if (open_.empty() || open_.back() != name) {
        fail("</" + name + "> closes what is not open");
        return;
      }
      open_.pop_back();
      return;
    }
    ++at_;
    if (open_.empty()) ++roots_;
    const std::string name = read_name();
    const auto attributes = read_attributes();
    if (!fault_.empty()) return;
    if (visitor_.element) visitor_.element(name, attributes);
    if (skip("/>")) return;
    if (!skip(">")) {
      fail("<" + name + " is not closed");
      return;
    }
    open_.push_back(name);
    if (name == "style") at_ = std::min(content_.find("</style", at_), content_.size());
  }

  std::map<std::string, std::string> read_attributes() {
    std::map<std::string, std::string> attributes;
    for (skip_space(); at_ < content_.size() && content_[at_] != '>' && content_[at_] != '/'; skip_space()) {
      const std::string name = read_name();
      if (!skip("=\"")) {
        fail("the attribute " + name + " has no quoted value");
        break;
      }
      const std::size_t end = std::min(content_.find('"', at_), content_.size());
      if (!attributes.emplace(name, unescape(content_.substr(at_, end - at_))).second) fail(name + " is there twice");
      if (fault_.empty()) at_ = end + 1;
    }
    return attributes;
  }

  std::string_view content_;
  const XmlVisitor& visitor_;
  std::size_t at_ = 0;
  std::size_t roots_ = 0;
  std::vector<std::string> open_;
  std::string fault_;
};

}  // namespace

std::string xml_fault(std::string_view content, const XmlVisitor& visitor) {
  return XmlReader(content, visitor).fault();
}

}  // namespace cohort
