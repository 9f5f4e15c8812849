/* SPDX-License-Identifier: Apache-2.0
 * Uses the runtime as a program under stress would; test/e2e/test_under_fire.py starts it:
 *   under_fire allocations MODEL [PARAMS [copy]]   lets every single allocation of load, bind and run fail once
 *   under_fire reload COUNT MODEL                  loads, runs and frees; nothing may grow
 *   under_fire threads COUNT MODEL                 as many threads run one module at once
 *   under_fire unload MODEL                        frees the module while its executors run
 *   under_fire two MODEL OTHER                     two models side by side, alternating
 *   under_fire far MODEL SCRATCH                   the model as a part of the file SCRATCH, 5 GiB from its beginning
 * Ends with 0, or tells what went wrong. Linked with --wrap for the functions below, so that it can count and refuse them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tiffin/tiffin.h"

/* ---- allocations, counted and refused ---- */

static atomic_long live_blocks, live_bytes_mapped, requests, refused_request, was_refused;

static int refuses(void) {
  if (atomic_fetch_add(&requests, 1) + 1 != atomic_load(&refused_request)) return 0;
  atomic_store(&was_refused, 1);
  errno = ENOMEM;
  return 1;
}

static void* counted(void* block) {
  if (block != NULL) atomic_fetch_add(&live_blocks, 1);
  return block;
}

void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __real_realloc(void* block, size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void* block);
void* __real_mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void* address, size_t bytes);
int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);

void* __wrap_malloc(size_t bytes) { return refuses() ? NULL : counted(__real_malloc(bytes)); }
void* __wrap_calloc(size_t count, size_t bytes) { return refuses() ? NULL : counted(__real_calloc(count, bytes)); }
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) { return refuses() ? NULL : counted(__real_aligned_alloc(alignment, bytes)); }

void* __wrap_realloc(void* block, size_t bytes) {
  if (refuses()) return NULL;
  void* grown = __real_realloc(block, bytes);
  return block == NULL ? counted(grown) : grown;
}

void __wrap_free(void* block) {
  if (block != NULL) atomic_fetch_sub(&live_blocks, 1);
  __real_free(block);
}

void* __wrap_mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (refuses()) return MAP_FAILED;
  void* base = __real_mmap(address, bytes, protection, flags, file, offset);
  if (base != MAP_FAILED && (flags & MAP_FIXED) == 0) atomic_fetch_add(&live_bytes_mapped, (long)((bytes + 4095) / 4096));
  return base;
}

int __wrap_munmap(void* address, size_t bytes) {
  atomic_fetch_sub(&live_bytes_mapped, (long)((bytes + 4095) / 4096));
  return __real_munmap(address, bytes);
}

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return refuses() ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}

/* ---- one use of a model ---- */

enum { kMaxInputs = 8, kMaxOutputBytes = 1 << 16 };

typedef struct result {
  size_t bytes;
  unsigned char output[kMaxOutputBytes];
} result;

static size_t bytes_of(const DLTensor* tensor) {
  size_t bytes = (size_t)tensor->dtype.bits / 8;
  for (int32_t i = 0; i < tensor->ndim; ++i) bytes *= (size_t)tensor->shape[i];
  return bytes;
}

/* Sets every input to bytes that make small numbers of any type, and runs. */
static tiffin_status* run_once(tiffin_executor* executor, result* out) {
  static unsigned char zeros[1 << 20];
  for (size_t i = 0; i < tiffin_executor_input_count(executor); ++i) {
    tiffin_tensor_spec spec = {.struct_bytes = sizeof spec};
    tiffin_status* status = tiffin_executor_get_input_spec(executor, i, &spec);
    DLTensor tensor = {.data = zeros, .device = {1, 0}, .ndim = spec.ndim, .dtype = spec.dtype, .shape = (int64_t*)spec.shape};
    if (status == NULL && spec.bytes > sizeof zeros) return NULL;
    if (status == NULL) status = tiffin_executor_set_input(executor, i, &tensor);
    if (status != NULL) return status;
  }
  DLTensor output;
  tiffin_status* status = tiffin_executor_run(executor);
  if (status == NULL) status = tiffin_executor_get_output(executor, 0, &output);
  if (status != NULL) return status;
  out->bytes = bytes_of(&output);
  if (out->bytes > sizeof out->output) out->bytes = sizeof out->output;
  memcpy(out->output, (const char*)output.data + output.byte_offset, out->bytes);
  return NULL;
}

typedef struct use {
  const char* model;
  const char* params;
  int copy;
  int threads;
} use;

static tiffin_status* stage(tiffin_module* module, const char* path) {
  tiffin_staged* staged = NULL;
  tiffin_status* status = tiffin_params_stage_file(module, path, &staged);
  if (status == NULL) status = tiffin_staged_verify(staged);
  if (status == NULL) status = tiffin_staged_commit(staged);
  tiffin_staged_free(staged);
  return status;
}

