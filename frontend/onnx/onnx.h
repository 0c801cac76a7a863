/* onnx.h - reading an ONNX model into a graph.
 *
 * The model stays where it is: weights are borrowed from the mapped file (or from bytes), so the arena must outlive every use of
 * the graph, and the file must not be changed meanwhile.  Opsets 7 to 28 of the default domain.
 * Errors are raised in the arena's diag and name file, node and operator:
 *     "model.onnx: node 'Conv_3' (Conv): group 3 does not divide 64 channels"
 * TN_E_ARG          the file is not a valid model
 * TN_E_UNSUPPORTED  it is valid (or newer than this reader), but uses something that is not offered: operator, attribute or type
 * TN_E_GONE         the file, or one that it names for its weights, cannot be read
 *
 * Dims: a dim with a real name is a symbol shared by all dims of that name; one that is unset, -1, or named "" or "?" is a
 * symbol of its own.  Symbols have bounds 0 .. 2^31 - 1, which come down where the model only makes sense so: a dim that must equal
 * a number (channels of fixed weights) gets it as both bounds, one that a slice cuts at 10^9 or beyond ("to the end") gets that as
 * its upper bound.  Inputs that break them are refused when symbols are bound.  Where a broadcast depends on whether two sizes
 * are equal and nothing proves it, the model is refused (TN_E_UNSUPPORTED). */
#ifndef TENON_ONNX_H
#define TENON_ONNX_H
#include "ir/ir.h"

struct tn_ir *tn_onnx_load(struct tn_arena *a, const char *path);                    /* maps the file; external data is looked for beside it */

/* tn_onnx_parse - the same for bytes in memory, borrowed for the life of the arena
 *   name  what errors call the model
 *   dir   folder of external data; NULL: external data is refused */
struct tn_ir *tn_onnx_parse(struct tn_arena *a, const void *bytes, size_t len, const char *name, const char *dir);
#endif
