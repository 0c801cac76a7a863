/* magika.h - what surrounds magika's model: its settings, bytes of a file to the model's input, scores to a label.
 * Source: the package `magika` 1.0.3, its config.min.json and the rules of its magika.py. */
#ifndef EXAMPLE_MAGIKA_H
#define EXAMPLE_MAGIKA_H
#include <stddef.h>
#include <stdint.h>

struct magika {
	int beg, end, block, padding, smallest;   /* bytes */
	double medium;                            /* least score that is believed, where a label has none of its own */
	int n_labels;
	const char **labels;                      /* by score number */
	const char **renamed;                     /* label shown instead, or the label itself */
	double *least;                            /* least score that is believed */
	unsigned char *is_text;                   /* what to fall back to: txt or unknown */
	void *config, *knowledge;                 /* parsed JSON that owns the words */
};
int magika_open(struct magika *m, const char *folder, char *why, size_t cap);    /* 1, or 0 with words */
void magika_close(struct magika *m);

/* magika_features - input of the model (beg + end numbers) of a file.
 * 1: tokens are set.  0: the file needs no model, *label says what it is.  -1: it cannot be read, why says so */
int magika_features(const struct magika *m, const char *path, int32_t *tokens, const char **label, char *why, size_t cap);
const char *magika_label(const struct magika *m, const float *scores, int *best);
#endif
