// SPDX-License-Identifier: Apache-2.0
// `tiffin compile --cache`: the outputs from the cache, or compiled and kept there.
#pragma once

#include <functional>
#include <string>

#include "compiler/driver/compile_cache.h"
#include "tools/tiffin/compile_options.h"

namespace tiffin::tools {

struct CachedOutcome {
  driver::CompileFacts facts;
  std::string cache;  // "hit", "stored", or "not stored: REASON"
};

// True for words whose outputs a cache can give: with --dump and --stop-after the files on the way are wanted.
bool can_use_cache(const CompileWords& words);

// `compile` is called for what the cache does not have. Its failure, or Io for a cache that cannot be made and outputs that cannot be written.
Result<CachedOutcome> compile_cached(const CompileWords& words, const std::function<Result<driver::CompiledModule>()>& compile);

}  // namespace tiffin::tools
