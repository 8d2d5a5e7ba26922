# ladder_family(<family>): builds programs from the kernel folders in a family's folder. In the build folder, programs
# have the path of their source, or of their kernel's folder, in the project:
#   <kernel>/<kernel>_<NN>_<idea>   of a step <kernel>_<NN>_<idea>.cu, with step 00 if that is built
#   <kernel>/any_shape/<kernel>_any_shape   of the program for any shape, any_shape/<kernel>_any_shape.cu
#   <kernel>/<kernel>               all steps of the kernel: the ladder
#   <kernel>/bugs/<name>            of a planted bug, bugs/<name>.cu; bugs/bugs_of_<kernel>: all bugs of a kernel
#   <kernel>/whiteboard             of a whiteboard answer, whiteboard.cu; whiteboard_cpu: of a host answer, .cpp
#   <kernel>/<name>_cpu             of a host program for comparison, <name>_cpu.cpp
#   <kernel>/test_<kernel>          the general tests of the kernel's steps; test_whiteboard: of its whiteboard answers
#   test_<family>                   the family's own tests, test_<family>.cpp
# In builds that count accesses (CUDA_EMU_TRACE) the general tests check memory accesses, and a family's own tests are
# in trace_<family>.cpp. If two kernels share a folder, <kernel> is the folder's name or a kernel's.
# A line "// needs: gpu", "// needs: sm_<NN>[a]" or "// needs: cuda_<version>" in a step or a bug says what it requires.
# A line "// links: <library>" in a step names an NVIDIA library that it calls (cublas, cudnn, cusparse). What this
# build cannot build for this reason is listed in <build>/skipped.txt, one per line, and in ctest as a skipped test.

include(CheckCXXCompilerFlag)

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH LADDER_COMMON)
file(WRITE ${CMAKE_BINARY_DIR}/skipped.txt "")

if(NOT CMAKE_OBJCOPY)
  message(FATAL_ERROR "No objcopy found: binutils are needed, which a Linux system with g++ has")
endif()