/* Load, bind and run, with all that is freed afterwards; the status of what failed first. */
static tiffin_status* use_once(const use* what, result* out) {
  tiffin_load_options options = {.struct_bytes = sizeof options, .verify = TIFFIN_VERIFY_ALL, .copy = what->copy};
  tiffin_executor_options threads = {.struct_bytes = sizeof threads, .threads = what->threads};
  tiffin_module* module = NULL;
  tiffin_executor *own = NULL, *shared = NULL;
  tiffin_status* status = tiffin_module_load_file(TIFFIN_ABI_VERSION, what->model, &options, &module);
  if (status == NULL) status = tiffin_executor_create(module, tiffin_module_function_name(module, 0), &threads, &own);
  if (status == NULL && what->params != NULL) status = tiffin_executor_load_params_file(own, what->params, 0);
  if (status == NULL) status = run_once(own, out);
  if (status == NULL && what->params != NULL) status = stage(module, what->params);
  if (status == NULL) status = tiffin_executor_create(module, tiffin_module_function_name(module, 0), &threads, &shared);
  if (status == NULL) status = run_once(shared, out);
  tiffin_executor_free(own);
  tiffin_executor_free(shared);
  tiffin_module_free(module);
  return status;
}

/* Prints a failure and frees its status; 1 for a failure. */
static int failed(tiffin_status* status, const char* where) {
  if (status == NULL) return 0;
  fprintf(stderr, "%s: %s: %s\n", where, tiffin_status_code(status), tiffin_status_message(status));
  tiffin_status_free(status);
  return 1;
}

static int differs(const result* one, const result* other) {
  return one->bytes == 0 || one->bytes != other->bytes || memcmp(one->output, other->output, one->bytes) != 0;
}

/* ---- the modes ---- */

/* A refused allocation ends in OutOfMemory, or in the right result where a fallback needs none; never in a leak. */
static int refuse_each_allocation(const use* what) {
  static result wanted, seen;
  if (failed(use_once(what, &wanted), "unhindered")) return 1;
  const long blocks = live_blocks, pages = live_bytes_mapped;
  long named = 0, survived = 0;
  for (long n = 1;; ++n) {
    atomic_store(&requests, 0);
    atomic_store(&was_refused, 0);
    atomic_store(&refused_request, n);
    tiffin_status* status = use_once(what, &seen);
    atomic_store(&refused_request, 0);
    const int is_named = status != NULL && strcmp(tiffin_status_code(status), "OutOfMemory") == 0;
    if (status != NULL && !is_named) fprintf(stderr, "allocation %ld: ", n);
    if (status != NULL && !is_named) return failed(status, "not OutOfMemory");
    if (status == NULL && differs(&wanted, &seen)) return fprintf(stderr, "allocation %ld: another result\n", n), 1;
    tiffin_status_free(status);
    if (live_blocks != blocks || live_bytes_mapped != pages) {
      return fprintf(stderr, "allocation %ld: %ld blocks and %ld pages leak\n", n, live_blocks - blocks, live_bytes_mapped - pages), 1;
    }
    if (!was_refused) break;
    named += is_named, survived += !is_named;
  }
  printf("%ld allocations refused: %ld named, %ld done without\n", named + survived, named, survived);
  return 0;
}

static int entries(const char* folder) {
  DIR* stream = opendir(folder);
  int count = 0;
  while (stream != NULL && readdir(stream) != NULL) ++count;
  if (stream != NULL) closedir(stream);
  return count;
}

typedef struct footprint {
  long pages;
  int maps;
  int files;
} footprint;

static footprint measure(void) {
  footprint now = {.files = entries("/proc/self/fd")};
  FILE* stream = fopen("/proc/self/statm", "r");
  if (stream != NULL && fscanf(stream, "%*d %ld", &now.pages) != 1) now.pages = 0;
  if (stream != NULL) fclose(stream);
  stream = fopen("/proc/self/maps", "r");
  for (int letter; stream != NULL && (letter = fgetc(stream)) != EOF;) now.maps += letter == '\n';
  if (stream != NULL) fclose(stream);
  return now;
}

static int reload(long count, const use* what) {
  static result wanted, seen;
  footprint first = {0};
  for (long i = 0; i < count; ++i) {
    if (failed(use_once(what, i == 0 ? &wanted : &seen), "reload")) return 1;
    if (i > 0 && differs(&wanted, &seen)) return fprintf(stderr, "load %ld gives another result\n", i), 1;
    if (i == count / 10) first = measure();
  }
  const footprint last = measure();
  printf("after %ld and %ld loads: %ld and %ld pages, %d and %d maps, %d and %d files\n", count / 10, count, first.pages, last.pages, first.maps,
         last.maps, first.files, last.files);
  return last.pages > first.pages + 64 || last.maps > first.maps + 2 || last.files > first.files;
}

enum { kMaxThreads = 256, kRuns = 50 };
static tiffin_module* common_module;
static result common_result;

