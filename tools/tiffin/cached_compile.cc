// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/cached_compile.h"

#include <filesystem>
#include <memory>

#include "compiler/driver/cache_key.h"

namespace tiffin::tools {
namespace {

driver::CacheRequest request_of(const CompileWords& words) {
  driver::CacheRequest request;
  request.model = words.model;
  request.options = &words.options;
  request.is_bundle = words.output.ends_with(".tar");
  request.params_suffix = std::filesystem::path(words.params_out).extension().string();
  request.input_files = words.options.libraries;
  request.input_files.insert(request.input_files.end(), words.options.files.begin(), words.options.files.end());
  if (!words.golden_inputs.empty()) request.input_folders.push_back(words.golden_inputs);
  return request;
}

}  // namespace

bool can_use_cache(const CompileWords& words) {
  return !words.cache.empty() && words.options.dump_folder.empty() && words.options.stop_after.empty();
}

Result<CachedOutcome> compile_cached(const CompileWords& words, const std::function<Result<driver::CompiledModule>()>& compile) {
  TIFFIN_ASSIGN_OR_RETURN(const driver::CompileCache cache, driver::CompileCache::open(words.cache, words.cache_bytes));
  const driver::CacheRequest request = request_of(words);
  const driver::OutputPaths outputs{words.output, words.params_out};
  const Result<Digest> key = driver::cache_key(request);
  if (key.has_value()) {
    TIFFIN_ASSIGN_OR_RETURN(std::optional<driver::CompileFacts> found, cache.fetch(*key, outputs));
    if (found.has_value()) return CachedOutcome{std::move(*found), "hit"};
  }
  // What is wrong with a model that has no key is told by compiling it.
  TIFFIN_ASSIGN_OR_RETURN(const driver::CompiledModule module, compile());
  CachedOutcome outcome{driver::facts_of(module), "stored"};
  const Result<Digest> key_now = driver::cache_key(request);
  const bool is_same = key.has_value() && key_now.has_value() && *key == *key_now;
  const Status stored = is_same ? cache.store(*key, module, outputs) : error(Code::Io, "the model changed while it was compiled");
  if (stored.is_ok()) return outcome;
  if (words.is_strict) return error(Code::Strict, "the cache '%s' cannot be used: %s", words.cache.c_str(), stored.message());
  TIFFIN_TRY(module.export_files(words.output, words.params_out));
  outcome.cache = std::string("not stored: ") + stored.message();
  return outcome;
}

}  // namespace tiffin::tools
