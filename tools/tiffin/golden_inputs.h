// SPDX-License-Identifier: Apache-2.0
// The folder of --golden-inputs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "tools/commands/inputs.h"

namespace tiffin::tools {

// One case of the folder's own tensor files (input_K.npy, NAME.npy, or .pb), or one of each sub-folder that holds some, in the order of their names.
// Every input of the graph must be there with its type: the codes of match_inputs. InvalidArgument for a folder without a case, Io.
Result<std::vector<std::vector<graph::Tensor>>> read_golden_inputs(const std::string& folder, const graph::Graph& graph);

// The tensor files that such a folder and its sub-folders hold; none for one that cannot be read.
std::vector<std::string> golden_files(const std::string& folder);

// One case of tensors that were given by name or position: one for each input of the graph, of its type. The codes of match_inputs.
Result<std::vector<graph::Tensor>> golden_case(FixedList<GivenFile> given, const graph::Graph& graph);

}  // namespace tiffin::tools
