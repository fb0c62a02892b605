#include "training/member_file.hpp"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "training/fingerprint.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "states are copied as they lie in memory");

constexpr std::string_view kMagic = "cohort training state 1\n";

void append_number(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void append_floats(std::string& bytes, const std::vector<float>& values) {
  append_number(bytes, values.size());
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

std::uint64_t sum_of(std::string_view bytes) { return Fingerprint().add(bytes).value(); }

ordered_json to_json(const Point& point) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : point) object[name] = to_string(value);
  return object;
}

/// Numbers as their bits: what is read back is the same.
std::int64_t bits_of(double number) { return std::bit_cast<std::int64_t>(number); }

ordered_json header_of(const SweepMember& member, const MemberFileFacts& facts) {
  ordered_json header;
  header["member"] = member.name;
  header["network"] = facts.network;
  header["step"] = facts.step;
  header["outcome"] = to_string(member.outcome);
  header["reason"] = member.reason;
  header["steps"] = member.steps;
  header["hyperparameters"] = to_json(member.point);
  header["seed"] = member.hyperparameters.seed;
  header["normalization"] = {{"mean", facts.normalization.mean}, {"std", facts.normalization.stddev}};
  header["loss_sum_bits"] = bits_of(member.loss_sum);
  header["epochs"] = ordered_json::array();
  for (const EpochResult& epoch : member.epochs) {
    ordered_json each = {
        {"epoch", epoch.epoch}, {"train_loss_bits", bits_of(epoch.train_loss)}, {"loss_bits", bits_of(epoch.loss)}};
    if (epoch.accuracy) each["accuracy_bits"] = bits_of(*epoch.accuracy);
    header["epochs"].push_back(std::move(each));
  }
  return header;
}

/// Cuts parts off the front.
class Bytes64 {
 public:
  explicit Bytes64(std::string_view rest) : rest_(rest) {}

  Result<std::uint64_t> number() {
    COHORT_TRY(const std::string_view bytes, take(sizeof(std::uint64_t)));
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  Result<std::string_view> take(std::uint64_t count) {
    if (count > rest_.size()) return fail(ErrorCode::kInvalidInput, "is cut off");
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }
  Result<std::vector<float>> floats() {
    COHORT_TRY(const std::uint64_t count, number());
    if (count > rest_.size() / sizeof(float)) return fail(ErrorCode::kInvalidInput, "is cut off");
    COHORT_TRY(const std::string_view bytes, take(count * sizeof(float)));
    std::vector<float> values(count);
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::string_view rest_;
};

constexpr std::int64_t kMostValues = INT64_MAX;

Result<double> number_from(JsonObject& object, std::string_view key) {
  COHORT_TRY(const std::int64_t bits, object.integer(key, INT64_MIN, kMostValues));
  return std::bit_cast<double>(bits);
}

Result<void> read_progress(JsonObject& header, SweepMember& member) {
  COHORT_TRY(const std::string outcome, header.string("outcome"));
  COHORT_TRY(member.outcome, outcome_from(outcome));
  COHORT_TRY(member.reason, header.string("reason"));
  COHORT_TRY(member.steps, header.integer("steps", 0, kMostValues));
  COHORT_TRY(member.loss_sum, number_from(header, "loss_sum_bits"));
  COHORT_TRY(std::vector<JsonObject> epochs, header.objects("epochs"));
  member.epochs.clear();
  for (JsonObject& each : epochs) {
    EpochResult epoch;
    COHORT_TRY(epoch.epoch, each.integer("epoch", 1, kMostValues));
    COHORT_TRY(epoch.train_loss, number_from(each, "train_loss_bits"));
    COHORT_TRY(epoch.loss, number_from(each, "loss_bits"));
    if (each.has("accuracy_bits")) {
      COHORT_TRY(epoch.accuracy, number_from(each, "accuracy_bits"));
    }
    member.epochs.push_back(epoch);
  }
  return {};
}

Result<void> check_belongs(JsonObject& header, const MemberFileFacts& expected, const SweepMember& member) {
  COHORT_TRY(const std::string name, header.string("member"));
  if (name != member.name) return fail(ErrorCode::kInvalidInput, "is of member {}, not of {}", name, member.name);
  COHORT_TRY(const std::string network, header.string("network"));
  if (network != expected.network)
    return fail(ErrorCode::kInvalidInput,
                "is of another model than {}: its layers, shapes or optimizer differ; train into another folder",
                member.source.model);
  COHORT_TRY(const nlohmann::json* const point, header.value("hyperparameters"));
  if (*point != nlohmann::json(to_json(member.point)))
    return fail(ErrorCode::kInvalidInput, "was trained with other hyperparameters: {}", point->dump());
  COHORT_TRY(const std::int64_t step, header.integer("step", 0, kMostValues));
  if (step != expected.step)
    return fail(ErrorCode::kInvalidInput, "is of step {}, the checkpoint of step {}", step, expected.step);
  return {};
}

}  // namespace

std::string encode_member(const SweepMember& member, const MemberFileFacts& facts) {
  const std::string header = header_of(member, facts).dump(1);
  std::string bytes(kMagic);
  append_number(bytes, header.size());
  bytes += header;
  append_floats(bytes, member.state.parameters);
  append_floats(bytes, member.state.statistics);
  append_number(bytes, sum_of(bytes));
  return bytes;
}

Result<void> decode_member(std::string_view bytes, const MemberFileFacts& expected, SweepMember& member) {
  if (!bytes.starts_with(kMagic)) return fail(ErrorCode::kInvalidInput, "is no state of a training");
  if (bytes.size() < kMagic.size() + sizeof(std::uint64_t)) return fail(ErrorCode::kInvalidInput, "is cut off");
  const std::string_view summed = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  COHORT_TRY(const std::uint64_t sum, Bytes64(bytes.substr(summed.size())).number());
  if (sum != sum_of(summed)) return fail(ErrorCode::kInvalidInput, "is cut off or damaged: its sum does not match");
  Bytes64 parts(summed.substr(kMagic.size()));
  COHORT_TRY(const std::uint64_t length, parts.number());
  COHORT_TRY(const std::string_view text, parts.take(length));
  COHORT_TRY(const nlohmann::json document, parse_json(text));
  COHORT_TRY(JsonObject header, JsonObject::open(document, ""));
  COHORT_CHECK(check_belongs(header, expected, member));
  COHORT_CHECK(read_progress(header, member));
  MemberState state;
  COHORT_TRY(state.parameters, parts.floats());
  COHORT_TRY(state.statistics, parts.floats());
  const bool holds = !state.parameters.empty();
  const bool fits = state.parameters.size() == member.state.parameters.size() &&
                    state.statistics.size() == member.state.statistics.size();
  if (holds && !fits)
    return fail(ErrorCode::kInvalidInput, "holds {} numbers, not the {} of {}", state.parameters.size(),
                member.state.parameters.size(), member.source.model);
  member.state = std::move(state);
  return {};
}

}  // namespace cohort
