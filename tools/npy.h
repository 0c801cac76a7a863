/* npy.h - NumPy's .npy files, version 1 and 2, C order, for the command's inputs and outputs.
 * Source: numpy.lib.format of the NumPy documentation. */
#ifndef TENON_NPY_H
#define TENON_NPY_H
#include <stddef.h>
#include <stdint.h>
struct npy { uint32_t dtype, rank; int64_t dims[8]; void *data; uint64_t bytes; };
/* reads the whole file; data is malloc'ed.  1, or 0 with words naming the file and the fault */
int npy_read(const char *path, struct npy *out, char *why, size_t cap);
/* writes beside and renames: all of it or nothing */
int npy_write(const char *path, const struct npy *in, char *why, size_t cap);
#endif
