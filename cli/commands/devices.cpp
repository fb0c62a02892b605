#include "cli/devices.hpp"

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const DeviceInfo& device) {
  return {{"id", device.id},
          {"kind", device.kind},
          {"available", device.available},
          {"reason", device.reason},
          {"name", device.name},
          {"cores", device.cores},
          {"memory_bytes", device.memory.value},
          {"settings", device.settings}};
}

std::string to_text(const DeviceInfo& device) {
  std::string text =
      fmt::format("{:<12} {:<14} {}\n", device.id, device.available ? "available" : "not available", device.name);
  const auto detail = [&](std::string_view what, std::string_view value) {
    text += fmt::format("{:<12} {}: {}\n", "", what, value);
  };
  if (!device.available) detail("reason", device.reason);
  if (device.available) detail("cores", std::to_string(device.cores));
  if (device.memory.value > 0) detail("memory", format_bytes(device.memory));
  for (const auto& [key, value] : device.settings) detail(key, value);
  return text;
}

Result<void> print_devices(CommandContext& context) {
  const std::vector<DeviceInfo> devices = list_devices();
  if (context.json) {
    ordered_json list = ordered_json::array();
    for (const DeviceInfo& device : devices) list.push_back(to_json(device));
    context.console.print_json(list);
    return {};
  }
  for (const DeviceInfo& device : devices) context.console.print(to_text(device));
  return {};
}

}  // namespace

Command devices_command() {
  Command command;
  command.name = "devices";
  command.help = "List the devices: which are here, what they are, and why others are not";
  command.example = "cohort devices";
  command.setup = [](CLI::App& /*app*/) -> RunFunction { return print_devices; };
  return command;
}

}  // namespace cohort
