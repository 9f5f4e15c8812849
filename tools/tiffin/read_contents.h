// SPDX-License-Identifier: Apache-2.0
// An artifact read back into what it was written from, so that it can be joined with others and written in another form.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/artifact/contents.h"

namespace tiffin::tools {

// Every digest is checked first. The weights stay in the mapped file, which the result keeps open; those of an artifact without any are taken from
// the .tfw file `params`, which must be of the same storage plan (InvalidParams), if it is not "". The codes of loading with --verify all.
Result<artifact::Contents> read_contents(const std::string& path, const std::string& params = {});

}  // namespace tiffin::tools