# Warnings and include folders for all targets of the project.
add_library(ladder_options INTERFACE)
target_include_directories(ladder_options INTERFACE ${LADDER_COMMON})
target_compile_options(ladder_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(LADDER_WERROR)
  target_compile_options(ladder_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror;-Werror=all-warnings>)
endif()
if(LADDER_BACKEND STREQUAL cpu)
  target_link_libraries(ladder_options INTERFACE cuda_emu)
else()
  find_package(Threads REQUIRED)
  target_link_libraries(ladder_options INTERFACE CUDA::cudart_static Threads::Threads)
  target_compile_options(ladder_options INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:$<IF:$<CONFIG:Debug>,-G,-lineinfo>>)
endif()

# cuDNN is not part of the CUDA toolkit, and FindCUDAToolkit does not look for it.
if(LADDER_BACKEND STREQUAL cuda AND NOT TARGET CUDA::cudnn)
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(CUDNN_INCLUDE_DIR AND CUDNN_LIBRARY)
    add_library(CUDA::cudnn UNKNOWN IMPORTED)
    set_target_properties(CUDA::cudnn PROPERTIES
      IMPORTED_LOCATION ${CUDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_INCLUDE_DIR})
  endif()
endif()

# Hides symbols by default; private_symbols.sh then makes the hidden ones local.
function(ladder_hide_symbols target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden)
  # g++ gives static variables of inline functions "unique" binding, which objcopy does not make local.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-gnu-unique>)
  endif()
endfunction()

# Precompiles what every step includes, which halves a step's compile time.
if(LADDER_BACKEND STREQUAL cpu)
  file(CONFIGURE OUTPUT step_headers.cpp CONTENT "" @ONLY)
  add_library(ladder_step_headers OBJECT ${CMAKE_BINARY_DIR}/step_headers.cpp)
  target_link_libraries(ladder_step_headers PRIVATE ladder_options)
  target_compile_options(ladder_step_headers PRIVATE ${CUDA_EMU_OPTIONS})
  ladder_hide_symbols(ladder_step_headers)
  target_precompile_headers(ladder_step_headers PRIVATE <cuda_runtime.h> ${LADDER_COMMON}/ladder.cuh)
endif()

# Everything that the tests need: all targets except the steps' own programs and the ladders.
if(LADDER_TESTS)
  add_custom_target(ladder_tests)
endif()
# For the tests a kernel's steps are compiled as one object, and so are its planted bugs: g++ takes a fifth of the time.
include(CMakeDependentOption)
cmake_dependent_option(LADDER_TOGETHER "Compile a kernel's steps together for the tests" ON
  "LADDER_BACKEND STREQUAL cpu" OFF)

# What .ci/run compiles fully with nvcc: steps that the CPU backend cannot run, and host code that differs on a GPU.
# Steps for sm_90a are compiled by scripts/tests/test_ptxas.py instead.
add_custom_target(ladder_for_nvcc)

# Compiles one .cu or .cpp file, given relative to the top folder, to the object library <target>. No other object sees
# its symbols.
function(ladder_object target source)
  set(compiled ${source})
  set(translate OFF)
  if(LADDER_BACKEND STREQUAL cpu AND source MATCHES "\\.cu$")
    set(translate ON)
  endif()
  if(translate)
    cuda_emu_translate(compiled ${source} INCLUDES ${LADDER_COMMON})
  endif()
  add_library(${target} OBJECT ${compiled})
  if(translate)
    target_precompile_headers(${target} REUSE_FROM ladder_step_headers)
  endif()
  target_link_libraries(${target} PUBLIC ladder_options)
  set(private_symbols ${LADDER_COMMON}/cmake/private_symbols.sh)
  set_source_files_properties(${compiled} PROPERTIES OBJECT_DEPENDS ${private_symbols})
  foreach(language CXX CUDA)
    set(launcher ${private_symbols} ${CMAKE_OBJCOPY} ${CMAKE_${language}_COMPILER_LAUNCHER})
    set_target_properties(${target} PROPERTIES ${language}_COMPILER_LAUNCHER "${launcher}")
  endforeach()
  ladder_hide_symbols(${target})
endfunction()

# Compiles .cu files, given relative to the top folder, as one: writes <source> and builds the object library <target>.
function(ladder_object_together target source)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(command ${LADDER_COMMON}/cmake/together.sh)
  add_custom_command(OUTPUT ${source} COMMAND ${command} ${source} ${ARGN} DEPENDS ${command} ${ARGN} VERBATIM)
  ladder_object(${target} ${source})
endfunction()

# The runner, which is linked into every program except the tests.
function(ladder_runner)
  ladder_object(ladder_main common/runner/main.cu)
  add_dependencies(ladder_for_nvcc ladder_main)
endfunction()

# Links the program <folder>/<output_name> from the object library `main` (ladder_main or tests) and those in ARGN.
function(ladder_program target folder output_name main)
  add_executable(${target} $<TARGET_OBJECTS:${main}>)
  target_link_libraries(${target} PRIVATE ${ARGN} ladder_options)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${output_name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder} LINKER_LANGUAGE CXX)
endfunction()

