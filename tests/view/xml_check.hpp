#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace cohort {

/// Told of each element as it opens, and of the text between elements, entities replaced.
struct XmlVisitor {
  std::function<void(const std::string& name, const std::map<std::string, std::string>& attributes)> element = {};
  std::function<void(const std::string& text)> text = {};
};

/// Reads XML, or HTML written as XML with a document type, strictly: one root, every element closed in order,
/// attributes quoted and once each, no bare '&' or '<', only entities that XML has by itself. The text of <style> is
/// taken as it is. Empty where all is well, else what is wrong and near what.
std::string xml_fault(std::string_view content, const XmlVisitor& visitor = {});

}  // namespace cohort
