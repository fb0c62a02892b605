#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CudaVersions : public ProgramTest {
 protected:
  CudaVersions() { ::setenv("LD_LIBRARY_PATH", libraries_.path().c_str(), 1); }
  ~CudaVersions() override {
    for (const char* name : {"LD_LIBRARY_PATH", "FAKE_CUDNN_VERSION", "FAKE_CUBLASLT_VERSION", "FAKE_CUPTI_VERSION"})
      ::unsetenv(name);
  }
  CudaVersions(const CudaVersions&) = delete;
  CudaVersions& operator=(const CudaVersions&) = delete;

  void install(const char* soname, const char* variable, const char* version) const {
    // A file of its own: the loader takes two names of one file for one library.
    fs::copy_file(FAKE_LIBRARIES, libraries_.path() / soname);
    ::setenv(variable, version, 1);
  }
  /// Why there is no GPU to be used.
  std::string reason() {
    const Outcome outcome = cohort({"devices", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const auto& device : nlohmann::json::parse(outcome.out)) {
      if (device.at("id") == "cuda:0") return device.at("reason").get<std::string>();
    }
    ADD_FAILURE() << "no word of a GPU";
    return "";
  }

 private:
  const TemporaryFolder libraries_;
};

TEST_F(CudaVersions, ThatAreTooOldAreNamedWithTheLeastThatIsNeeded) {
  install("libcuda.so.1", "FAKE_CUDNN_VERSION", "0");
  install("libcudnn.so.9", "FAKE_CUDNN_VERSION", "90101");
  install("libcublasLt.so.13", "FAKE_CUBLASLT_VERSION", "120900");
  EXPECT_THAT(reason(), AllOf(HasSubstr("cuDNN 9.1.1 is installed"), HasSubstr("9.8.0 or later is needed"),
                              HasSubstr("cuBLASLt 12.9.0 is installed"), HasSubstr("13.0.0 or later is needed")));
}

TEST_F(CudaVersions, ThatAreRecentEnoughAreNotComplainedOf) {
  install("libcudnn.so.9", "FAKE_CUDNN_VERSION", "90800");
  install("libcublasLt.so.13", "FAKE_CUBLASLT_VERSION", "130000");
  EXPECT_THAT(reason(), AllOf(Not(HasSubstr("cuDNN")), Not(HasSubstr("cuBLASLt"))));
}

TEST_F(CudaVersions, OfCuptiIsToldWhereTracesCannotBeMadeWithIt) {
  install("libcupti.so.13", "FAKE_CUPTI_VERSION", "140000");
  EXPECT_THAT(reason(), AllOf(HasSubstr("kernels cannot be traced"), HasSubstr("CUPTI 14.0.0 is installed")));
}

}  // namespace
}  // namespace cohort