# Makes CMake run again if a line that it reads in a .cu file changes, but not if another line does.
function(ladder_marks)
  set(marks ${CMAKE_BINARY_DIR}/marks.txt)
  file(GLOB sources CONFIGURE_DEPENDS */*/*_[0-9][0-9]_*.cu */*/any_shape/*.cu */*/bugs/*.cu)
  set(command ${LADDER_COMMON}/cmake/marks.sh ${marks} ${sources})
  execute_process(COMMAND ${command} COMMAND_ERROR_IS_FATAL ANY)
  add_custom_command(OUTPUT ${marks} COMMAND ${command} DEPFILE ${marks}.d COMMENT "Reading what steps need" VERBATIM)
  add_custom_target(ladder_marks DEPENDS ${marks})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${marks})
endfunction()

# Sets <out-var> to the values of the lines "// <key>: <value>" of `source`.
function(ladder_comment_lines out_var source key)
  file(STRINGS ${source} lines REGEX "^// ${key}: ")
  list(TRANSFORM lines REPLACE "^// ${key}: *" "")
  set(${out_var} "${lines}" PARENT_SCOPE)
endfunction()

# Sets <out-var> to what `source` needs and this build lacks, or to an empty string.
function(ladder_missing out_var source)
  set(${out_var} "" PARENT_SCOPE)
  ladder_comment_lines(needs ${source} needs)
  foreach(need IN LISTS needs)
    if(NOT need MATCHES "^(gpu|sm_[0-9]+a?|cuda_[0-9]+\\.[0-9]+)$")
      message(FATAL_ERROR "${source}: '// needs: ${need}' is none of gpu, sm_<NN>, sm_<NN>a, cuda_<version>")
    elseif(LADDER_BACKEND STREQUAL cpu AND NOT need MATCHES "^(sm_8[0-9]|cuda_.*)$")  # emulated: mma.sync, cp.async
      set(${out_var} ${need} PARENT_SCOPE)
    elseif(LADDER_BACKEND STREQUAL cuda AND need MATCHES "^cuda_(.*)$" AND
           CMAKE_CUDA_COMPILER_VERSION VERSION_LESS CMAKE_MATCH_1)
      set(${out_var} ${need} PARENT_SCOPE)
    endif()
  endforeach()
  ladder_comment_lines(libraries ${source} links)
  foreach(library IN LISTS libraries)
    if(LADDER_BACKEND STREQUAL cuda AND NOT TARGET CUDA::${library})
      set(${out_var} ${library} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# For a source with a line "// needs: sm_<NN>[a]": compiles the object library `target` for that GPU, without the "a"
# also to PTX for newer ones, and defines LADDER_NEEDS. The CPU backend builds only what it can run.
function(ladder_needed_gpu target source)
  ladder_comment_lines(needs ${source} needs)
  if(LADDER_BACKEND STREQUAL cuda AND needs MATCHES "sm_([0-9]+a?)")
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES ${CMAKE_MATCH_1})
    target_compile_definitions(${target} PRIVATE LADDER_NEEDS="sm_${CMAKE_MATCH_1}")
    set_property(GLOBAL APPEND PROPERTY LADDER_NEEDED sm_${CMAKE_MATCH_1})
  endif()
  if(needs AND NOT needs MATCHES "^sm_(8|90a)")
    add_dependencies(ladder_for_nvcc ${target})
  endif()
endfunction()

# wgmma exists on sm_90a only. Where other targets are compiled for sm_90, a program for any shape is compiled for
# sm_90a, with PTX for newer GPUs if the others have it.
function(ladder_any_shape_gpus target)
  get_target_property(gpus ${target} CUDA_ARCHITECTURES)
  if(gpus STREQUAL native)
    set(gpus ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
  endif()
  list(TRANSFORM gpus REPLACE "^90-real$" "90a-real")
  list(TRANSFORM gpus REPLACE "^90$" "90a-real;90-virtual")
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${gpus}")
endfunction()

function(ladder_skip name need)
  file(APPEND ${CMAKE_BINARY_DIR}/skipped.txt "${name}: needs ${need}\n")
  if(LADDER_TESTS)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: needs ${need}")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: needs")
  endif()
endfunction()

function(ladder_family family)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${family}/*/*.cu ${family}/*/any_shape/*.cu)
  set(steps ${sources})
  list(FILTER steps EXCLUDE REGEX "/whiteboard\\.cu$")
  set(kernels)
  foreach(source IN LISTS steps)
    cmake_path(GET source STEM step)
    cmake_path(GET source PARENT_PATH own_folder)
    set(pattern "^([a-z0-9_]+)_([0-9][0-9])_[a-z0-9_]+$")
    if(own_folder MATCHES "/any_shape$")
      set(pattern "^([a-z0-9_]+)_(any)_shape$")
    endif()
    if(NOT step MATCHES ${pattern})
      message(FATAL_ERROR "${source}: a step is named <kernel>_<NN>_<idea>.cu, or any_shape/<kernel>_any_shape.cu")
    endif()
    set(kernel ${CMAKE_MATCH_1})
    set(number ${CMAKE_MATCH_2})
    string(REGEX REPLACE "/any_shape$" "" folder_${kernel} ${own_folder})
    ladder_missing(missing ${source})
    if(missing)
      ladder_skip(${folder_${kernel}}/${step} ${missing})
      continue()
    endif()
    ladder_object(step_${step} ${source})
    ladder_comment_lines(libraries ${source} links)
    list(TRANSFORM libraries PREPEND CUDA::)
    target_link_libraries(step_${step} PUBLIC ${libraries})
    ladder_needed_gpu(step_${step} ${source})
    if(number STREQUAL any AND LADDER_BACKEND STREQUAL cuda AND CMAKE_CUDA_ARCHITECTURES)
      ladder_any_shape_gpus(step_${step})
    endif()
    list(APPEND kernels ${kernel})
    list(APPEND built_${kernel} step_${step})
    set(folder_of_${step} ${own_folder})
    if(NOT number STREQUAL any)
      list(APPEND sources_in_${own_folder} ${source})
    endif()
    if(number STREQUAL 00)
      set(vendor_${kernel} step_${step})
    endif()
  endforeach()

  list(REMOVE_DUPLICATES kernels)
  set(all_steps)
  set(folders)
  foreach(kernel IN LISTS kernels)
    foreach(object IN LISTS built_${kernel})
      string(REGEX REPLACE "^step_" "" step ${object})
      set(objects ${object} ${vendor_${kernel}})
      list(REMOVE_DUPLICATES objects)
      ladder_program(${step} ${folder_of_${step}} ${step} ladder_main ${objects})
    endforeach()
    ladder_program(ladder_${kernel} ${folder_${kernel}} ${kernel} ladder_main ${built_${kernel}})
    if(vendor_${kernel})
      ladder_outside_program(${kernel} ladder_main ${vendor_${kernel}})
    endif()
    list(APPEND folders ${folder_${kernel}})
    list(APPEND in_${folder_${kernel}} ${built_${kernel}})
  endforeach()

  file(GLOB bugs CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${family}/*/bugs/*.cu)
  foreach(source IN LISTS bugs)
    cmake_path(GET source STEM bug)
    cmake_path(GET source PARENT_PATH folder)
    ladder_missing(missing ${source})
    if(missing)
      list(REMOVE_ITEM bugs ${source})
      ladder_skip(${folder}/${bug} ${missing})
      continue()
    endif()
    ladder_object(bug_object_${bug} ${source})
    ladder_needed_gpu(bug_object_${bug} ${source})
    ladder_program(bug_${bug} ${folder} ${bug} ladder_main bug_object_${bug})
  endforeach()

  file(GLOB answers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${family}/*/whiteboard.cu
    ${family}/*/whiteboard_cpu.cpp)
  foreach(source IN LISTS answers)
    cmake_path(GET source STEM name)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME kernel)
    string(REPLACE whiteboard answer_${kernel} object ${name})
    string(REPLACE whiteboard whiteboard_${kernel} program ${name})
    ladder_object(${object} ${source})
    ladder_needed_gpu(${object} ${source})
    ladder_program(${program} ${folder} ${name} ladder_main ${object} ${vendor_${kernel}})
    list(APPEND answers_${folder} ${object})
  endforeach()

  file(GLOB host_programs CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${family}/*/*_cpu.cpp)
  list(REMOVE_ITEM host_programs ${answers})
  foreach(source IN LISTS host_programs)
    ladder_host_program(${source})
  endforeach()

  if(NOT LADDER_TESTS)
    return()
  endif()
  list(REMOVE_DUPLICATES folders)
  set(all_steps)
  foreach(folder IN LISTS folders)
    cmake_path(GET folder FILENAME name)
    if(LADDER_TOGETHER)
      ladder_object_together(steps_of_${name} ${CMAKE_BINARY_DIR}/${folder}/steps.cu ${sources_in_${folder}})
      list(FILTER in_${folder} INCLUDE REGEX "_any_shape$")
      list(APPEND in_${folder} steps_of_${name})
    endif()
    list(APPEND all_steps ${in_${folder}})
    ladder_step_tests(${folder} ${folder} test_${name} "${in_${folder}}")
    list(LENGTH sources_in_${folder} count)
    set_tests_properties(${folder} PROPERTIES COST ${count})  # the longest tests start first
    if(answers_${folder} AND NOT CUDA_EMU_TRACE)
      ladder_step_tests(${folder}/whiteboard ${folder} test_whiteboard "${answers_${folder}}")
    endif()
  endforeach()
  set(own_tests test_${family}.cpp)
  if(CUDA_EMU_TRACE)
    set(own_tests trace_${family}.cpp)
  endif()
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${family}/${own_tests})
    add_library(tests_of_${family} OBJECT ${family}/${own_tests})
    target_link_libraries(tests_of_${family} PRIVATE ladder_catch ladder_options)
    target_precompile_headers(tests_of_${family} REUSE_FROM ladder_test_headers)
    ladder_program(test_of_${family} ${family} test_${family} tests_of_${family} ${all_steps} ladder_catch)
    ladder_test(${family} any test_of_${family})
    add_dependencies(ladder_for_nvcc tests_of_${family})
  endif()
  ladder_bug_tests("${bugs}" "${kernels}")
