// SPDX-License-Identifier: Apache-2.0
// RapidJSON (https://rapidjson.org), set up so that it needs neither operator new and delete nor std::string. Include this, never RapidJSON's own
// headers, wherever the runtime is linked.
#pragma once

#include <cstdlib>
#include <new>

// The objects made so are its allocators, which need no destructor.
#define RAPIDJSON_HAS_STDSTRING 0
#define RAPIDJSON_NEW(object) new (malloc(sizeof(decltype(object)))) decltype(object)(object)
#define RAPIDJSON_DELETE(pointer) free(pointer)
#include <rapidjson/error/en.h>
#include <rapidjson/filewritestream.h>
#include <rapidjson/reader.h>
#include <rapidjson/writer.h>
