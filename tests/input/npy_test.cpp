#include "executor/input/npy.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <numeric>

#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A file of `version` whose header is `header`, without padding.
std::string file_of(int version, std::string_view header, std::string_view data) {
  std::string bytes("\x93NUMPY");
  bytes.append({static_cast<char>(version), '\0'});
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  return bytes.append(header).append(data);
}

std::string reading_message(std::string_view bytes) {
  const auto array = parse_npy(bytes);
  return array ? "no error" : array.error().message;
}

const std::string kOne("\x00\x00\x80\x3f", 4);

TEST(Npy, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {1}, {7}, {2, 3}, {4, 3, 5, 2}, {0}, {3, 0, 2}}) {
    const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), -1.5F);
    const auto path = folder.path() / fmt::format("{}.npy", fmt::join(shape, "x"));
    ASSERT_TRUE(write_npy(path, shape, values, Overwrite::kNever));
    const auto array = read_npy(path);
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->values, values);
  }
}

// The bytes numpy 1.26 writes for numpy.save(file, numpy.arange(6, dtype='<f4').reshape(2, 3)).
TEST(Npy, WritesTheBytesThatNumpyWrites) {
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> shape{2, 3};
  const std::string bytes = encode_npy(shape, values);
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n';
  ASSERT_EQ(bytes.size(), 128U + 24U);
  EXPECT_EQ(bytes.substr(0, 128), expected);
  EXPECT_EQ(bytes.substr(132, 4), kOne);
}

TEST(Npy, WritesWholeNumbersAsSuch) {
  const std::vector<float> bits{std::bit_cast<float>(std::int32_t{(1 << 24) + 1})};  // which no float32 is
  const std::string bytes = encode_npy(std::vector<std::int64_t>{1}, bits, "<i4");
  EXPECT_NE(bytes.find("'descr': '<i4'"), std::string::npos);
  EXPECT_EQ(bytes.substr(bytes.size() - 4), std::string("\x01\x00\x00\x01", 4));
}

TEST(Npy, PutsTheDataAtAMultipleOf64Bytes) {
  std::vector<std::int64_t> shape;
  for (int rank = 0; rank < 40; ++rank) {
    EXPECT_EQ((encode_npy(shape, std::vector<float>{1.0F}).size() - sizeof(float)) % 64, 0U) << rank;
    shape.push_back(1);
  }
}

TEST(Npy, ReadsAllVersionsAndSpellingsOfTheHeader) {
  for (const int version : {1, 2, 3})
    for (const char* header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }   \n",
                               "{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"<f4\"}",
                               "  { 'fortran_order' : False , 'shape' : ( 1 , ) , 'descr' : '<f4' }"}) {
      const auto array = parse_npy(file_of(version, header, kOne));
      ASSERT_TRUE(array) << array.error().message;
      EXPECT_THAT(array->shape, ElementsAre(1));
      EXPECT_THAT(array->values, ElementsAre(1.0F));
    }
}

TEST(Npy, ReadsPlainNumbersOfEveryType) {
  const auto values_of = [](std::string_view dtype, std::string_view data, int count) {
    const std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}\n", dtype, count);
    return parse_npy(file_of(1, header, data)).value().values;
  };
  EXPECT_THAT(values_of("<f8", std::string("\0\0\0\0\0\0\xf8\x3f", 8), 1), ElementsAre(1.5F));
  EXPECT_THAT(values_of("<f2", std::string("\x00\x3e\xff\xfb\x01\x00", 6), 3), ElementsAre(1.5F, -65504.0F, 0x1p-24F));
  EXPECT_THAT(values_of("|b1", std::string("\1\0", 2), 2), ElementsAre(1.0F, 0.0F));
  EXPECT_THAT(values_of("|i1", std::string("\xff\x7f", 2), 2), ElementsAre(-1.0F, 127.0F));
  EXPECT_THAT(values_of("<i4", std::string("\xfe\xff\xff\xff", 4), 1), ElementsAre(-2.0F));
  EXPECT_THAT(values_of("<i8", std::string("\0\1\0\0\0\0\0\0", 8), 1), ElementsAre(256.0F));
}