endfunction()

# For files outside the tree, a judged page or a mutant: builds a stand-in for each kind of file, and programs that
# contain one. scripts/ladder/outside.py runs the stand-in's build commands on the other file; outside.txt lists the
# stand-ins.
function(ladder_outside)
  ladder_outside_file(step .cu)
  ladder_outside_file(own .cu)  # includes only its own headers
  set_target_properties(outside_file_own PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  ladder_outside_file(host .cpp)
  get_property(needed GLOBAL PROPERTY LADDER_NEEDED)
  list(REMOVE_DUPLICATES needed)
  foreach(need IN LISTS needed)
    ladder_outside_file(${need} .cu)
  endforeach()
  ladder_outside_program(page ladder_main)
  ladder_object(ladder_peer_check common/runner/tests/peer_check.cu)  # for scripts/tests/judge_known.py
  set_target_properties(ladder_peer_check PROPERTIES EXCLUDE_FROM_ALL ON)
  ladder_outside_program(peers ladder_peer_check)

  get_property(files GLOBAL PROPERTY LADDER_OUTSIDE_FILES)
  get_property(programs GLOBAL PROPERTY LADDER_OUTSIDE_PROGRAMS)
  set(translate translate ${CUDA_EMU_TRANSLATE})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/outside.txt CONTENT "${translate}\nprograms;${programs}\n${files}")