static void* run_many(void* executor) {
  result* seen = malloc(sizeof *seen);
  intptr_t wrong = seen == NULL;
  for (int i = 0; i < kRuns && !wrong; ++i) wrong = failed(run_once(executor, seen), "a thread") || differs(&common_result, seen);
  free(seen);
  tiffin_executor_free(executor);
  return (void*)wrong;
}

/* With `is_freed` the module's handle is freed while the executors run: they keep what they need. */
static int run_in_threads(long count, const use* what, int is_freed) {
  static pthread_t threads[kMaxThreads];
  tiffin_executor* executors[kMaxThreads];
  if (count > kMaxThreads) count = kMaxThreads;
  if (failed(use_once(what, &common_result), "alone")) return 1;
  if (failed(tiffin_module_load_file(TIFFIN_ABI_VERSION, what->model, NULL, &common_module), "load")) return 1;
  for (long i = 0; i < count; ++i) {
    if (failed(tiffin_executor_create(common_module, tiffin_module_function_name(common_module, 0), NULL, &executors[i]), "executor")) return 1;
  }
  for (long i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], NULL, run_many, executors[i]) != 0) return fprintf(stderr, "no thread %ld\n", i), 1;
  }
  if (is_freed) tiffin_module_free(common_module);
  intptr_t wrong = 0;
  for (long i = 0; i < count; ++i) {
    void* answer = NULL;
    pthread_join(threads[i], &answer);
    wrong += (intptr_t)answer;
  }
  if (!is_freed) tiffin_module_free(common_module);
  printf("%ld threads, %d runs each, %ld wrong\n", count, kRuns, (long)wrong);
  return wrong != 0;
}

static int run_two(const char* model, const char* other) {
  static result wanted[2], seen;
  const char* paths[2] = {model, other};
  tiffin_module* modules[2];
  tiffin_executor* executors[2];
  for (int i = 0; i < 2; ++i) {
    const use what = {.model = paths[i], .threads = 1};
    if (failed(use_once(&what, &wanted[i]), "alone")) return 1;
    if (failed(tiffin_module_load_file(TIFFIN_ABI_VERSION, paths[i], NULL, &modules[i]), "load")) return 1;
    if (failed(tiffin_executor_create(modules[i], tiffin_module_function_name(modules[i], 0), NULL, &executors[i]), "executor")) return 1;
  }
  for (int round = 0; round < 100; ++round) {
    if (failed(run_once(executors[round % 2], &seen), "run")) return 1;
    if (differs(&wanted[round % 2], &seen)) return fprintf(stderr, "round %d gives another result\n", round), 1;
  }
  for (int i = 0; i < 2; ++i) {
    tiffin_executor_free(executors[i]);
    tiffin_module_free(modules[i]);
  }
  return 0;
}

/* The copy lies behind a hole, which takes no disk. */
static int run_far_away(const char* model, const char* scratch) {
  static result wanted, seen;
  static char content[1 << 22];
  const uint64_t offset = (uint64_t)5 << 30;
  const use what = {.model = model, .threads = 1};
  if (failed(use_once(&what, &wanted), "alone")) return 1;
  FILE *from = fopen(model, "rb"), *to = fopen(scratch, "wb+");
  if (from == NULL || to == NULL) return perror("files"), 1;
  const size_t length = fread(content, 1, sizeof content, from);
  const int is_written = fseeko(to, (off_t)offset, SEEK_SET) == 0 && fwrite(content, 1, length, to) == length && fflush(to) == 0;
  if (!is_written) return perror("scratch"), 1;
  tiffin_module* module = NULL;
  tiffin_executor* executor = NULL;
  if (failed(tiffin_module_load_descriptor(TIFFIN_ABI_VERSION, fileno(to), offset, length, NULL, &module), "load")) return 1;
  fclose(from);
  fclose(to);
  if (failed(tiffin_executor_create(module, tiffin_module_function_name(module, 0), NULL, &executor), "executor")) return 1;
  if (failed(run_once(executor, &seen), "run")) return 1;
  tiffin_executor_free(executor);
  tiffin_module_free(module);
  return differs(&wanted, &seen);
}

int main(int count, char** words) {
  const char* mode = count > 2 ? words[1] : "";
  if (strcmp(mode, "allocations") == 0) {
    const use what = {.model = words[2], .params = count > 3 && words[3][0] != 0 ? words[3] : NULL, .copy = count > 4, .threads = 2};
    return refuse_each_allocation(&what);
  }
  const use last = {.model = words[count - 1], .threads = 1};
  if (strcmp(mode, "reload") == 0) return reload(atol(words[2]), &last);
  if (strcmp(mode, "threads") == 0) return run_in_threads(atol(words[2]), &last, 0);
  if (strcmp(mode, "unload") == 0) return run_in_threads(8, &last, 1);
  if (strcmp(mode, "far") == 0) return run_far_away(words[2], words[count - 1]);
  if (strcmp(mode, "two") == 0) return run_two(words[2], words[count - 1]);
  fprintf(stderr, "usage: see the head of the source\n");
  return 2;
}
