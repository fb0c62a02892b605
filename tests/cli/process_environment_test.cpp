#include "cli/process_environment.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/cli/program.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Lines = std::vector<std::string>;

TEST(ProcessEnvironment, GetsAShortSpinAndHugePages) {
  const Lines with = with_own_settings({"HOME=/root"});
  EXPECT_THAT(
      with, testing::IsSupersetOf(Lines{"HOME=/root", "GOMP_SPINCOUNT=2000", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"}));
  EXPECT_EQ(with_own_settings(with), with) << "or the program would start for ever";
}

TEST(ProcessEnvironment, KeepsWhatTheUserChose) {
  const Lines spin{"GOMP_SPINCOUNT=7", "GLIBC_TUNABLES=glibc.malloc.hugetlb=0"};
  EXPECT_EQ(with_own_settings(spin), spin);
  const Lines policy{"OMP_WAIT_POLICY=active", "GLIBC_TUNABLES=glibc.malloc.hugetlb=2"};
  EXPECT_EQ(with_own_settings(policy), policy);
}

TEST(ProcessEnvironment, KeepsOtherTunables) {
  EXPECT_THAT(with_own_settings({"OMP_WAIT_POLICY=active", "GLIBC_TUNABLES=glibc.malloc.perturb=1"}),
              testing::Contains("GLIBC_TUNABLES=glibc.malloc.perturb=1:glibc.malloc.hugetlb=1"));
}

TEST(ProcessEnvironment, IsAsGivenForOtherPrograms) {
  for (const Lines& given :
       {Lines{"HOME=/root"}, Lines{"GOMP_SPINCOUNT=2000", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"},
        Lines{"OMP_WAIT_POLICY=passive", "GLIBC_TUNABLES=glibc.malloc.perturb=1"}, Lines{"GLIBC_TUNABLES="}}) {
    Lines back = without_own_settings(with_own_settings(given));
    if (given == Lines{"GLIBC_TUNABLES="}) back.emplace_back("GLIBC_TUNABLES=");  // empty is as good as not there
    EXPECT_EQ(back, given);
  }
}

}  // namespace
}  // namespace cohort
