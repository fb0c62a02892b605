# What is installed: the program and its plugins.
add_custom_target(programs)

# Warnings and include root that every target of ours has.
add_library(cohort_settings INTERFACE)
target_include_directories(cohort_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(
  cohort_settings
  INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion>"
            "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Wold-style-cast>"
            $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict> # false in gcc 12
            "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>")

# CMAKE_UNITY_BUILD compiles eight files as one: most of the time goes into headers. The presets that are built whole more
# often than file by file set it, those of the sanitizers and release; `dev` does not. Names in unnamed namespaces must
# then differ among the files of a target; tests that share one say SKIP_UNITY_BUILD_INCLUSION.
if(CMAKE_UNITY_BUILD)
  target_compile_options(
    cohort_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow> # of another file's names
                              $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:-Wshadow=local>
                              # gcc collects its garbage from 1 GB on, not again and again: a tenth of its time
                              $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>)
endif()

# cohort_library(NAME [SOURCES a.cpp ...] [PUBLIC lib ...] [PRIVATE lib ...])
# A static library cohort_NAME with the alias cohort::NAME, position-independent so that plugins can take it in.
function(cohort_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(cohort_${name} STATIC ${arg_SOURCES})
  add_library(cohort::${name} ALIAS cohort_${name})
  set_target_properties(cohort_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(cohort_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} cohort_settings)
  target_compile_options(cohort_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
  if(CMAKE_UNITY_BUILD) # without this gcc inlines less in files that it compiles as one
    target_compile_options(
      cohort_${name} PRIVATE $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:--param=inline-unit-growth=200>)
  endif()
  target_include_directories(cohort_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
endfunction()

# Checks of the undefined-behaviour sanitizer that cost most of its time to compile: libraries of ours keep that of
# alignment; programs go without, and tests' own code has none. A null pointer that is used ends the program in every
# sanitizer's build.
function(cohort_cheaper_checks target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Debug>>:-fno-sanitize=null,alignment>)
endfunction()

# For the compiler's time, not the program's: tests' own code, and commands, which parse options and print.
function(cohort_quickly_compiled target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# cohort_test(NAME [SOURCES a_test.cpp ...] [LIBRARIES lib ...])
# A GoogleTest program whose cases CTest lists one by one.
function(cohort_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} cohort_settings GTest::gmock_main)
  cohort_quickly_compiled(${name})
  target_compile_options(
    ${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Debug>>:-fno-sanitize=undefined;-fno-sanitize-address-use-after-scope>
                    # The address sanitizer's checks as calls: quicker to compile, slower to run.
                    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Debug>>:--param=asan-instrumentation-with-call-threshold=0>)
  # Values would be part of the tests' names otherwise, some with addresses, so that no two builds had the same names.
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
