#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/onnx_text.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A folder with model.onnx, whose weight lies in a file beside it.
class ExternalData : public testing::Test {
 protected:
  ExternalData() {
    const float values[] = {1, 2, 3, 4};
    const std::string_view bytes(reinterpret_cast<const char*>(values), sizeof values);
    temporary_.write("model/weights.bin", bytes);
    temporary_.write("outside.bin", bytes);
  }

  static std::string graph(std::string_view location, std::string_view more = "") {
    return input_text("x", {2}) + output_text("y") +
           fmt::format(
               " initializer {{ name: \"w\" data_type: 1 dims: 2 data_location: EXTERNAL "
               "external_data {{ key: \"location\" value: \"{}\" }} {} }}",
               location, more) +
           node_text("Mul", {"x", "w"}, {"y"});
  }
  static std::string field(std::string_view key, std::string_view value) {
    return fmt::format("external_data {{ key: \"{}\" value: \"{}\" }}", key, value);
  }
  Result<LoadedModel> read(std::string_view location, std::string_view more = "") const {
    const fs::path path = folder_ / "model" / "model.onnx";
    std::ofstream(path, std::ios::binary) << onnx_model(13, graph(location, more));
    return onnx::read_model(path, {});
  }
  std::string problem(std::string_view location, std::string_view more = "") const {
    const auto loaded = read(location, more);
    return loaded ? std::string("read") : loaded.error().message;
  }

  const TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  const auto loaded = read("weights.bin", field("offset", "8") + field("length", "8"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const TensorId w = loaded->model.ops[0].inputs[1];
  EXPECT_THAT(*loaded->weights.of(w), ElementsAre(3, 4));
  EXPECT_EQ(problem("weights.bin", field("offset", "8")), "read");
}

TEST_F(ExternalData, OutsideOfTheModelsFolderIsRefused) {
  EXPECT_THAT(problem("../outside.bin"), HasSubstr("which is not in the model's folder"));
  EXPECT_THAT(problem((folder_ / "outside.bin").string()), HasSubstr("which is no path beside the model"));
  fs::create_symlink(folder_ / "outside.bin", folder_ / "model" / "link.bin");
  EXPECT_THAT(problem("link.bin"), HasSubstr("which is not in the model's folder"));
  EXPECT_THAT(problem("."), HasSubstr("which is no file"));
  EXPECT_THAT(problem("missing.bin"), HasSubstr("missing.bin"));
}

TEST_F(ExternalData, MustHoldTheRangeThatTheTensorNames) {
  EXPECT_THAT(problem("weights.bin"), HasSubstr("it holds 16 bytes where its 2 elements of float32 need 8"));
  EXPECT_THAT(problem("weights.bin", field("offset", "12") + field("length", "8")), HasSubstr("12 + 8 bytes"));
  EXPECT_THAT(problem("weights.bin", field("offset", "18446744073709551615")), HasSubstr("which has 16"));
  EXPECT_THAT(problem("weights.bin", field("length", "-8")), HasSubstr("its length must be a whole number"));
}

TEST_F(ExternalData, NamesAPointerInPlaceOfTheValues) {
  temporary_.write("model/pointer.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  EXPECT_THAT(problem("pointer.bin", field("offset", "4096") + field("length", "8")),
              HasSubstr("pointer.bin, but it is a Git LFS pointer"));
}

TEST_F(ExternalData, NeedsAModelThatLiesInAFolder) {
  const auto loaded = onnx::parse_model(onnx_model(13, graph("weights.bin")), {});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("which only a model in a file can name"));
}

}  // namespace
}  // namespace cohort