TEST(Npy, SaysWhatIsWrongWithAFile) {
  const auto header = [](std::string_view dtype, std::string_view order, std::string_view shape) {
    return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", dtype, order, shape);
  };
  const auto with = [&](std::string_view text) { return reading_message(file_of(1, text, kOne)); };
  EXPECT_THAT(reading_message(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(reading_message("PK\x03\x04 an .npz"), HasSubstr("not a .npy file"));
  EXPECT_THAT(reading_message(file_of(4, header("'<f4'", "False", "(1,)"), kOne)),
              HasSubstr("version 4.0 is not known"));
  EXPECT_THAT(with(header("'<c8'", "False", "(2,)")),
              HasSubstr("holds '<c8'; expected float16, float32, float64, bool or"));
  EXPECT_THAT(with(header("'<f8'", "False", "(1,)")), HasSubstr("shape (1) needs 8 bytes of data; 4 are there"));
  EXPECT_THAT(with(header("'>f4'", "False", "(1,)")), HasSubstr("holds '>f4'"));
  EXPECT_THAT(with(header("[('a', '<f4')]", "False", "(1,)")), HasSubstr("holds records"));
  EXPECT_THAT(with(header("'<f4'", "True", "(1,)")), HasSubstr("Fortran order"));
  EXPECT_THAT(with(header("'<f4'", "Maybe", "(1,)")), HasSubstr("expected True or False"));
  EXPECT_THAT(with(header("'<f4'", "False", "(-1,)")), HasSubstr("whole numbers from 0"));
  EXPECT_THAT(with(header("'<f4'", "False", "(1.5,)")), HasSubstr("malformed"));
  EXPECT_THAT(with(header("'<f4'", "False", "[1]")), HasSubstr("expected '('"));
  EXPECT_THAT(with(header("'<f4'", "False", "(2,)")), HasSubstr("shape (2) needs 8 bytes of data; 4 are there"));
  EXPECT_THAT(with(header("'<f4'", "False", "()") + "x"), HasSubstr("nothing more"));
  EXPECT_THAT(with("{'descr': '<f4'}"), HasSubstr("all of 'descr', 'fortran_order' and 'shape'"));
  EXPECT_THAT(with("{'colour': '<f4'}"), HasSubstr("only 'descr'"));
  EXPECT_THAT(reading_message(file_of(1, header("'<f4'", "False", "(1,)"), kOne + kOne)), HasSubstr("8 are there"));
}

TEST(Npy, TakesNoMemoryForDataThatIsNotThere) {
  const auto with_shape = [](std::string_view shape) {
    return reading_message(
        file_of(1, fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape), kOne));
  };
  EXPECT_THAT(with_shape("(1000000, 1000000)"), HasSubstr("needs 4000000000000 bytes of data; 4 are there"));
  EXPECT_THAT(with_shape("(4611686018427387904,)"), HasSubstr("too large"));
  EXPECT_THAT(with_shape("(4294967296, 4294967296)"), HasSubstr("too large"));
  EXPECT_THAT(with_shape("(99999999999999999999,)"), HasSubstr("malformed"));
}

TEST(Npy, RefusesEveryCutFile) {
  const std::vector<std::int64_t> shape{2};
  const std::string bytes = encode_npy(shape, std::vector<float>{1, 2});
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(reading_message(bytes.substr(0, length)), "no error") << length;
}

TEST(Npy, NamesTheFile) {
  const TemporaryFolder folder;
  folder.write("x.npy", "nonsense");
  const auto path = folder.path() / "x.npy";
  const auto broken = read_npy(path);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr(path.string() + ": not a .npy file"));
  const auto missing = read_npy(folder.path() / "y.npy");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("y.npy"));
  const std::vector<std::int64_t> shape{1};
  const auto kept = write_npy(path, shape, std::vector<float>{1}, Overwrite::kNever);
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr(path.string()));
  EXPECT_TRUE(write_npy(path, shape, std::vector<float>{1}, Overwrite::kAllow));
}

}  // namespace
}  // namespace cohort
