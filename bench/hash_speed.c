/* SPDX-License-Identifier: Apache-2.0
 * The hash library's own speed on a mapped file, as bench/verify_speed.py compares it with 'tiffin-run verify': hash_speed FILE [ROUNDS]
 * prints the seconds of the fastest round, mapping included. */
#include <blake3.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds that mapping and hashing take; negative on failure. */
static double hash(int file, size_t length) {
  uint8_t digest[BLAKE3_OUT_LEN];
  blake3_hasher hasher;
  const double start = now();
  void* bytes = mmap(NULL, length, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) return -1;
  blake3_hasher_init(&hasher);
  blake3_hasher_update(&hasher, bytes, length);
  blake3_hasher_finalize(&hasher, digest, sizeof digest);
  munmap(bytes, length);
  return now() - start;
}

int main(int count, char** words) {
  const int file = count > 1 ? open(words[1], O_RDONLY) : -1;
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0) return fprintf(stderr, "usage: hash_speed FILE [ROUNDS]\n"), 2;
  double least = 1e9;
  for (int round = count > 2 ? atoi(words[2]) : 3; round > 0; --round) {
    const double seconds = hash(file, (size_t)status.st_size);
    if (seconds < 0) return perror("hash_speed"), 3;
    if (seconds < least) least = seconds;
  }
  printf("%.9f\n", least);
  close(file);
  return 0;
}
