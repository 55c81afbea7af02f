// SPDX-License-Identifier: Apache-2.0
//
// pkb_host_nvcc: compiles an unchanged CUDA C++ file to a shared object that runs on CPU cores.
#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>

#include "driver.h"
#include "tokens.h"

namespace {

namespace po = boost::program_options;

po::options_description known_options(pkb::translate::Options& options) {
  po::options_description known(
      "pkb_host_nvcc [options] FILE.cu\n\nCompiles CUDA C++ to a shared object for CPU cores. Options");
  known.add_options()                                                                                                 //
      ("help,h", "this text")                                                                                         //
      ("output,o", po::value(&options.output)->value_name("FILE"), "the shared object; FILE.so if not given")         //
      ("include,I", po::value(&options.include_folders)->value_name("DIR"), "where to look for headers")              //
      ("define,D", po::value(&options.definitions)->value_name("NAME[=V]"), "a macro")                                //
      ("optimize,O", po::value(&options.optimization)->value_name("N"), "0 to 3; 1 if not given")                     //
      ("depfile", po::value(&options.depfile)->value_name("FILE"), "write the headers used, for make and ninja")      //
      ("translate-only", po::bool_switch(&options.translate_only), "write the translated C++ and do not compile it")  //
      ("source", po::value(&options.source)->value_name("FILE.cu"),
       "what to compile; the option's name may be left out");
  return known;
}

}  // namespace

int main(int argc, char** argv) {
  pkb::translate::Options options;
  const po::options_description known = known_options(options);
  try {
    po::variables_map values;
    po::store(po::command_line_parser(argc, argv)
                  .options(known)
                  .positional(po::positional_options_description().add("source", 1))
                  .run(),
              values);
    if (values.contains("help")) {
      std::cout << known;
      return 0;
    }
    po::notify(values);
    if (options.source.empty()) throw po::error("no source file given");
    if (options.output.empty() && !options.translate_only) {
      options.output = std::filesystem::path(options.source).replace_extension(".so").string();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pkb_host_nvcc: %s; --help lists the options\n", error.what());
    return 2;
  }
  try {
    return pkb::translate::compile(options, pkb::translate::find_installation());
  } catch (const pkb::translate::TranslationError& error) {
    std::fprintf(stderr, "%s", error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pkb_host_nvcc: %s\n", error.what());
    return 3;
  }
}
