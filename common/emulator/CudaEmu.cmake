# cuda_emu_translate(<out-var> <source.cu> [INCLUDES <dir>...])
#
# Translates source.cu, relative to the current source folder, for the CPU backend at build time. Sets <out-var> to the
# C++ file, ${CMAKE_CURRENT_BINARY_DIR}/<source.cu>.cpp, which must be added to a target that links cuda_emu. INCLUDES
# are the folders searched for quoted includes after the source's own; the target needs them as include folders, too.
# The generated file includes translated headers by path, independent of the search order. -iquote, set here for the
# source's own folder, is for includes that only the preprocessor can resolve, such as #include NAME. Translated code is
# compiled with CUDA_EMU_OPTIONS; a header precompiled for it needs the same options.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
# Use the interpreter itself: Python3_EXECUTABLE may be a wrapper that takes longer to start than a translation.
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)"
                OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

# In the cache, because the function is also called from other folders than the one that includes this file.
set(CUDA_EMU_TRANSLATOR ${CMAKE_CURRENT_LIST_DIR}/cu2cpp.py CACHE INTERNAL "")
set(CUDA_EMU_PYTHON ${python} CACHE INTERNAL "")
set(CUDA_EMU_TRANSLATE ${python} -IS ${CUDA_EMU_TRANSLATOR} CACHE INTERNAL "")

# A misaligned access is an error, as on a GPU. The handler for these checks is in the emulator (report.cpp); a build
# with sanitizers has its own.
set(options)
if(CUDA_EMU_TRACE)
  # Every access and every basic block calls the emulator in place of ThreadSanitizer; it checks the alignment, too. At
  # -O2 compilers would move accesses from one line to another.
  set(options -O1 -fsanitize=thread -fsanitize-coverage=trace-pc -Wno-tsan)
elseif(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  # Conversion of a float that is out of an integer's range is undefined in C++; a GPU gives the nearest integer.
  set(options -fsanitize=alignment,float-cast-overflow -fno-sanitize-recover=alignment)
endif()
# Uninitialized local variables are filled with a pattern, because 0 would often be right. Supported by g++ 12 and
# clang 14. -Werror=vla: nvcc rejects arrays of variable length.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-ftrivial-auto-var-init=pattern CUDA_EMU_HAS_PATTERN)
if(CUDA_EMU_HAS_PATTERN)
  list(APPEND options -ftrivial-auto-var-init=pattern)
endif()
# g++'s points-to analysis takes a third of a step's compile time and gains almost nothing. Unknown to clang.
check_cxx_compiler_flag("-Werror -fno-tree-pta" CUDA_EMU_HAS_NO_TREE_PTA)
if(CUDA_EMU_HAS_NO_TREE_PTA)
  list(APPEND options -fno-tree-pta)
endif()
list(APPEND options -Werror=vla)
set(CUDA_EMU_OPTIONS ${options} CACHE INTERNAL "")

function(cuda_emu_translate out_var source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" INCLUDES)
  cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE input)
  cmake_path(RELATIVE_PATH input BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
  string(REPLACE "../" "up/" name ${name})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)

  set(include_options)
  foreach(directory IN LISTS arg_INCLUDES)
    cmake_path(ABSOLUTE_PATH directory NORMALIZE)
    list(APPEND include_options -I ${directory})
  endforeach()

  # The translator does not rewrite an unchanged file. Ninja detects that; make needs a new modification time.
  set(touch)
  if(NOT CMAKE_GENERATOR MATCHES Ninja)
    set(touch COMMAND ${CMAKE_COMMAND} -E touch ${output})
  endif()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CUDA_EMU_TRANSLATE} ${include_options} ${input} ${output} ${touch}
    DEPENDS ${input} ${CUDA_EMU_TRANSLATOR}
    DEPFILE ${output}.d
    COMMENT "Translating ${name}"
    VERBATIM)

  cmake_path(GET input PARENT_PATH folder)
  set_property(SOURCE ${output} APPEND PROPERTY COMPILE_OPTIONS ${CUDA_EMU_OPTIONS} -iquote ${folder})
  set(${out_var} ${output} PARENT_SCOPE)
endfunction()