endfunction()

function(ladder_outside_file kind ending)
  set(source ${CMAKE_BINARY_DIR}/outside/${kind}${ending})
  file(CONFIGURE OUTPUT ${source} CONTENT "// needs: ${kind}\n" @ONLY)
  set(target outside_file_${kind})
  ladder_object(${target} ${source})
  if(kind MATCHES "^sm_")
    ladder_needed_gpu(${target} ${source})
  endif()
  # Few errors: a person has just typed the file. With DWARF 5, addr2line would take it for the translator's output.
  target_compile_options(${target} PRIVATE -w
    $<$<COMPILE_LANGUAGE:CXX>:-fdiagnostics-color=never;-gdwarf-4>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fmax-errors=5> $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-ferror-limit=5>)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  get_target_property(compiled ${target} SOURCES)
  set_property(GLOBAL APPEND_STRING PROPERTY LADDER_OUTSIDE_FILES "${kind};${compiled};$<TARGET_OBJECTS:${target}>\n")
endfunction()

# The program outside/<name>, of an outside file and the objects in ARGN.
function(ladder_outside_program name main)
  ladder_program(outside_${name} outside ${name} ${main} outside_file_step ${ARGN})
  set_target_properties(outside_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  set_property(GLOBAL APPEND PROPERTY LADDER_OUTSIDE_PROGRAMS ${name})
endfunction()

# A host program, optimized for this machine's processor in every preset, with OpenMP if available.
function(ladder_host_program source)
  cmake_path(GET source STEM name)
  cmake_path(GET source PARENT_PATH folder)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
  target_link_libraries(${name} PRIVATE ladder_options ${CMAKE_DL_LIBS})  # sgemm_cpu loads a BLAS if there is one
  target_compile_options(${name} PRIVATE -O3 -Wno-unknown-pragmas)  # pragmas of OpenMP, if that is missing
  check_cxx_compiler_flag(-march=native LADDER_MARCH_NATIVE)
  if(LADDER_MARCH_NATIVE)
    target_compile_options(${name} PRIVATE -march=native)
  endif()
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    target_link_libraries(${name} PRIVATE OpenMP::OpenMP_CXX)
  endif()
  if(LADDER_TESTS AND NOT CUDA_EMU_TRACE)
    add_test(NAME ${folder}/${name} COMMAND ${name} --check)
    ladder_needed_programs(${folder}/${name} ${name})
    set_tests_properties(${folder}/${name} PROPERTIES TIMEOUT 600)
  endif()
endfunction()

# Declares the programs that a test needs: scripts/test builds them for all tests, or, by REQUIRED_FILES, for chosen
# ones.
function(ladder_needed_programs test)
  add_dependencies(ladder_tests ${ARGN})
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE programs)
  set_property(TEST ${test} PROPERTY REQUIRED_FILES ${programs})
endfunction()

# Adds the program `target` as a test, on the CPU backend once for each order of threads. `any` sets no order: the
# program runs in forward order, or checks steps in several (check_all).
function(ladder_test name orders target)
  if(LADDER_BACKEND STREQUAL cuda)
    set(orders any)
  endif()
  foreach(order IN LISTS orders)
    string(REGEX REPLACE "^(any|forward)$|:.*" "" suffix ${order})
    set(test ${name})
    if(suffix)
      string(APPEND test .${suffix})
    endif()
    add_test(NAME ${test} COMMAND ${target})
    ladder_needed_programs(${test} ${target})
    set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1200)
    if(NOT order STREQUAL any)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT CUDA_EMU_ORDER=${order})
    endif()
  endforeach()
endfunction()

# Adds the general tests, named `test`, of steps or whiteboard answers: the program <folder>/<name>.
function(ladder_step_tests test folder name steps)
  string(MAKE_C_IDENTIFIER ${folder}/${name} target)
  if(CUDA_EMU_TRACE)
    ladder_program(${target} ${folder} ${name} ladder_step_traces ${steps} ladder_catch)
    ladder_test(${test} any ${target})
    return()
  endif()
  ladder_program(${target} ${folder} ${name} ladder_step_tests ${steps} ladder_catch)
  ladder_test(${test} any ${target})
  set(long full huge)
  if(LADDER_BACKEND STREQUAL cpu)
    set(long full)
    ladder_skip(${test}.huge gpu)
  endif()
  foreach(tag IN LISTS long)
    add_test(NAME ${test}.${tag} COMMAND ${target} "[${tag}]")
    ladder_needed_programs(${test}.${tag} ${target})
    set_tests_properties(${test}.${tag} PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 3600)
  endforeach()
endfunction()

# Adds a test for each planted bug: this kind of build must catch it in the ways that its source names. The plain build
# has a test for every bug, and skips, by name, those that only other builds catch. A bug's name begins with its
# kernel's.
function(ladder_bug_tests bugs kernels)
  set(kind ${LADDER_BACKEND})
  if(CUDA_EMU_TRACE)
    set(kind cpu-trace)
  elseif(CMAKE_CXX_FLAGS MATCHES "fsanitize=address")
    set(kind cpu-asan)
  endif()
  list(SORT kernels ORDER DESCENDING)  # attention_bf16 must match before attention
  list(JOIN kernels "|" any_kernel)
  set(together)
  foreach(source IN LISTS bugs)
    file(STRINGS ${source} caught REGEX "^// caught by: ${kind}( |$)")
    if(NOT caught AND NOT kind STREQUAL LADDER_BACKEND)
      continue()
    endif()
    cmake_path(GET source STEM bug)
    cmake_path(GET source PARENT_PATH folder)
    set(program bug_${bug})
    if(LADDER_TOGETHER AND bug MATCHES "^(${any_kernel})_")
      set(kernel ${CMAKE_MATCH_1})
      set(program bugs_of_${kernel})
      list(APPEND together ${kernel})
      list(APPEND bugs_of_${kernel} ${source})
      set(folder_${kernel} ${folder})
    endif()
    add_test(NAME ${folder}/${bug}
      COMMAND Python3::Interpreter -S ${LADDER_COMMON}/runner/tests/check_bug.py --build ${kind}
        ${CMAKE_CURRENT_SOURCE_DIR}/${source} $<TARGET_FILE:${program}>)
    ladder_needed_programs(${folder}/${bug} ${program})
    set_tests_properties(${folder}/${bug} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
  endforeach()
  list(REMOVE_DUPLICATES together)
  foreach(kernel IN LISTS together)
    set(folder ${folder_${kernel}})
    ladder_object_together(bug_objects_of_${kernel} ${CMAKE_BINARY_DIR}/${folder}/${kernel}.cu ${bugs_of_${kernel}})
    ladder_program(bugs_of_${kernel} ${folder} bugs_of_${kernel} ladder_main bug_objects_of_${kernel})
  endforeach()
endfunction()
